//! Recovers, mounts and checks one crash disk and the crash-crash disks of its recovery.
//!
//! ```text
//! events -> write set -> crash disks -> known? -> recover -> mount -> check(epoch) -> verdict
//!                                                    |
//!                                                    +-> crash-crash disks
//! ```
//!
//! [`judge()`] is the only place where this happens. Exploring, replaying, probing and benchmarking
//! differ in their [`JudgeHooks`]. The disks come from a [`CrashPipeline`], which follows the log
//! of a running system.

mod contradiction;
pub mod equivalence;
mod key;
mod nested;
mod outcome;
mod pipeline;
mod reader;
mod recorded;
mod request;
mod soft;
mod stacks;
mod types;
mod watch;

pub use key::key;
pub use nested::NeighbourQuery;
pub use outcome::{CheckEnding, CheckOutcome};
pub(crate) use pipeline::check_still;
pub use pipeline::{BEGIN_MARK, CrashPipeline, END_MARK, NOW_MARK};
pub use recorded::RecordedLog;
pub use request::{CandidateDisk, OpenRequest};
pub use stacks::CrashStacks;
pub use types::{Check, Crash, Descend, DiskName, JudgeHooks};

use explode_ramdisk::{Image, Recording};
use tracing::debug_span;
use tracing::field::Empty;

use crate::crash::{CrashDisk, IntervalCounts};
use types::Announced;

/// Judges a crash disk and, to the depth of `crash`, every crash-crash disk of its recovery.
/// Returns true if all of them are sound.
pub fn judge(
    crash: &Crash<'_>,
    key: u128,
    disk: &CrashDisk<'_>,
    hooks: &mut dyn JudgeHooks,
) -> bool {
    walk(crash, key, disk, &mut Vec::new(), hooks)
}

fn walk(
    crash: &Crash<'_>,
    key: u128,
    disk: &CrashDisk<'_>,
    before: &mut Vec<DiskName>,
    hooks: &mut dyn JudgeHooks,
) -> bool {
    let check = Check { crash, key, disk: Some(disk), before };
    if let Some(sound) = hooks.known(&check) {
        return sound;
    }
    let depth = before.len();
    let epoch = crash.epoch.as_str();
    let span =
        debug_span!("crash_disk", key = %format_args!("{key:032x}"), epoch, depth, how = Empty);
    let _entered = span.enter();
    let image = disk.image();
    let deeper = (before.len() as u32) < crash.depth;
    let outcome = hooks.outcome(&check, &image);
    span.record("how", if outcome.is_some() { "known" } else { "checked" });
    let outcome = outcome.unwrap_or_else(|| check_once(&check, image.clone(), deeper, hooks));
    let (outcome, mut sound) = hooks.judged(&check, &image, outcome);
    if deeper && outcome.ending.is_sound() {
        let descend = hooks.descend(&check, &outcome);
        if descend != Descend::No {
            before.push((disk.identity().to_string(), disk.kept()));
            let mut visit = |nested: &CrashDisk<'_>| {
                sound &= walk(crash, crash.key(nested.identity()), nested, before, hooks);
            };
            let (judge, recovery) = (crash.judge, &outcome.recovery);
            let counts = match descend {
                Descend::Named(pieces) => {
                    let named = judge.crash_crash_named(&image, recovery, &pieces, &mut visit);
                    named.map(|()| IntervalCounts::default())
                }
                _ => judge.crash_crash_disks(&image, recovery, crash.nested_seed(key), &mut visit),
            };
            before.pop();
            hooks.descended(&Check { crash, key, disk: Some(disk), before }, counts);
        }
    }
    hooks.left(&Check { crash, key, disk: Some(disk), before });
    sound
}

/// Recovers, mounts and checks one disk, without regard to known verdicts or further crashes. The
/// recovery's writes are recorded if crashes during it follow (`deeper`).
pub fn check_once(
    check: &Check<'_>,
    image: Image,
    deeper: bool,
    hooks: &mut dyn JudgeHooks,
) -> CheckOutcome {
    let Crash { judge, checker, judged_as, args, .. } = *check.crash;
    let judge = if hooks.wants_reads() { judge.noting_reads() } else { judge };
    let recording = if deeper { Recording::On } else { Recording::Off };
    let judged =
        judge.check(image, checker, (judged_as, args), recording, &mut Announced { check, hooks });
    hooks.after(check);
    judged
}
