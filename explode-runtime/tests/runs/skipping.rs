//! Sound skipping: a run has the same results with and without it, on any system. A system on which
//! it is not sound is detected (docs/model/equivalence.md).

use std::collections::BTreeMap;

use explode_runtime::base::Options;
use explode_runtime::plan::Plan;
use explode_runtime::report::{Message, RunInfo, Summary};
use proptest::prelude::*;

use crate::common::{self, Said};
use crate::toy;

/// Runs the toy with these options.
fn run(options: &Options, crash_depth: u32, skip: bool) -> Said {
    let mut plan: Plan = toy::plan(options);
    plan.settings.crash_depth = crash_depth;
    plan.settings.skip = skip;
    common::run(&toy::registry(), &plan)
}

/// Returns the last count of each finding, by signature and by design.
fn counts_of_findings(said: &Said) -> BTreeMap<(String, bool), String> {
    let findings = said.messages.iter().filter_map(|message| match message {
        Message::Finding(finding) => {
            Some(((finding.signature.clone(), finding.by_design), finding.count.to_string()))
        }
        _ => None,
    });
    findings.collect()
}

/// Returns the summary in the form of a run that skips nothing.
fn without_skipping(summary: &Summary) -> Summary {
    let Summary { distinct, .. } = summary.clone();
    let (checked, equivalent) = (distinct, 0.into());
    Summary { checked, equivalent, seconds: 0.0, ..summary.clone() }
}

fn broken(said: &Said) -> Vec<&str> {
    let mut reported = Vec::new();
    for message in &said.messages {
        if let Message::Broken { message, .. } = message {
            reported.push(message.as_str());
        }
    }
    reported
}

fn info(said: &Said) -> &RunInfo {
    match &said.messages[0] {
        Message::Run(info) => info,
        other => panic!("{other:?}"),
    }
}

/// Runs a toy with and without skipping, and compares the results. Returns the summary with
/// skipping, then the other.
fn compare(options: &Options, crash_depth: u32) -> (Summary, Summary) {
    let (with, without) = (run(options, crash_depth, true), run(options, crash_depth, false));
    let (some, all) = (with.summary(), without.summary());
    assert_eq!(all.equivalent, 0.into());
    assert_eq!(&some.checked.0 + &some.equivalent.0, some.distinct.0, "{some:?}");
    let text = |summary: &Summary| format!("{:?}", without_skipping(summary));
    assert_eq!(text(some), text(all), "{options:?}");
    assert_eq!(counts_of_findings(&with), counts_of_findings(&without), "{options:?}");
    assert_eq!(broken(&with), broken(&without), "{options:?}");
    (some.clone(), all.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn random_systems_have_the_same_verdicts(seed in any::<u64>(), crash_depth in 0_u32..3) {
        compare(&toy::options(seed), crash_depth);
    }
}

/// The property above is not empty: many disks are skipped, and every verdict occurs.
#[test]
fn random_systems_have_much_to_skip() {
    let mut equivalent = 0_u32;
    let mut distinct = 0_u32;
    let mut findings = BTreeMap::new();
    for seed in 0..24 {
        let (some, _) = compare(&toy::options(seed), 1);
        equivalent += u32::try_from(&some.equivalent.0).unwrap();
        distinct += u32::try_from(&some.distinct.0).unwrap();
        let said = run(&toy::options(seed), 1, true);
        findings.extend(counts_of_findings(&said));
    }
    assert!(equivalent > distinct / 4, "{equivalent} of {distinct}");
    let words: Vec<&str> = findings.keys().map(|(signature, _)| signature.as_str()).collect();
    assert_eq!(
        words,
        ["test/corrupt/heads", "test/lost/tails", "test/recover-failed/recover-failed"]
    );
    assert!(findings.keys().any(|(_, by_design)| *by_design));
}

/// The system remembers something outside of its disks, so every third check has another verdict.
#[test]
fn a_verdict_that_depends_on_something_else_is_found_out() {
    let said = run(&toy::options(0).with("remembers", "check"), 0, true);
    // One unit, one message. The violation that the spot check shows does not reproduce.
    let [unsound, other] = &broken(&said)[..] else { panic!("{:?}", broken(&said)) };
    assert!(
        unsound.starts_with("skipping checks is not sound here, use --no-skip: disk "),
        "{unsound}"
    );
    assert!(unsound.contains(", epoch now: ok expected, and it is lost (memory)"), "{unsound}");
    assert!(other.starts_with("a finding did not reproduce: test/lost/memory: "), "{other}");
    assert_eq!(said.summary().broken, 2.into());
    assert_eq!(&said.summary().checked.0 + &said.summary().equivalent.0, said.summary().distinct.0);
}

/// The recovery of the system writes something else every third time.
#[test]
fn a_recovery_that_depends_on_something_else_is_found_out() {
    let said = run(&toy::options(0).with("remembers", "recovery"), 1, true);
    let broken = broken(&said);
    assert!(
        broken
            .iter()
            .any(|why| why.contains("ok as expected, but its recovery has written something else")),
        "{broken:?}"
    );
}

/// The same systems report that they may depend on more than their disks. Then nothing is skipped.
#[test]
fn checks_that_depend_on_more_than_disks_are_not_skipped() {
    for (key, why) in [
        ("component", "component 'toy' may depend on more than its disks"),
        ("checker", "checker 'test' may depend on more than its disks"),
    ] {
        let said = run(&toy::options(0).with("remembers", "check").with("admits", key), 0, true);
        assert_eq!((info(&said).skipping, info(&said).not_skipping.as_deref()), (false, Some(why)));
        assert_eq!(said.summary().equivalent, 0.into());
        assert!(!broken(&said).iter().any(|why| why.contains("not sound")), "{:?}", broken(&said));
    }
}

#[test]
fn the_run_line_says_whether_it_skips() {
    let skips = run(&toy::options(1), 0, true);
    assert_eq!((info(&skips).skipping, info(&skips).not_skipping.as_deref()), (true, None));
    let not = run(&toy::options(1), 0, false);
    assert_eq!(
        (info(&not).skipping, info(&not).not_skipping.as_deref()),
        (false, Some("--no-skip"))
    );
}

/// The seed chooses the spot checks. The counts are equal for any choice.
#[test]
fn counts_are_the_same_each_time() {
    let counts = |seed| {
        let mut plan = toy::plan(&toy::options(3));
        plan.settings.seed = seed;
        plan.settings.limit = 100_000;
        let said = common::run(&toy::registry(), &plan);
        let Summary { checked, equivalent, crash_crash_disks, .. } = said.summary().clone();
        (checked, equivalent, crash_crash_disks)
    };
    assert_eq!(counts(0), counts(0));
    assert_eq!(counts(0), counts(1));
}
