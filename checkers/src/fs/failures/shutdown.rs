//! A file system that shuts down after an error that it cannot handle. XFS shuts down if its log
//! cannot be written. Then every call returns EIO until the file system is unmounted and mounted
//! again (ioctl_xfs_goingdown(2): "totally unusable" until then). btrfs makes itself read-only if
//! it must give up a transaction (`btrfs_abort_transaction`).
//!
//! A shutdown ends the path, because there is nothing left to compare. Everything that was synced
//! before the call must be there on every disk that a crash at this moment can leave, recovered and
//! mounted. A call that has succeeded may have its effect, and a call that has failed has none.
//! Nothing is promised about the contents of the file that the call writes, syncs or cuts.

use explode_ramdisk::files::Files;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use nix::errno::Errno;

use super::step::{FailureStep, StepEnding};
use super::tree::{expected, found};
use crate::fs::model::{Abstract, SyncCall};
use crate::fs::topology::FoundTopology;

/// The trees that the disk may have after a shutdown.
#[derive(Clone, Debug, Hash)]
pub struct Shutdown {
    /// The tree that was synced, and the tree after the call if the call has succeeded.
    allowed: Vec<FoundTopology>,
    /// The names of the file whose contents the call is about.
    changes: &'static [&'static str],
}

/// Returns true if every call that reads returns EIO, or if nothing can be changed any more.
pub fn is_down(files: &dyn Files) -> bool {
    let is_io_error = |answer: Option<Errno>| answer == Some(Errno::EIO);
    let dead = is_io_error(files.stat("/").err())
        && is_io_error(files.readdir("/").err())
        && is_io_error(files.sync().err());
    dead || is_read_only(files)
}

/// Returns true if the removal of a directory that does not exist fails because the file system is
/// read-only, which the kernel tests first (`do_rmdir` in fs/namei.c). The call changes nothing and
/// needs no existing name: a rename that failed may have removed every name.
fn is_read_only(files: &dyn Files) -> bool {
    files.rmdir(MISSING) == Err(Errno::EROFS)
}

/// A name that does not exist.
const MISSING: &str = "/missing";

impl Shutdown {
    /// Returns the allowed trees: the tree when it was synced, and the same tree after this step.
    /// The contents of the file that the step changes are not compared.
    pub fn after(step: &FailureStep, ended: &StepEnding, fs: &mut Abstract) -> Shutdown {
        let changes = step.changes();
        let tree = |fs: &Abstract| {
            let mut tree = expected(fs);
            changes.iter().for_each(|path| tree.forget_bytes(path));
            tree
        };
        let mut allowed = vec![tree(fs)];
        if matches!(ended, StepEnding::Done(_)) {
            fs.apply(&step.call);
            allowed.push(tree(fs));
        }
        Shutdown { allowed, changes }
    }

    /// Judges whether the disk has one of the allowed trees.
    pub fn compare(&self, files: &dyn Files, ended: &StepEnding) -> Result<(), CheckError> {
        let difference = match found(files) {
            Ok(mut found) => {
                self.changes.iter().for_each(|path| found.forget_bytes(path));
                if self.allowed.contains(&found) {
                    return Ok(());
                }
                self.allowed.first().and_then(|synced| found.difference(synced)).unwrap_or_default()
            }
            Err(unreadable) => unreadable,
        };
        let message =
            format!("{ended}, the file system has shut itself down, and on the disk {difference}");
        Err(Violation::new(Verdict::Lost, SyncCall::Sync.synced(), message).into())
    }
}
