//! What was done to a stack: the calls that change or sync something, each with what a command
//! needs to make it again.

use explode_ramdisk::files::{Fallocate, Synced};
use serde::{Deserialize, Serialize};

/// A call that was made, and why it failed, if it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// What.
    pub what: What,
    /// The error, in words.
    pub error: Option<String>,
}

/// What was done. Paths begin with a slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A mutate begins, with its number from 1.
    Mutate(u32),
    /// The stack was unmounted, and is mounted again.
    Restart,
    /// A file was opened that is made if it is not there; and cut, if so.
    Create(String, bool),
    /// These bytes were written at this offset.
    Write(String, u64, Vec<u8>, How),
    /// ftruncate to so many bytes.
    Resize(String, u64),
    /// fsync of a file or of a directory.
    Fsync(String),
    /// fdatasync.
    Fdatasync(String),
    /// mkdir.
    Mkdir(String),
    /// rmdir.
    Rmdir(String),
    /// link.
    Link(String, String),
    /// unlink.
    Unlink(String),
    /// rename.
    Rename(String, String),
    /// renameat2 with `RENAME_NOREPLACE`.
    RenameNoReplace(String, String),
    /// renameat2 with `RENAME_EXCHANGE`.
    Exchange(String, String),
    /// symlink: what the link holds, and its path.
    Symlink(String, String),
    /// chmod to these bits.
    Chmod(String, u32),
    /// setxattr: path, name and value.
    Setxattr(String, String, Vec<u8>),
    /// removexattr: path and name.
    Removexattr(String, String),
    /// fallocate: path, how, and the bytes from where on and how many.
    Fallocate(String, Fallocate, u64, u64),
    /// A file was made without a name in this directory (`O_TMPFILE`).
    Unnamed(String),
    /// linkat of an open file, with the path that it had, if any, and the one that it was given.
    LinkOpen(String, String),
    /// `FICLONE` of the first file into the second.
    Clone(String, String),
    /// syncfs of the file system.
    Syncfs,
    /// sync of the machine.
    Sync,
    /// A command of the shell, with `$mnt` and `$dev` where the file system and its device are.
    Shell(String),
}

/// In place of the path of an open file that has lost its name.
pub(super) const NAMELESS: &str = "?";

/// How bytes were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// By pwrite.
    Plain,
    /// Through a file opened with `O_DSYNC`.
    DataSynced,
    /// Through one opened with `O_SYNC`.
    Synced,
    /// Through a shared mapping, and msync.
    Mapped,
}

impl From<Synced> for How {
    fn from(synced: Synced) -> How {
        match synced {
            Synced::Data => How::DataSynced,
            Synced::All => How::Synced,
        }
    }
}

impl Done {
    /// Returns true if it may give back space that the file system has allocated, for others to
    /// take.
    pub(crate) fn gives_back(&self) -> bool {
        let gives = match &self.what {
            What::Create(_, cuts) => *cuts,
            What::Fallocate(_, how, ..) => {
                !matches!(how, Fallocate::Allocate | Fallocate::KeepSize)
            }
            What::Resize(..)
            | What::Rmdir(_)
            | What::Unlink(_)
            | What::Rename(..)
            | What::Exchange(..)
            | What::Setxattr(..)
            | What::Removexattr(..)
            | What::Clone(..)
            | What::Shell(_) => true,
            What::Mutate(_)
            | What::Restart
            | What::Write(..)
            | What::Fsync(_)
            | What::Fdatasync(_)
            | What::Mkdir(_)
            | What::Link(..)
            | What::RenameNoReplace(..)
            | What::Symlink(..)
            | What::Chmod(..)
            | What::Unnamed(_)
            | What::LinkOpen(..)
            | What::Syncfs
            | What::Sync => false,
        };
        gives && self.error.is_none()
    }

    /// May it take space? Whatever is no sync may.
    pub(crate) fn takes(&self) -> bool {
        let syncs = matches!(
            self.what,
            What::Mutate(_)
                | What::Restart
                | What::Fsync(_)
                | What::Fdatasync(_)
                | What::Syncfs
                | What::Sync
        );
        !syncs && self.error.is_none()
    }

    /// What of it no plain command does, if it has succeeded.
    pub(crate) fn beyond_commands(&self) -> Option<&'static str> {
        if self.error.is_some() {
            return None;
        }
        let nameless = |path: &str| {
            (path == NAMELESS)
                .then_some("a file that has lost its name, or never had one, is still in use in it")
        };
        match &self.what {
            What::Exchange(..) => Some("two names change places in it (RENAME_EXCHANGE)"),
            What::Unnamed(_) => Some("a file is made without a name in it (O_TMPFILE)"),
            What::Write(path, ..)
            | What::Resize(path, _)
            | What::Fsync(path)
            | What::Fdatasync(path)
            | What::Fallocate(path, ..)
            | What::LinkOpen(path, _) => nameless(path),
            What::Clone(from, to) => nameless(from).or(nameless(to)),
            What::Mutate(_)
            | What::Restart
            | What::Create(..)
            | What::Mkdir(_)
            | What::Rmdir(_)
            | What::Link(..)
            | What::Unlink(_)
            | What::Rename(..)
            | What::RenameNoReplace(..)
            | What::Symlink(..)
            | What::Chmod(..)
            | What::Setxattr(..)
            | What::Removexattr(..)
            | What::Syncfs
            | What::Sync
            | What::Shell(_) => None,
        }
    }
}
