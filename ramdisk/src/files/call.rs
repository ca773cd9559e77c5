//! Calls on files as plain data, which can be applied, printed and searched for paths.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::call_text::CallText;
use super::{Fallocate, OpenFlags, Synced, WriteFlag};

/// The path of an open file that has lost its name or never had one.
pub const NAMELESS: &str = "?";

/// The path of an open directory that was removed.
pub const REMOVED_DIRECTORY: &str = "?/";

/// A call that changes or syncs files. Paths are absolute; offsets, lengths and sizes are in bytes.
///
/// A call on an open file names the path that the file has when the call is made, or
/// [`NAMELESS`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are the arguments of the system call")]
pub enum FsCall {
    /// open(2) of a file.
    Open { path: String, flags: OpenFlags },
    /// open(2) with `O_TMPFILE`: a file without a name.
    OpenUnnamed { directory: String },
    /// Closes a file: close(2).
    Close { path: String },
    /// Writes bytes, by one of several methods.
    Pwrite { path: String, offset: u64, data: Vec<u8>, method: WriteMethod },
    /// Sets the size of a file: ftruncate(2).
    Ftruncate { path: String, size: u64 },
    /// Changes a range of a file: fallocate(2).
    Fallocate { path: String, mode: Fallocate, offset: u64, len: u64 },
    /// `FICLONE`: the second file shares the contents of the first.
    Clone { from: String, to: String },
    /// copy_file_range(2): a range of the first file is copied to the same place in the second.
    CopyRange { from: String, to: String, offset: u64, len: u64 },
    /// fsync(2) of a file.
    Fsync { path: String },
    /// Makes the data of a file durable: fdatasync(2).
    Fdatasync { path: String },
    /// fsync(2) of a directory.
    FsyncDir { path: String },
    /// All of these files become durable: `Files::sync`, or syncfs(2) on a file system of the
    /// kernel.
    Syncfs,
    /// sync(2) of the machine.
    Sync,
    /// Makes a directory: mkdir(2).
    Mkdir { path: String },
    /// Removes a directory: rmdir(2).
    Rmdir { path: String },
    /// Removes a name: unlink(2).
    Unlink { path: String },
    /// Adds a name: link(2).
    Link { from: String, to: String },
    /// linkat(2) of an open file, with `AT_EMPTY_PATH`.
    LinkOpen { from: String, to: String },
    /// Renames a node: rename(2).
    Rename { from: String, to: String },
    /// renameat2(2) with `RENAME_NOREPLACE`.
    RenameNoReplace { from: String, to: String },
    /// renameat2(2) with `RENAME_EXCHANGE`.
    Exchange { from: String, to: String },
    /// symlink(2). `target` is any text, not a path of these files.
    Symlink { target: String, path: String },
    /// chmod(2) with the bits 07777.
    Chmod { path: String, mode: u32 },
    /// Sets an extended attribute: setxattr(2).
    Setxattr { path: String, name: String, value: Vec<u8> },
    /// Removes an extended attribute: removexattr(2).
    Removexattr { path: String, name: String },
}

/// The method of a write.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum WriteMethod {
    /// A plain pwrite(2).
    #[default]
    Plain,
    /// pwrite(2) to a file that is open with `O_DSYNC`.
    DataSynced,
    /// pwrite(2) to a file that is open with `O_SYNC`.
    Synced,
    /// A store through a shared mapping, and msync(2).
    Mapped,
    /// pwrite(2) to a file that is open with `O_APPEND`, at its end.
    Appended,
    /// pwrite(2) to a file that is open with `O_DIRECT`.
    Direct,
}

impl From<Synced> for WriteMethod {
    fn from(synced: Synced) -> WriteMethod {
        match synced {
            Synced::Data => WriteMethod::DataSynced,
            Synced::All => WriteMethod::Synced,
        }
    }
}

impl From<WriteFlag> for WriteMethod {
    fn from(flag: WriteFlag) -> WriteMethod {
        match flag {
            WriteFlag::Append => WriteMethod::Appended,
            WriteFlag::Direct => WriteMethod::Direct,
        }
    }
}

impl FsCall {
    /// Returns the paths that the call names, in its order. An empty list for a sync of everything.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            FsCall::Syncfs | FsCall::Sync => Vec::new(),
            FsCall::Open { path, .. }
            | FsCall::OpenUnnamed { directory: path }
            | FsCall::Close { path }
            | FsCall::Pwrite { path, .. }
            | FsCall::Ftruncate { path, .. }
            | FsCall::Fallocate { path, .. }
            | FsCall::Fsync { path }
            | FsCall::Fdatasync { path }
            | FsCall::FsyncDir { path }
            | FsCall::Mkdir { path }
            | FsCall::Rmdir { path }
            | FsCall::Unlink { path }
            | FsCall::Symlink { path, .. }
            | FsCall::Chmod { path, .. }
            | FsCall::Setxattr { path, .. }
            | FsCall::Removexattr { path, .. } => vec![path],
            FsCall::Clone { from, to }
            | FsCall::CopyRange { from, to, .. }
            | FsCall::Link { from, to }
            | FsCall::LinkOpen { from, to }
            | FsCall::Rename { from, to }
            | FsCall::RenameNoReplace { from, to }
            | FsCall::Exchange { from, to } => vec![from, to],
        }
    }

    /// Returns true if the call changes nothing and makes earlier changes durable.
    pub fn is_sync(&self) -> bool {
        match self {
            FsCall::Fsync { .. }
            | FsCall::Fdatasync { .. }
            | FsCall::FsyncDir { .. }
            | FsCall::Syncfs
            | FsCall::Sync => true,
            FsCall::Open { .. }
            | FsCall::OpenUnnamed { .. }
            | FsCall::Close { .. }
            | FsCall::Pwrite { .. }
            | FsCall::Ftruncate { .. }
            | FsCall::Fallocate { .. }
            | FsCall::Clone { .. }
            | FsCall::CopyRange { .. }
            | FsCall::Mkdir { .. }
            | FsCall::Rmdir { .. }
            | FsCall::Unlink { .. }
            | FsCall::Link { .. }
            | FsCall::LinkOpen { .. }
            | FsCall::Rename { .. }
            | FsCall::RenameNoReplace { .. }
            | FsCall::Exchange { .. }
            | FsCall::Symlink { .. }
            | FsCall::Chmod { .. }
            | FsCall::Setxattr { .. }
            | FsCall::Removexattr { .. } => false,
        }
    }

    /// Returns a plain pwrite(2).
    pub fn pwrite(path: &str, offset: u64, data: Vec<u8>) -> FsCall {
        FsCall::Pwrite { path: path.to_owned(), offset, data, method: WriteMethod::Plain }
    }
}

/// Writes one line such as `pwrite /db 0+4096` or `rename /a /b`: the system call, its paths, and
/// its further arguments.
impl fmt::Display for FsCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl FsCall {
    /// Returns the call in words, with its offset and length in a separate field.
    pub fn text(&self) -> CallText {
        let of = |call: &str, path: &str| CallText::bare(&format!("{call} {}", OneLine(path)));
        let two = |call: &str, from: &str, to: &str| {
            CallText::bare(&format!("{call} {} {}", OneLine(from), OneLine(to)))
        };
        let with = |text: CallText, tail: &str| CallText { tail: tail.to_owned(), ..text };
        match self {
            FsCall::Open { path, flags } => with(of("open", path), &flags_of(*flags)),
            FsCall::OpenUnnamed { directory } => with(of("open", directory), "O_TMPFILE"),
            FsCall::Close { path } => of("close", path),
            FsCall::Pwrite { path, offset, data, method } => {
                let (call, flag) = match method {
                    WriteMethod::Plain => ("pwrite", ""),
                    WriteMethod::DataSynced => ("pwrite", "O_DSYNC"),
                    WriteMethod::Synced => ("pwrite", "O_SYNC"),
                    WriteMethod::Mapped => ("store, msync", ""),
                    WriteMethod::Appended => ("pwrite", "O_APPEND"),
                    WriteMethod::Direct => ("pwrite", "O_DIRECT"),
                };
                let span = Some((*offset, data.len() as u64));
                CallText { span, ..with(of(call, path), flag) }
            }
            FsCall::Ftruncate { path, size } => with(of("ftruncate", path), &size.to_string()),
            FsCall::Fallocate { path, mode, offset, len } => {
                let head = format!("fallocate {} {}", OneLine(path), word(*mode));
                CallText { span: Some((*offset, *len)), ..CallText::bare(&head) }
            }
            FsCall::Clone { from, to } => two("ficlone", from, to),
            FsCall::CopyRange { from, to, offset, len } => {
                CallText { span: Some((*offset, *len)), ..two("copy_file_range", from, to) }
            }
            FsCall::Fsync { path } | FsCall::FsyncDir { path } => of("fsync", path),
            FsCall::Fdatasync { path } => of("fdatasync", path),
            FsCall::Syncfs => CallText::bare("syncfs"),
            FsCall::Sync => CallText::bare("sync"),
            FsCall::Mkdir { path } => of("mkdir", path),
            FsCall::Rmdir { path } => of("rmdir", path),
            FsCall::Unlink { path } => of("unlink", path),
            FsCall::Link { from, to } => two("link", from, to),
            FsCall::LinkOpen { from, to } => with(two("linkat", from, to), "AT_EMPTY_PATH"),
            FsCall::Rename { from, to } => two("rename", from, to),
            FsCall::RenameNoReplace { from, to } => {
                with(two("rename", from, to), "RENAME_NOREPLACE")
            }
            FsCall::Exchange { from, to } => with(two("rename", from, to), "RENAME_EXCHANGE"),
            FsCall::Symlink { target, path } => two("symlink", target, path),
            FsCall::Chmod { path, mode } => with(of("chmod", path), &format!("{mode:04o}")),
            FsCall::Setxattr { path, name, value } => {
                with(two("setxattr", path, name), &format!("({} bytes)", value.len()))
            }
            FsCall::Removexattr { path, name } => two("removexattr", path, name),
        }
    }
}

/// The flag of a mode of fallocate(2), as `fallocate(1)` spells it.
fn word(mode: Fallocate) -> &'static str {
    match mode {
        Fallocate::Allocate => "allocate",
        Fallocate::KeepSize => "keep-size",
        Fallocate::PunchHole => "punch-hole",
        Fallocate::ZeroRange => "zero-range",
        Fallocate::CollapseRange => "collapse-range",
        Fallocate::InsertRange => "insert-range",
    }
}

/// The flags of open(2), separated by spaces.
fn flags_of(flags: OpenFlags) -> String {
    let OpenFlags { create, exclusive, truncate } = flags;
    let flags = [(create, "O_CREAT"), (exclusive, "O_EXCL"), (truncate, "O_TRUNC")];
    let set = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name);
    set.collect::<Vec<_>>().join(" ")
}

/// Text whose control characters are escaped.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            _ if letter.is_control() => write!(f, "{}", letter.escape_default()),
            '\u{2028}' | '\u{2029}' => write!(f, "{}", letter.escape_unicode()),
            _ => write!(f, "{letter}"),
        })
    }
}
