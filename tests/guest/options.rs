//! Options that users vary. With each, data that fsync forces is kept on a disk that flushes, and
//! lost on one that does not. Data that an option does not promise is by design. A checker that
//! checks nothing else refuses the option.

use explode_runtime::base::Options;
use explode_runtime::plan::Plan;
use explode_runtime::unit::Runner;
use explode_runtime::verdict::{Verdict, Violation};

use crate::cases::Cx;
use crate::directed::{Seen, go};
use crate::report::Report;

/// Options of a system and their values, in the form of the command line.
type Settings = &'static [(&'static str, &'static str)];

/// Each system, and settings that are tested together.
const SETTINGS: &[(&str, Settings)] = &[
    ("reiserfs", &[("data", "journal")]),
    ("reiserfs", &[("data", "writeback"), ("tails", "false")]),
    ("f2fs", &[("fsync_mode", "strict")]),
    ("vfat", &[("fat", "12")]),
    ("vfat", &[("fat", "32"), ("cluster", "8"), ("strict", "true")]),
    ("vfat", &[("flush", "true"), ("strict", "true")]),
    ("msdos", &[("cluster", "1"), ("flush", "true")]),
    ("exfat", &[("cluster", "512")]),
    ("exfat", &[("cluster", "32768")]),
    ("udf", &[("block_size", "4096"), ("revision", "1.02")]),
    ("udf", &[("block_size", "2048"), ("revision", "1.50")]),
    ("ntfs3", &[("cluster", "512")]),
    ("ntfs3", &[("cluster", "65536")]),
    ("xfs", &[("block_size", "1024"), ("strict", "true")]),
    ("xfs", &[("block_size", "2048")]),
    ("btrfs", &[("datacow", "false"), ("strict", "true")]),
    ("btrfs", &[("flushoncommit", "true"), ("compress", "zstd")]),
];

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    for &(system, settings) in SETTINGS {
        let named: Vec<String> =
            settings.iter().map(|(option, value)| format!("{system}.{option}={value}")).collect();
        let named = named.join(", ");
        report.case(&format!("{named}: what fsync has forced is kept"), |_| {
            let kept = way(cx, system, settings, "kept", FSYNC);
            assert!(kept.checked > 0 && kept.errors.is_empty(), "{:?}", kept.errors);
        });
        // A ReiserFS disk without flushes ends the guest (`host.rs`).
        if system != "reiserfs" {
            report.case(&format!("{named}: found where flushes do nothing"), |_| {
                let lost = way(cx, system, settings, "dropped", FSYNC);
                let found = lost.errors.iter().any(|(error, _)| error.verdict == Verdict::Lost);
                assert!(found, "nothing on {} disks: {:?}", lost.checked, lost.errors);
            });
        }
    }
    report.case(
        "f2fs.fsync_mode=nobarrier: fdatasync keeps nothing that it has not flushed, as its words \
         say",
        |_| {
            let go = |mode: &str| way(cx, "f2fs", &[("fsync_mode", mode)], "kept", FDATASYNC);
            let (kept, lost) = (go("posix"), go("nobarrier"));
            assert!(kept.checked > 0 && kept.errors.is_empty(), "{:?}", kept.errors);
            let fs = plan(cx, "f2fs", &[("fsync_mode", "nobarrier")]).stack.0.pop().expect(
                "there is a \
                    layer",
            );
            let def = cx.registry.component(&fs.component).expect("it is there");
            let built = (def.build)(&fs.options).expect("it has these options");
            let profile = built.facts().promises.expect("it has some");
            let excluded = |error: &Violation| {
                error.verdict == Verdict::Lost && profile.excludes(&error.promise).is_some()
            };
            assert!(
                !lost.errors.is_empty() && lost.errors.iter().all(|(error, _)| excluded(error)),
                "{:?}",
                lost.errors
            );
            let asked = |mode: &str| {
                let stack = plan(cx, "f2fs", &[("fsync_mode", mode)]).stack;
                let mut plan = Plan::of_parts(cx.registry, "fs-ways", stack).expect(
                    "both are \
                    there",
                );
                plan.checker_options = Options::none().with("way", "fdatasync");
                Runner::start(cx.registry, &plan, cx.backend).err().map(|error| error.to_string())
            };
            let refused = asked("nobarrier");
            assert!(
                refused.as_ref().is_some_and(|why| why.contains("doesn't issue flush command")),
                "{refused:?}"
            );
            assert_eq!(asked("posix"), None);
        },
    );
    report.case(
        "options that no file system can be made with are refused, and why is said",
        |_| {
            for (system, settings, says) in REFUSED {
                let plan = plan(cx, system, settings);
                let refused = Runner::start(cx.registry, &plan, cx.backend)
                    .err()
                    .map(|error| error.to_string());
                assert!(
                    refused.as_ref().is_some_and(|why| why.contains(says)),
                    "{settings:?}: {refused:?}"
                );
            }
        },
    );
}

/// The refused settings, and words of their messages.
const REFUSED: [(&str, Settings, &str); 5] = [
    ("vfat", &[("fat", "12"), ("cluster", "1")], "Not enough or too many clusters"),
    ("vfat", &[("cluster", "3")], "a cluster of 3 sectors; use 1, 2, 4 and so on, up to 128"),
    ("vfat", &[("fat", "24")], "fat setting '24'"),
    ("btrfs", &[("datacow", "false"), ("compress", "lzo")], "set compress=no"),
    ("reiserfs", &[("data", "none")], "data setting 'none'"),
];

const FSYNC: &[&str] = &["write /a; fsync /a, /"];
/// The steps do not force the directory afterwards, because that would flush in any mode.
const FDATASYNC: &[&str] = &["append to /a; fdatasync /a"];

/// Returns the plan of one synced file on this system with these settings.
fn plan(cx: Cx<'_>, system: &str, settings: &[(&str, &str)]) -> Plan {
    let mut plan = cx.plan(&format!("fs-sync-{system}"));
    let [_, fs] = &mut plan.stack.0[..] else { panic!("two layers") };
    fs.options = settings.iter().fold(fs.options.clone(), |own, (option, value)| {
        // The value has the type that the command line would give it.
        match (value.parse::<bool>(), value.parse::<u64>()) {
            (Ok(value), _) => own.with(option, value),
            (_, Ok(value)) => own.with(option, value),
            _ => own.with(option, *value),
        }
    });
    plan
}

/// Runs these steps on a disk with this `flushes` option and checks eight disks of their end.
fn way(cx: Cx<'_>, system: &str, settings: &[(&str, &str)], flushes: &str, steps: &[&str]) -> Seen {
    let mut plan = plan(cx, system, settings);
    let disk = &mut plan.stack.0[0];
    disk.options = disk.options.clone().with("flushes", flushes);
    (plan.settings.limit, plan.settings.samples) = (8, 8);
    go(cx.registry, &plan, cx.backend, steps)
}
