//! What was done to a stack: the calls that change or sync something, each with what a command
//! needs to make it again.

use explode_ramdisk::files::{Fallocate, FsCall, NAMELESS};
use serde::{Deserialize, Serialize};

/// A call that was made, and why it failed, if it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// The call.
    pub what: LoggedAction,
    /// The error, in words.
    pub error: Option<String>,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoggedAction {
    /// A mutate begins, with its number from 1.
    Mutate(u32),
    /// The stack was unmounted, and is mounted again.
    Restart,
    /// A call on files.
    Call(FsCall),
    /// A command of the shell, with `$mnt` and `$dev` where the file system and its device are.
    Shell(String),
}

impl LoggedCall {
    /// Returns true if it may give back space that the file system has allocated, for others to
    /// take.
    pub(crate) fn gives_back(&self) -> bool {
        let gives = match &self.what {
            LoggedAction::Shell(_) => true,
            LoggedAction::Mutate(_) | LoggedAction::Restart => false,
            LoggedAction::Call(call) => match call {
                FsCall::Open { flags, .. } => flags.truncate,
                FsCall::Fallocate { mode, .. } => {
                    !matches!(mode, Fallocate::Allocate | Fallocate::KeepSize)
                }
                FsCall::Ftruncate { .. }
                | FsCall::Rmdir { .. }
                | FsCall::Unlink { .. }
                | FsCall::Rename { .. }
                | FsCall::Exchange { .. }
                | FsCall::Setxattr { .. }
                | FsCall::Removexattr { .. }
                | FsCall::Clone { .. } => true,
                FsCall::OpenUnnamed { .. }
                | FsCall::Close { .. }
                | FsCall::Pwrite { .. }
                | FsCall::Fsync { .. }
                | FsCall::Fdatasync { .. }
                | FsCall::FsyncDir { .. }
                | FsCall::Syncfs
                | FsCall::Sync
                | FsCall::Mkdir { .. }
                | FsCall::Link { .. }
                | FsCall::LinkOpen { .. }
                | FsCall::RenameNoReplace { .. }
                | FsCall::Symlink { .. }
                | FsCall::Chmod { .. } => false,
            },
        };
        gives && self.error.is_none()
    }

    /// May it take space? Whatever is no sync may.
    pub(crate) fn takes(&self) -> bool {
        let syncs = match &self.what {
            LoggedAction::Mutate(_) | LoggedAction::Restart => true,
            LoggedAction::Call(call) => call.is_sync(),
            LoggedAction::Shell(_) => false,
        };
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
        let LoggedAction::Call(call) = &self.what else { return None };
        match call {
            FsCall::Exchange { .. } => Some("two names change places in it (RENAME_EXCHANGE)"),
            FsCall::OpenUnnamed { .. } => Some("a file is made without a name in it (O_TMPFILE)"),
            call => call.paths().into_iter().find_map(nameless),
        }
    }
}
