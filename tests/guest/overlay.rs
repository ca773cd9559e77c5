//! overlay: files that are copied up from its lower folder are kept. The same steps give the same
//! events, whatever was mounted before.

use std::path::Path;

use explode_ramdisk::Event;
use explode_runtime::plan::Plan;
use explode_runtime::report::Summary;
use explode_runtime::unit::Runner;
use explode_runtime::verdict::{Verdict, Violation};
use nix::mount::{MsFlags, mount, umount};

use crate::cases::{Cx, differences, sampled};
use crate::directed::{Seen, go};
use crate::report::Report;

/// A target with files in the lower folder.
const LOWER: &str = "fs-ways-overlay-lower";

/// A file of the lower folder is copied up, in whole or in part, and its directory as well.
const COPY_UP: [&str; 3] = ["pwrite /a 0", "ftruncate /b/a 1000", "rename /b/a /c"];

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case(
        "overlay, lower: what is copied up is kept; exact counts, clean one step deep",
        |_| {
            let mut plan = sampled(cx.shallow(LOWER));
            (plan.settings.skip, plan.settings.crash_depth) = (false, 0);
            plan.checker_options =
                plan.checker_options.with("calls", "contents,chmod").with("files", 3_u64);
            let (summary, findings) = cx.explore(&plan);
            let Summary { states, operations, crash_disks, distinct, .. } = &summary;
            let counted = [states, operations, crash_disks, distinct]
                .map(|count| u64::try_from(&count.0).unwrap());
            assert_eq!(counted, [25, 28, 59_392, 107]);
            assert!(findings.is_empty(), "{findings:?}");
        },
    );
    for step in COPY_UP {
        report.case(
            &format!("overlay, lower: {step} is lost where flushes do nothing, and only there"),
            |_| {
                let lost = way(cx, "overlay-lower+flush-lies", &[step]);
                let wrong =
                    |error: &Violation| matches!(error.verdict, Verdict::Lost | Verdict::Corrupt);
                assert!(
                    lost.errors.iter().any(|(error, _)| wrong(error)),
                    "nothing on {} disks",
                    lost.checked
                );
                let kept = way(cx, LOWER, &[step]);
                assert!(kept.checked > 0 && kept.errors.is_empty(), "{:?}", kept.errors);
            },
        );
    }
    report.case("overlay, lower: a checker that begins with nothing is refused", |_| {
        let stack = cx.plan(LOWER).stack;
        for checker in ["fs-sync", "fs-reasonable", "fs-basic", "fs-failures"] {
            let plan = Plan::of_parts(cx.registry, checker, stack.clone()).expect("both are there");
            let refused =
                Runner::start(cx.registry, &plan, cx.backend).err().map(|error| error.to_string());
            let says = refused.as_ref().is_some_and(|why| {
                why.contains("the file system is not empty after init and mount")
            });
            assert!(says, "{checker}: {refused:?}");
        }
    });
    report.case("overlay: the same way gives the same events", |_| {
        let ways: [(&str, &[&str]); 2] = [
            (
                "fs-sync-overlay",
                &["write /a behind a hole; fsync /a, /", "mkdir /d; write /d/c", "sync"],
            ),
            (LOWER, &COPY_UP),
        ];
        for (target, steps) in ways {
            let events = || -> Vec<Event> { way(cx, target, steps).events };
            let first = events();
            assert!(first.len() > 40, "{} events", first.len());
            count_on();
            let again = events();
            assert!(first == again, "{target}: {}", differences(&first, &again));
        }
    });
}

/// Runs these steps and checks eight disks of their end.
fn way(cx: Cx<'_>, target: &str, steps: &[&str]) -> Seen {
    let mut plan = cx.plan(target);
    (plan.settings.limit, plan.settings.samples) = (8, 8);
    go(cx.registry, &plan, cx.backend, steps)
}

/// overlay numbers its temporary names for the life of the guest. This makes the numbers one digit
/// longer.
fn count_on() {
    let base = Path::new("/run/count-on");
    let folders = ["lowerdir", "upperdir", "workdir"].map(|folder| (folder, base.join(folder)));
    let at = base.join("at");
    folders
        .iter()
        .map(|(_, path)| path)
        .chain([&at])
        .for_each(|path| std::fs::create_dir_all(path).expect("there is room"));
    let options = folders.map(|(name, path)| format!("{name}={}", path.display())).join(",");
    for _ in 0..2000 {
        mount(Some("overlay"), &at, Some("overlay"), MsFlags::empty(), Some(options.as_str()))
            .expect("it is there");
        umount(&at).expect("nobody uses it");
    }
}
