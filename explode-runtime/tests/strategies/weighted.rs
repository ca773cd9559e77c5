//! Random walks by weights.

use std::cell::RefCell;

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::choose::{ChoicePoint, Label, Policies, Policy};
use explode_runtime::crash::Epoch;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common;

fn drawn(seed: u64, weights: &[u32], options: u32) -> Vec<u32> {
    let mut answers = Policies::default().answers(&Policy::Weighted { seed, walk: 1 }).unwrap();
    let point = ChoicePoint { weights, ..ChoicePoint::action(options, Label::default()) };
    let mut times = vec![0; options as usize];
    (0..10_000).for_each(|_| times[answers.answer(&point) as usize] += 1);
    times
}

/// The draws are within four standard deviations of the weights, and the same for the same seed.
#[test]
fn options_are_drawn_by_their_weights() {
    for (weights, expected) in [(&[1, 3, 0, 6][..], [1000, 3000, 0, 6000]), (&[], [2500; 4])] {
        let times = drawn(7, weights, 4);
        for (times, expected) in times.iter().zip(expected) {
            let deviation = (f64::from(expected) * (1.0 - f64::from(expected) / 10_000.0)).sqrt();
            assert!(
                (f64::from(*times) - f64::from(expected)).abs() <= 4.0 * deviation,
                "{weights:?}: {times} {expected}"
            );
        }
        assert_eq!(times, drawn(7, weights, 4));
        assert_ne!(times, drawn(8, weights, 4));
    }
    let large = [u32::MAX, u32::MAX];
    assert_eq!(drawn(7, &large, 2).iter().sum::<u32>(), 10_000);
}

thread_local! {
    static STEPS: RefCell<[u32; 3]> = const { RefCell::new([0; 3]) };
}

/// A checker that mostly reads and seldom writes. Its third option is broken. Walks never draw it.
struct Reads {
    writes: u32,
}

impl Checker for Reads {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let step = cx.choose_weighted(&[98, 2, 0]);
        STEPS.with_borrow_mut(|steps| steps[step] += 1);
        self.writes += u32::from(step == 1);
        match (step, self.writes) {
            (2, _) => {
                Err(Violation::new(Verdict::CheckFailed, "never", "what nobody draws").into())
            }
            (1, 3) => Err(Violation::new(Verdict::CheckFailed, "thrice", "three writes").into()),
            _ => Ok(()),
        }
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

fn reads(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Reads { writes: 0 }))
}

/// A finding of a walk replays without the generator, because the trace has the draws. Exhaustive
/// exploration also finds the option of weight zero.
#[test]
fn findings_of_walks_replay() {
    let mut plan = common::plan(40);
    plan.settings.strategy = StrategyName::Weighted;
    plan.settings.states = Some(3000);
    plan.settings.seed = 1;
    let said = common::run(&common::registry(reads), &plan);
    let found = said.findings();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].signature.as_str(), found[0].replayed),
        ("test/check-failed/thrice", true)
    );
    let drawn = STEPS.with_borrow_mut(std::mem::take);
    assert_eq!(drawn[2], 0);
    assert!(drawn[1] > 0 && drawn[0] > 30 * drawn[1], "{drawn:?}");
    let again = common::run(&common::registry(reads), &plan);
    assert_eq!(again.traces, said.traces);

    let exhausted = common::run(&common::registry(reads), &common::plan(3));
    assert_eq!(exhausted.summary().findings, 2.into());
}
