//! Complete explorations on simulated files: synced data survives, and any loss is reported with
//! the right verdict and promise. The same holds for each sync method (`fs-ways`), and for all that
//! a crash leaves (`fs-reasonable`).

mod broken_files;
mod counts;
mod excluded;
mod more;
mod mounted_directory;
mod moved;
mod not_empty;
mod reasonable;
mod replaced;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, explore};

/// Returns all components, checkers and targets.
fn registry() -> Registry {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    explode_checkers::register(&mut registry);
    registry
}

/// Returns the plan of a target with this depth. It begins without files; those of `fs-workloads`
/// begin on all files. The tests of the starts choose others.
fn plan(registry: &Registry, target: &str, depth: u32) -> Plan {
    let target = registry.target(target).expect("the target is there");
    let mut plan = Plan::of(registry, target).expect("so are its components");
    plan.settings.depth = depth;
    if plan.checker != "fs-workloads" {
        plan.checker_options = plan.checker_options.with("start", "empty");
    }
    plan
}

/// The result of a run.
struct Ran {
    summary: Summary,
    /// The first message of each signature, without the name of the checker.
    findings: BTreeMap<String, String>,
    /// The signatures that the profile excludes.
    by_design: BTreeSet<String>,
    /// The calls that the stack does not support.
    left_out: Vec<String>,
}

impl Ran {
    fn signatures(&self) -> Vec<&str> {
        self.findings.keys().map(String::as_str).collect()
    }
}

/// Asserts the numbers of states, operations, crash disks and distinct checks of a run without
/// findings.
#[track_caller]
fn counts(plan: &Plan, expected: [u64; 4]) {
    let ran = run(&registry(), plan);
    assert_eq!(ran.signatures(), [""; 0]);
    let summary = ran.summary;
    let counted = [summary.states, summary.operations, summary.crash_disks, summary.distinct];
    assert_eq!(counted.map(|count| u64::try_from(&count.0).expect("few enough")), expected);
}

/// Runs a plan. Panics if a check is broken, or if the run is not complete.
fn run(registry: &Registry, plan: &Plan) -> Ran {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut findings, mut by_design, mut left_out) =
        (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let mut sink = |message: &Message| match message {
        Message::Finding(finding) => {
            let (_, signature) = finding.signature.split_once('/').expect("a checker and the rest");
            by_design.extend(finding.by_design.then(|| signature.to_owned()));
            findings.entry(signature.to_owned()).or_insert_with(|| finding.message.clone());
        }
        Message::Run(info) => left_out.clone_from(&info.unsupported_calls),
        Message::Broken { message, .. } => panic!("broken: {message}"),
        _ => {}
    };
    let out = folder.path().join("run");
    let mut confirm = |_: &Path| Confirmation::Reproduced;
    let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    let summary = explore(registry, plan, &InProcess, &mut audience).expect("it runs");
    assert!(summary.complete, "{summary:?}");
    Ran { summary, findings, by_design, left_out }
}
