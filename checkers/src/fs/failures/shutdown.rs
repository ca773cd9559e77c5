//! A file system that shuts itself down: after an error that it cannot get over (XFS: its log could
//! not be written) every call says EIO, until it is unmounted and mounted again
//! (ioctl_xfs_goingdown(2) says of this state that it is "totally unusable" until then). Or it
//! makes itself read-only: btrfs, when it has to give up a transaction (`btrfs_abort_transaction`).
//!
//! There is nothing to compare then, and nothing to go on with: the path ends. What was synced
//! before the call must be there all the same, on every disk that a crash at this moment can leave,
//! recovered and mounted. The call may have had its effect if it has said so, and has none if it
//! has failed; but for the contents of the file that it writes, syncs or cuts, of which nothing is
//! promised.

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
    /// What was synced, and what the call has made of it if it has succeeded.
    allowed: Vec<FoundTopology>,
    /// The names of the file whose contents the call is about.
    changes: &'static [&'static str],
}

/// Returns true if every call that reads returns EIO, or if nothing can be changed any more.
pub fn is_down(files: &dyn Files) -> bool {
    let says = |answer: Option<Errno>| answer == Some(Errno::EIO);
    let dead =
        says(files.stat("/").err()) && says(files.readdir("/").err()) && says(files.sync().err());
    dead || is_read_only(files)
}

/// Returns true if a directory that is not there cannot be removed because the file system is
/// read-only, which is asked first (`do_rmdir` in fs/namei.c). Asking changes nothing, and needs
/// nothing to be there: a rename that has failed may have taken every name away.
fn is_read_only(files: &dyn Files) -> bool {
    files.rmdir(NOBODY) == Err(Errno::EROFS)
}

/// A name that nothing has.
const NOBODY: &str = "/nobody";

impl Shutdown {
    /// Of a tree as it was when it was synced, but for the contents of the file that this step
    /// changes; the tree follows the step.
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
