//! The state of the checker: the tree, and the stable and volatile operations that have made it.

use explode_ramdisk::files::Files;
use explode_runtime::base::{Options, UsageError};
use explode_runtime::verdict::{CheckError, ExcludedPromises, Verdict, Violation};

use super::contents::UnwrittenBytes;
use super::free::Free;
use super::tree::{FoundTree, Unread};
use super::{demands, words};
use crate::fs::model::Abstract;
use crate::fs::model::SyncCall as By;
use crate::fs::model::{History, Moments};
use crate::fs::topology::Limits;

/// The tree, and the stable and volatile operations that have made it.
#[derive(Clone, Debug)]
pub(in crate::fs) struct Reasonable {
    pub(in crate::fs) limits: Limits,
    pub(in crate::fs) garbage: UnwrittenBytes,
    pub(in crate::fs) copies: bool,
    /// True if an exchange must be there whole or not at all.
    pub(in crate::fs) whole: bool,
    pub(in crate::fs) excluded: ExcludedPromises,
    pub(in crate::fs) fs: Abstract,
    pub(in crate::fs) free: Free,
    /// The number of writes so far.
    pub(in crate::fs) writes: u32,
    pub(in crate::fs) history: Moments<History>,
}

impl Reasonable {
    /// Reads the options of `fs-reasonable`.
    pub(in crate::fs) fn of(options: &Options) -> Result<Reasonable, UsageError> {
        Reasonable::within(Limits::of(options)?, options)
    }

    /// Reads the options about the promises: [`UNSYNCED`](super::UNSYNCED),
    /// [`COPIES`](super::COPIES) and [`EXCHANGE`](super::EXCHANGE).
    pub(in crate::fs) fn within(
        limits: Limits,
        options: &Options,
    ) -> Result<Reasonable, UsageError> {
        let mut now = History::default();
        let fs = Abstract::new();
        now.sync(&fs);
        Ok(Reasonable {
            limits,
            garbage: options.one_of(
                "unsynced",
                &[("own", UnwrittenBytes::Own), ("any", UnwrittenBytes::Any)],
            )?,
            copies: options.bool("copies", true)?,
            whole: options.one_of("exchange", &[("half", false), ("whole", true)])?,
            excluded: ExcludedPromises::default(),
            fs,
            free: Free::default(),
            writes: 0,
            history: Moments::new(now),
        })
    }

    /// Checks that files are reasonable. If the violation of the whole tree is excluded, single
    /// names are checked for one that is not.
    pub(in crate::fs) fn judge_files(
        &self,
        files: &dyn Files,
        history: &History,
    ) -> Result<(), CheckError> {
        let judged = match FoundTree::of(files, self.limits.calls) {
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

    /// Returns true if the profile keeps the promise of this call.
    pub(in crate::fs) fn counts(&self, call: By) -> bool {
        !self.excluded.contains(call.synced())
    }
}
