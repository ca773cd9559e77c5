//! The strategy that explores the most different state first.

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common::{self, Said};

/// A log that grows by one of eight words. Seven of them change one counter each. The eighth is a
/// new word each time, and after four of them the log breaks.
#[derive(Default)]
struct Words {
    small: [u8; 7],
    large: u32,
}

impl Checker for Words {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        match cx.choose(8) {
            7 => self.large += 1,
            which => self.small[which] += 1,
        }
        if self.large == 4 {
            return Err(Violation::new(Verdict::CheckFailed, "rare", "four large words").into());
        }
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        let same =
            "what every state has in common, and there is a lot of that in most systems. ".bytes();
        let word = |large: u32| (0..16_u32).map(move |at| (large * 1000 + at * at * 37 + 11) as u8);
        Some(same.chain(self.small).chain((1..=self.large).flat_map(word)).collect())
    }
}

fn words(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Words::default()))
}

fn explore(strategy: StrategyName, states: Option<u64>) -> Said {
    let mut plan = common::plan(5);
    plan.settings.strategy = strategy;
    plan.settings.states = states;
    common::run(&common::registry(words), &plan)
}

/// Returns the number of states that must be known before the rare one is found.
fn states_needed(strategy: &StrategyName) -> u64 {
    let finds = |states: u64| explore(strategy.clone(), Some(states)).findings().len() == 1;
    let (mut without, mut with) = (0, 2000);
    assert!(finds(with), "{strategy}");
    while with - without > 1 {
        let middle = (without + with) / 2;
        *(if finds(middle) { &mut with } else { &mut without }) = middle;
    }
    with
}

#[test]
fn a_rare_state_is_reached_sooner_than_breadth_first() {
    let needed = [StrategyName::Different, StrategyName::Exhaust, StrategyName::Dfs]
        .map(|strategy| states_needed(&strategy));
    assert_eq!(needed, [33, 495, 496]);
}

/// The strategy covers what breadth first covers, in another order. The order is the same each
/// time.
#[test]
fn everything_is_covered() {
    let summary = |strategy| {
        let said = explore(strategy, None);
        let summary = said.summary().clone();
        assert!(summary.complete);
        (summary.states, summary.findings, summary.operations)
    };
    let (states, findings, operations) = summary(StrategyName::Exhaust);
    let different = summary(StrategyName::Different);
    assert_eq!((&different.0, &different.1), (&states, &findings));
    assert_eq!((operations, &different.2), (3952.into(), &3952.into()));
    assert_eq!(summary(StrategyName::Different), different);
}
