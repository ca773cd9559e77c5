//! Arrays of md: each level keeps what is flushed, the write hole is found where it is and nowhere
//! else, and a member that ignores flushes is found.

use explode_runtime::base::Options;
use explode_runtime::plan::Plan;
use explode_runtime::stack::{Layer, StackSpec};

use crate::cases::{Cx, is_clean};
use crate::report::Report;
use crate::skipping;

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    // The number of the level, of the disks, and the counts: states, crash disks, distinct disks.
    let levels = [
        (0, 2, [5, 8, 17, 0]),
        (1, 2, [5, 34, 33, 0]),
        (4, 3, [5, 41, 35, 0]),
        (5, 3, [5, 41, 35, 0]),
        (6, 4, [5, 60, 55, 0]),
        (10, 4, [5, 52, 39, 0]),
    ];
    for (level, disks, counts) in levels {
        report.case(&format!("md: level {level} keeps what is flushed, exact counts"), |_| {
            is_clean(cx, &blocks(cx, disks, Options::none(), array(level)), counts, true);
        });
    }
    report.case("md: after the resync of a mirror it keeps what is flushed", |_| {
        let array = array(1).with("resync", "done");
        is_clean(cx, &blocks(cx, 2, Options::none(), array), [5, 34, 33, 0], true);
    });
    report.case("md: a member that ignores flushes is found", |_| {
        let liar = Options::none().with("flushes", "dropped");
        let (_, findings) = cx.explore(&blocks(cx, 2, liar, array(1)));
        let found: Vec<_> = findings.iter().map(|finding| finding.signature.as_str()).collect();
        assert_eq!(found, ["disk-blocks/lost/durable"]);
    });
    report.case("md: the write hole of level 5 without a member", |_| {
        let hole = array(5).with("chunk", 4096_u64).with("missing", 1_u64);
        let (summary, findings) = cx.explore(&blocks(cx, 3, Options::none(), hole));
        let found: Vec<_> = findings.iter().map(|finding| finding.signature.as_str()).collect();
        assert_eq!(found, ["disk-blocks/lost/durable"], "{summary:?}");
    });
    for (policy, disks) in [("ppl", 3), ("journal", 4)] {
        report.case(&format!("md: no write hole with the policy {policy}"), |_| {
            let array = array(5).with("chunk", 4096_u64).with("missing", 1_u64);
            let mut plan = blocks(cx, disks, Options::none(), array.with("policy", policy));
            (plan.settings.limit, plan.settings.samples) = (40, 10);
            let (summary, findings) = cx.explore(&plan);
            assert!(findings.is_empty(), "{findings:#?}");
            assert!(summary.checked > 10_u64.into(), "{summary:?}");
        });
    }
    report.case("md: says the same with skipping and without", |_| {
        skipping::compare(cx, &blocks(cx, 2, Options::none(), array(1)), 10);
    });
}

/// Returns the options of an array of this level.
fn array(level: u64) -> Options {
    Options::none().with("level", level)
}

/// Returns a plan of the block checker, one step deep, on an array of this number of disks. `first`
/// are the options of the first disk.
fn blocks(cx: Cx<'_>, disks: usize, first: Options, array: Options) -> Plan {
    let layer = |name: String, component: &str, children: Vec<String>, options: Options| Layer {
        name,
        component: component.to_owned(),
        children,
        options,
    };
    let names: Vec<String> = (0..disks).map(|disk| format!("d{disk}")).collect();
    let options = |disk: usize| if disk == 0 { first.clone() } else { Options::none() };
    let mut stack = StackSpec::default();
    stack.0.extend(
        names
            .iter()
            .enumerate()
            .map(|(disk, name)| layer(name.clone(), "ramdisk", Vec::new(), options(disk))),
    );
    stack.0.push(layer("md".to_owned(), "md", names, array));
    let mut plan = Plan::of_parts(cx.registry, "disk-blocks", stack).expect("they are registered");
    plan.checker_options = Options::none().with("blocks", 2_u64);
    (plan.settings.depth, plan.settings.crash_depth) = (1, 0);
    plan
}
