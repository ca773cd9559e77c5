//! The state of the checker: the tree, and what of its making is stable and volatile.

use explode_ramdisk::files::Files;
use explode_runtime::base::{Options, UsageError};
use explode_runtime::crash::Epoch;
use explode_runtime::verdict::{Excluded, Failure, Verdict, Violation};

use super::contents::Garbage;
use super::free::Free;
use super::history::History;
use super::tree::{Tree, Unread};
use super::{demands, words};
use crate::fs::sync::Call as By;
use crate::fs::topology::{Abstract, Limits};

/// The tree, and what of its making is stable and volatile.
#[derive(Clone, Debug)]
pub(super) struct Reasonable {
    pub(super) limits: Limits,
    pub(super) garbage: Garbage,
    pub(super) copies: bool,
    /// Is an exchange there whole or not at all?
    pub(super) whole: bool,
    pub(super) excluded: Excluded,
    pub(super) fs: Abstract,
    pub(super) free: Free,
    /// How many writes there were.
    pub(super) writes: u32,
    /// While the last step was taken, and now.
    pub(super) during: History,
    pub(super) now: History,
}

impl Reasonable {
    pub(super) fn of(options: &Options) -> Result<Reasonable, UsageError> {
        let mut now = History::default();
        let fs = Abstract::new();
        now.sync(&fs);
        Ok(Reasonable {
            limits: Limits::of(options)?,
            garbage: options.one_of("unsynced", &[("own", Garbage::Own), ("any", Garbage::Any)])?,
            copies: options.bool("copies", true)?,
            whole: options.one_of("exchange", &[("half", false), ("whole", true)])?,
            excluded: Excluded::default(),
            fs,
            free: Free::default(),
            writes: 0,
            during: now.clone(),
            now,
        })
    }

    /// Are files reasonable? Where only what is excluded is wrong with all of them, each name by
    /// itself may say what is not.
    pub(super) fn judge_files(&self, files: &dyn Files, history: &History) -> Result<(), Failure> {
        let judged = match Tree::of(files, self.limits.calls) {
            Ok(tree) => self.judge(&tree, history),
            Err(Unread::Damaged(text)) => {
                Err(Violation::new(Verdict::Corrupt, words::READABLE, text))
            }
            Err(Unread::Broken(failure)) => return Err(failure),
        };
        let Err(violation) = judged else { return Ok(()) };
        if self.excluded.contains(&violation.promise) {
            demands::judge(files, &self.fs, history, self.limits.calls)?;
        }
        Err(violation.into())
    }

    pub(super) fn history(&self, epoch: Epoch) -> &History {
        match epoch {
            Epoch::Begin | Epoch::InBetween => &self.during,
            Epoch::End | Epoch::Now | Epoch::Soft => &self.now,
        }
    }

    /// Is anything promised after this call?
    pub(super) fn counts(&self, call: By) -> bool {
        !self.excluded.contains(call.synced())
    }
}
