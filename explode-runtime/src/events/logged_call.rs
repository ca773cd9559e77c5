//! The actions on a stack: the calls that change or sync something, each with the arguments that
//! are needed to repeat it.

use explode_ramdisk::files::{Fallocate, FsCall, NAMELESS, REMOVED_DIRECTORY};
use serde::{Deserialize, Serialize};

/// An action on a stack, with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// The action.
    pub what: LoggedAction,
    /// The error in words. `None` if the action succeeded.
    pub error: Option<String>,
}

/// An action on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoggedAction {
    /// The start of a mutate, with its number from 1.
    Mutate(u32),
    /// An unmount and a mount of the stack.
    Restart,
    /// A call on files.
    Call(FsCall),
    /// A shell command, with `$mnt` and `$dev` in place of the file system and its device.
    Shell(String),
}

impl LoggedCall {
    /// Returns true if the action can free space that the file system had allocated, so that other
    /// files can take it.
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
                | FsCall::CopyRange { .. }
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

    /// Returns true if the action can take space. Every action except a sync can.
    pub(crate) fn takes(&self) -> bool {
        let syncs = match &self.what {
            LoggedAction::Mutate(_) | LoggedAction::Restart => true,
            LoggedAction::Call(call) => call.is_sync(),
            LoggedAction::Shell(_) => false,
        };
        !syncs && self.error.is_none()
    }

    /// Returns the part of the action that no plain command can do. `None` if there is no such
    /// part, or if the action failed.
    pub(crate) fn beyond_commands(&self) -> Option<&'static str> {
        if self.error.is_some() {
            return None;
        }
        let nameless = |path: &str| {
            let file = "a file that has lost its name, or never had one, is still in use in it";
            let directory = "a directory that was removed is still in use in it";
            let used = [(NAMELESS, file), (REMOVED_DIRECTORY, directory)];
            used.into_iter().find(|(of, _)| *of == path).map(|(_, words)| words)
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let LoggedAction::Call(call) = &self.what else { return None };
        match call {
            FsCall::CopyRange { from, .. } if !from.chars().all(is_plain) => {
                Some("it copies from a file whose name xfs_io does not read")
            }
            FsCall::Exchange { .. } => Some("two names change places in it (RENAME_EXCHANGE)"),
            FsCall::OpenUnnamed { .. } => Some("a file is made without a name in it (O_TMPFILE)"),
            call => call.paths().into_iter().find_map(nameless),
        }
    }
}
