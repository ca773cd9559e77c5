//! Simulated files of one of several hosts of a program, for code that uses `std::fs`.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{CallRecorder, ProgramFiles};

use crate::canary;
use crate::folder::{PREFIX, StoreFiles};
use crate::owner::{Home, Sharing};

/// Simulated files at a folder, for the code of one host. Another mount may stand at the same
/// folder; code sees the one that it was [entered](FolderMount::enter) with. The mount belongs to
/// the thread that has made it.
pub struct FolderMount {
    home: Home,
    folder: PathBuf,
    /// Only the owner of the files may end the mount.
    stays_in_thread: PhantomData<Rc<()>>,
}

impl FolderMount {
    /// Mounts simulated files at `/explode/NAME`. Their root is the folder.
    ///
    /// # Errors
    /// File calls of this program do not arrive here, in the words of [`seen`].
    pub fn new(
        name: &str,
        files: SimFiles,
        recorder: Box<dyn CallRecorder>,
    ) -> Result<FolderMount, String> {
        seen()?;
        let prefix = format!("{PREFIX}/{name}");
        let files = StoreFiles::new(ProgramFiles::new(files, recorder), &prefix);
        let home = Home::new(files, Sharing::OwnerAlone);
        Ok(FolderMount { home, folder: prefix.into(), stays_in_thread: PhantomData })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs code whose calls on the folder are answered by these files. It may start no threads,
    /// and no other thread may use the files.
    pub fn enter<T>(&self, code: impl FnOnce() -> T) -> T {
        self.home.enter(code)
    }

    /// Returns the first call that was refused since the last question, in words.
    pub fn refused(&self) -> Option<String> {
        self.home.own(|folder| folder.refused.take()).flatten()
    }

    /// Ends the mount: later calls fail with `EIO`.
    pub fn end(&self) {
        self.home.end();
    }
}

impl Drop for FolderMount {
    fn drop(&mut self) {
        self.home.end();
    }
}

impl std::fmt::Debug for FolderMount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FolderMount").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Checks once in a process that the file calls of its code arrive here.
///
/// # Errors
/// They do not. The text says what is missing.
pub fn seen() -> Result<(), String> {
    canary::arrive()
}
