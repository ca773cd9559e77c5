//! A story without a worker of its own: for a program that has opened the backend itself.

use super::critical::Search;
use super::story::{Retold, Story};
use crate::base::RunError;
use crate::devices::Backend;
use crate::plan::Registry;
use crate::trace::Trace;
use crate::unit::open;
use crate::verdict::{Step, Violation};
use crate::worker::probe::{
    Answers, End, Next, Probe, ProbeSaid, Spot, Standing, Talk, Until, run_probe,
};

/// Keeps where the probe stands, and lets it go on.
#[derive(Default)]
struct Stands(Option<Standing>);

impl Talk for Stands {
    fn before(&mut self, _step: Step) {}

    fn report(&mut self, _said: ProbeSaid) {}

    fn next(&mut self, said: ProbeSaid) -> Next {
        if let ProbeSaid::Standing(standing) = said {
            self.0 = Some(standing);
        }
        Next::Enough
    }
}

/// Runs a trace in this thread up to its recorded disk, and tells what it shows. The disk is not
/// checked again, and no critical write is looked for.
///
/// # Errors
/// A trace that names what is not there, or a component that cannot start.
pub fn story_here(
    registry: &Registry,
    trace: &Trace,
    backend: &dyn Backend,
) -> Result<Story, RunError> {
    let plan = trace.plan();
    let system = open(registry, &plan, backend)?;
    let order = Probe {
        answers: Answers::Exactly(trace.choices.clone()),
        mutates: trace.mutates,
        verdict: trace.verdict,
        promise: trace.promise().to_owned(),
        until: Spot::of(trace).map_or(Until::Mutate, Until::At),
        wary: false,
        noted: true,
    };
    let mut stands = Stands::default();
    let probed = run_probe(&*system, &order, &mut stands);
    let violation = match probed.end {
        End::Violated(violation) => violation,
        End::Stood => Violation::new(trace.verdict, trace.promise(), trace.message.clone()),
        End::Nothing(why, _) | End::Diverged(why) => {
            return Ok(Story::of_file(trace.clone(), why));
        }
        End::Broken(why) => return Err(why.into()),
    };
    let standing = stands.0;
    let not_made = || Search::NotMade("no worker tries other disks".to_owned());
    let retold = Retold {
        choices: probed.choices,
        failed: probed.failed,
        violation,
        by_search: false,
        critical: standing.as_ref().map(|_| not_made()),
        standing,
        promise: probed.promise,
        other_versions: Vec::new(),
    };
    Ok(Story { trace: trace.clone(), retold: Ok(retold) })
}
