//! The first finding of a search, with the number of walks that it took.

use explode_runtime::base::Broken;
use explode_runtime::check::CrashRequest;
use explode_runtime::choose::{ChoicePoint, Policy};
use explode_runtime::devices::InProcess;
use explode_runtime::explore::{ReachedState, Unit};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::stack::Stack;
use explode_runtime::unit::{UnitHooks, UnitProgress, WalkEnd, WalkHooks, open};
use explode_runtime::verdict::{CheckError, Violation};

use crate::cluster::{Cluster, walks};
use crate::node::Node;

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
        let (mutates, further_walks) = (plan.settings.depth, most - 1);
        let unit = Unit { mutates, policy, further_walks, ..Unit::default() };
        let mut search = Search { wanted: &wanted, walks: 0, first: None, broken: None };
        system.run(&unit, &mut search);
        match search.broken {
            Some(broken) => Err(broken.message),
            None => Ok(search.first),
        }
    }
}

/// The walks so far.
struct Search<'a> {
    wanted: &'a dyn Fn(&Violation) -> bool,
    walks: u64,
    first: Option<FirstFinding>,
    broken: Option<Broken>,
}

impl WalkHooks for Search<'_> {
    fn wants_choices(&self) -> bool {
        false
    }

    fn next_walk(&mut self) {}

    fn walked(&mut self, walk: WalkEnd) -> bool {
        self.walks += 1;
        let (walks, steps) = (self.walks, walk.steps);
        let found = |(violation, _)| FirstFinding { walks, steps, violation };
        let wanted = walk.violation.filter(|(violation, _)| (self.wanted)(violation));
        self.first = wanted.map(found);
        self.first.is_none() && self.broken.is_none()
    }

    fn broken(&mut self, why: Broken) {
        self.broken.get_or_insert(why);
    }
}

impl UnitHooks for Search<'_> {
    fn walks(&mut self) -> Option<&mut dyn WalkHooks> {
        Some(self)
    }

    fn fallback(&mut self, _point: &ChoicePoint<'_>) -> u32 {
        0
    }

    fn crashes(
        &mut self,
        _pipeline: &mut CrashPipeline<'_>,
        _stack: &Stack,
        _request: &CrashRequest<'_>,
        _so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        Err(CheckError::broken("a cluster runs on hosts of its own, not on one stack"))
    }

    fn reached(&mut self, _: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}
