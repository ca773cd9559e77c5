//! The first finding of a search, with the number of walks that it took.

use explode_runtime::choose::Policy;
use explode_runtime::devices::InProcess;
use explode_runtime::unit::{WalkEnd, open};
use explode_runtime::verdict::Violation;

use crate::cluster::{Cluster, walks};
use crate::node::Node;
use crate::walks::{WalkReceiver, make_walks};

/// The first finding of a search.
#[derive(Clone, Debug)]
pub struct FirstFinding {
    /// The number of walks, the one with the finding included.
    pub walks: u64,
    /// The number of steps of that walk.
    pub steps: u32,
    /// The broken promise.
    pub violation: Violation,
}

impl<N: Node> Cluster<N> {
    /// Searches by weighted walks in this thread, up to the first finding that is wanted. The
    /// finding is run twice, and not minimised. Returns `None` if `most` walks have none.
    ///
    /// # Panics
    /// If `most` is 0.
    ///
    /// # Errors
    /// The nodes are not deterministic, or the run could not be made.
    pub fn first_finding(
        self,
        most: u32,
        wanted: impl Fn(&Violation) -> bool,
    ) -> Result<Option<FirstFinding>, String> {
        assert!(most > 0, "a search of 0 walks finds nothing");
        let (registry, plan) = self.test(walks(most.into()))?;
        let system = open(&registry, &plan, &InProcess).map_err(|error| error.to_string())?;
        let policy = Policy::Weighted { seed: plan.settings.seed, walk: 0 };
        let steps = plan.settings.depth;
        let mut search = Search { wanted: &wanted, walks: 0, first: None };
        make_walks(&*system, policy, (most, steps), &mut search)
            .map_err(|broken| broken.message)?;
        Ok(search.first)
    }
}

/// The walks so far.
struct Search<'a> {
    wanted: &'a dyn Fn(&Violation) -> bool,
    walks: u64,
    first: Option<FirstFinding>,
}

impl WalkReceiver for Search<'_> {
    fn walked(&mut self, walk: WalkEnd) -> bool {
        self.walks += 1;
        let (walks, steps) = (self.walks, walk.steps);
        let found = |(violation, _)| FirstFinding { walks, steps, violation };
        let wanted = walk.violation.filter(|(violation, _)| (self.wanted)(violation));
        self.first = wanted.map(found);
        self.first.is_none()
    }
}
