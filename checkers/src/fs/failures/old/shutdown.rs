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

use super::call::{OldEnding, OldStep};
use super::tree::OldTree;

/// What the disk may have then.
#[derive(Clone, Debug, Hash)]
pub struct OldShutdown {
    /// What was synced, and what the call has made of it if it has said so.
    allowed: Vec<OldTree>,
    /// The names of the file whose contents the call is about.
    changes: &'static [&'static str],
}

/// Does everything that a file system can be asked say EIO, or can nothing be changed any more?
pub fn is_down(files: &dyn Files) -> bool {
    let says = |answer: Option<Errno>| answer == Some(Errno::EIO);
    let dead =
        says(files.stat("/").err()) && says(files.readdir("/").err()) && says(files.sync().err());
    dead || is_read_only(files)
}

/// Has it made itself read-only? Then a directory that is not there cannot be removed because of
/// that, which is asked first (`do_rmdir` in fs/namei.c). Asking changes nothing, and needs nothing
/// to be there: a rename that has failed may have taken every name away.
fn is_read_only(files: &dyn Files) -> bool {
    files.rmdir(NOBODY) == Err(Errno::EROFS)
}

/// A name that nothing has.
const NOBODY: &str = "/nobody";

impl OldShutdown {
    /// `model` is as it was when it was synced, but for the contents of the file that this call
    /// changes; it follows the call.
    pub fn after(
        call: OldStep,
        ended: &OldEnding,
        model: &dyn Files,
    ) -> Result<OldShutdown, CheckError> {
        let changes = call.changes();
        let tree = || -> Result<OldTree, CheckError> {
            let mut tree = OldTree::of(model)
                .map_err(|error| CheckError::broken(format!("the model: {error}")))?;
            changes.iter().for_each(|path| tree.forget_contents(path));
            Ok(tree)
        };
        let mut allowed = vec![tree()?];
        if matches!(ended, OldEnding::Done(_)) {
            match call.make(model) {
                OldEnding::Done(_) => allowed.push(tree()?),
                OldEnding::Failed(what, errno) => {
                    return Err(CheckError::broken(format!("the model: {what}: {errno}")));
                }
            }
        }
        Ok(OldShutdown { allowed, changes })
    }

    /// Is one of the allowed ones on the disk?
    pub fn compare(&self, files: &dyn Files, ended: &OldEnding) -> Result<(), CheckError> {
        let difference = match OldTree::of(files) {
            Ok(mut found) => {
                self.changes.iter().for_each(|path| found.forget_contents(path));
                if self.allowed.contains(&found) {
                    return Ok(());
                }
                self.allowed.first().and_then(|synced| found.difference(synced)).unwrap_or_default()
            }
            Err(error) => error,
        };
        let message =
            format!("{ended}, the file system has shut itself down, and on the disk {difference}");
        Err(Violation::new(Verdict::Lost, "synced-by-sync", message).into())
    }
}
