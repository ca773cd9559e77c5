//! The files of a host as code that uses `std::fs` sees them.

use std::path::Path;
use std::rc::Rc;

use explode_posix::FolderMount;
use explode_ramdisk::files::{CallRecorder, FsCall, Result};
use explode_runtime::base::{Blame, StepError};
use nix::errno::Errno;

use super::calls::{HostCalls, rename_in_words, sync_in_words};
use super::host_files::HostFiles;

/// Lets calls fail, and notes those that a story names.
struct Recorder(Rc<HostCalls>);

impl CallRecorder for Recorder {
    fn is_on(&self) -> bool {
        self.0.is_noting()
    }

    fn record(&self, call: FsCall, make: &mut dyn FnMut() -> Result<()>) {
        let text = || match call {
            FsCall::Rename { from, to }
            | FsCall::RenameNoReplace { from, to }
            | FsCall::Exchange { from, to } => Some(rename_in_words(&from, &to)),
            FsCall::Fsync { path } | FsCall::Fdatasync { path } | FsCall::FsyncDir { path } => {
                Some(sync_in_words(&path))
            }
            FsCall::Sync | FsCall::Syncfs => Some(sync_in_words("everything")),
            _ => None,
        };
        // The caller has the result.
        let _ = self.0.noted(text, make);
    }

    fn error_of_next(&self) -> Option<Errno> {
        self.0.error_of_next()
    }
}

/// The folder of a host.
#[derive(Debug)]
pub struct StdFolder(FolderMount);

impl StdFolder {
    /// Mounts the files of a host at the folder of its name.
    ///
    /// # Errors
    /// The file calls of this program are not seen.
    pub fn new(host: &str, files: &HostFiles) -> std::result::Result<StdFolder, StepError> {
        let recorder = Recorder(Rc::clone(files.calls()));
        let mounted = FolderMount::new(host, files.sim().clone(), Box::new(recorder));
        Ok(StdFolder(mounted.map_err(|why| StepError::new(why).blame(Blame::Tool))?))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.0.folder()
    }

    /// Runs code of the node. Returns its result, and the first call that was refused, in words.
    pub fn enter<T>(&self, code: impl FnOnce() -> T) -> (T, Option<String>) {
        let result = self.0.enter(code);
        (result, self.0.refused())
    }
}
