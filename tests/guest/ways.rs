//! `fs-ways`, `fs-reasonable`, `fs-workloads` and `fs-moved` on file systems of the kernel: exact
//! counts and findings.

use std::collections::BTreeSet;

use explode_runtime::base::{ExactCount, Options};
use explode_runtime::plan::Plan;
use explode_runtime::report::Summary;
use explode_runtime::writeset::Completion;

use crate::cases::{Cx, without_files};
use crate::report::Report;

/// Returns the plan of a checker on a file system, `depth` steps deep.
fn plan(cx: Cx<'_>, checker: &'static str, component: &str, options: &Options, depth: u32) -> Plan {
    let stack = cx.registry.stack_of(component).expect("the component is there");
    let mut plan = Plan::of_parts(cx.registry, checker, stack).expect("so is the checker");
    plan.checker_options = options.clone();
    plan.settings.depth = depth;
    plan.settings.skip = false;
    (plan.settings.limit, plan.settings.samples, plan.settings.crash_depth) = (64, 16, 0);
    without_files(plan)
}

fn u64_of(count: &ExactCount) -> u64 {
    u64::try_from(&count.0).expect("it is small")
}

/// Returns the states, crash disks and distinct disks, and the signatures of the findings.
fn explored(cx: Cx<'_>, plan: &Plan) -> ([u64; 3], BTreeSet<String>) {
    let (summary, findings) = cx.explore(plan);
    let Summary { states, crash_disks, distinct, .. } = &summary;
    let counted = [states, crash_disks, distinct].map(u64_of);
    assert!(findings.iter().all(|finding| finding.replayed), "{findings:?}");
    (counted, findings.into_iter().map(|finding| finding.signature).collect())
}

pub fn all(cx: Cx<'_>, report: &mut Report) {
    let way = |way: &str| Options::none().with("way", way);
    let clean: [(&str, &str, u32, [u64; 3]); 6] = [
        ("ext4", "sync", 1, [3, 96, 96]),
        ("ext4", "fsync", 1, [3, 96, 96]),
        ("ext2", "fsync", 1, [3, 16, 16]),
        ("ext4", "o-sync", 2, [17, 656, 320]),
        ("ext4", "msync", 2, [17, 656, 320]),
        ("ext4", "mount-sync", 1, [3, 80, 80]),
    ];
    for (component, name, depth, expected) in clean {
        report.case(
            &format!("ways: {name} on {component}, exact counts, clean {depth} deep"),
            |_| {
                let mut plan = plan(cx, "fs-ways", component, &way(name), depth);
                let top = &mut plan.stack.0[1];
                top.options = top.options.clone().with("sync", name == "mount-sync");
                assert_eq!(explored(cx, &plan), (expected, BTreeSet::new()));
            },
        );
    }
    report.case("ways: sync on ext2, exact counts; what is synced can be lost", |_| {
        let plan = plan(cx, "fs-ways", "ext2", &way("sync"), 1);
        let (counted, found) = explored(cx, &plan);
        assert_eq!(counted, [1, 504, 32]);
        assert_eq!(found, BTreeSet::from(["fs-ways/lost/synced-by-sync".to_owned()]));
    });
    // EXC-6: creat returns before the new inode is written; mkdir does not.
    report.case(
        "ways: mount-sync on ext2, exact counts; a new file is lost without a write cache, too",
        |_| {
            let mut plan = plan(cx, "fs-ways", "ext2", &way("mount-sync"), 1);
            plan.settings.rules.completion = Completion::Durable;
            let top = &mut plan.stack.0[1];
            top.options = top.options.clone().with("sync", true);
            let (counted, found) = explored(cx, &plan);
            assert_eq!(counted, [2, 5, 5]);
            assert_eq!(
                found,
                BTreeSet::from(["fs-ways/lost/metadata-synced-by-mount-sync".to_owned()])
            );
        },
    );
    // jfs_fsync leaves changes of creat that are committed lazily in memory
    // (`bugs/jfs-fsync-uncommitted`).
    for (name, expected, found) in
        [("sync", [3, 2, 2], None), ("fsync", [1, 2, 2], Some("fs-ways/lost/synced-directory"))]
    {
        report.case(&format!("ways: {name} on JFS, exact counts, without a write cache"), |_| {
            let mut plan = plan(cx, "fs-ways", "jfs", &way(name), 1);
            plan.settings.rules.completion = Completion::Durable;
            let found = found.into_iter().map(str::to_owned).collect();
            assert_eq!(explored(cx, &plan), (expected, found));
        });
    }
    // fsync does not write the block of extended attributes (fs/ext2/xattr.c).
    report.case(
        "ways: fsync on ext2, exact counts; extended attributes that are synced can be lost",
        |_| {
            let options =
                way("fsync").with("calls", "xattr").with("files", 1_u64).with("dirs", 0_u64);
            let (counted, found) = explored(cx, &plan(cx, "fs-ways", "ext2", &options, 2));
            assert_eq!(counted, [2, 74, 64]);
            assert_eq!(found, BTreeSet::from(["fs-ways/lost/synced-by-fsync".to_owned()]));
        },
    );
    report.case("workloads: one call on an empty ext4, exact counts, clean", |_| {
        let options = Options::none().with("start", "empty").with("time", "passes");
        let plan = plan(cx, "fs-workloads", "ext4", &options, 2);
        let (summary, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:?}");
        let Summary { crash_disks, distinct, left_out, .. } = &summary;
        assert_eq!([crash_disks, distinct, left_out].map(u64_of), [1454, 578, 1068]);
        assert!(summary.depths.iter().all(|depth| depth.explored));
        let depths = summary.depths.iter().map(|one| [&one.mutates, &one.checked].map(u64_of));
        assert_eq!(depths.collect::<Vec<_>>(), [[1, 0], [8, 578]]);
    });
    models(cx, report);
    for (checker, expected) in [("fs-ways", [6, 160, 160]), ("fs-reasonable", [6, 5, 10])] {
        report.case(
            &format!("ways: {checker} with every call on ext4, exact counts, clean one deep"),
            |_| {
                let options = Options::none().with("calls", "more");
                let options =
                    if checker == "fs-ways" { options.with("way", "fsync") } else { options };
                assert_eq!(
                    explored(cx, &plan(cx, checker, "ext4", &options, 1)),
                    (expected, BTreeSet::new())
                );
            },
        );
    }
    // Trying the calls does not hang, because it does not write to a removed open file
    // (`bugs/hfs-removed-while-open`).
    report.case(
        "ways: fs-reasonable with removed files that are open on HFS, clean two deep",
        |_| {
            let options =
                Options::none().with("calls", "held").with("files", 1_u64).with("dirs", 0_u64);
            let mut plan = plan(cx, "fs-reasonable", "hfs", &options, 2);
            plan.settings.rules.completion = Completion::Durable;
            let (counted, found) = explored(cx, &plan);
            assert_eq!((counted[0], found), (6, BTreeSet::new()));
        },
    );
    for (component, expected) in [("ext4", [3, 2, 4]), ("ext2", [3, 320, 68])] {
        report.case(
            &format!("ways: what {component} leaves is reasonable, exact counts, one deep"),
            |_| {
                let plan = plan(cx, "fs-reasonable", component, &Options::none(), 1);
                assert_eq!(explored(cx, &plan), (expected, BTreeSet::new()));
            },
        );
    }
    report.case(
        "ways: moved on ext4, exact counts, clean one deep; lost where nothing is flushed",
        |_| {
            let mut plan = plan(cx, "fs-moved", "ext4", &Options::none(), 1);
            assert_eq!(explored(cx, &plan), ([5, 3904, 476], BTreeSet::new()));
            let disk = &mut plan.stack.0[0];
            disk.options = disk.options.clone().with("flushes", "dropped");
            let (_, found) = explored(cx, &plan);
            for lost in ["fs-moved/lost/moved-name", "fs-moved/lost/flushed-name"] {
                assert!(found.contains(lost), "{found:?}");
            }
        },
    );
}

/// What a file system leaves are states of its model (`docs/model/file-models.md`). A model that
/// excludes a state that is there is found out.
fn models(cx: Cx<'_>, report: &mut Report) {
    let judged_by = |model: &str, start: &str| {
        Options::none().with("model", model).with("start", start).with("time", "still")
    };
    for (system, expected) in [("ext4", 578), ("xfs", 244), ("btrfs", 108)] {
        report.case(
            &format!("workloads: states of one call on an empty {system} are those of its model"),
            |_| {
                let plan = plan(cx, "fs-workloads", system, &judged_by(system, "empty"), 2);
                let (summary, findings) = cx.explore(&plan);
                assert!(findings.is_empty(), "{findings:?}");
                assert_eq!(u64_of(&summary.distinct), expected);
                assert!(summary.depths.iter().all(|depth| depth.explored));
            },
        );
    }
    report.case("workloads: btrfs has states that the model ext4 excludes", |_| {
        let mut plan = plan(cx, "fs-workloads", "btrfs", &judged_by("ext4", "committed"), 2);
        // rename /a/a /c, fsync /: the replay of the log tree may leave both names.
        (plan.settings.limit, plan.settings.samples, plan.settings.states) = (4, 4, Some(100));
        let (_, found) = explored(cx, &plan);
        assert_eq!(found, BTreeSet::from(["fs-workloads/corrupt/state-of-model".to_owned()]));
    });
}
