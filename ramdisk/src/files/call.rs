//! One call on files, as plain data: to make it, to print it, to ask which paths it names.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Fallocate, OpenFlags, Synced};

/// The path of an open file that has lost its name, or never had one.
pub const NAMELESS: &str = "?";

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
    /// close(2).
    Close { path: String },
    /// A write of bytes, by one of several methods.
    Pwrite { path: String, offset: u64, data: Vec<u8>, method: WriteMethod },
    /// ftruncate(2).
    Ftruncate { path: String, size: u64 },
    /// fallocate(2).
    Fallocate { path: String, mode: Fallocate, offset: u64, len: u64 },
    /// `FICLONE`: the second file shares the contents of the first.
    Clone { from: String, to: String },
    /// fsync(2) of a file.
    Fsync { path: String },
    /// fdatasync(2).
    Fdatasync { path: String },
    /// fsync(2) of a directory.
    FsyncDir { path: String },
    /// All of these files become durable: `Files::sync`, of a kernel's file system syncfs(2).
    Syncfs,
    /// sync(2) of the machine.
    Sync,
    /// mkdir(2).
    Mkdir { path: String },
    /// rmdir(2).
    Rmdir { path: String },
    /// unlink(2).
    Unlink { path: String },
    /// link(2).
    Link { from: String, to: String },
    /// linkat(2) of an open file, with `AT_EMPTY_PATH`.
    LinkOpen { from: String, to: String },
    /// rename(2).
    Rename { from: String, to: String },
    /// renameat2(2) with `RENAME_NOREPLACE`.
    RenameNoReplace { from: String, to: String },
    /// renameat2(2) with `RENAME_EXCHANGE`.
    Exchange { from: String, to: String },
    /// symlink(2); `target` is text, and no path of these files.
    Symlink { target: String, path: String },
    /// chmod(2): the bits 07777.
    Chmod { path: String, mode: u32 },
    /// setxattr(2).
    Setxattr { path: String, name: String, value: Vec<u8> },
    /// removexattr(2).
    Removexattr { path: String, name: String },
}

/// How bytes are written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum WriteMethod {
    /// pwrite(2).
    #[default]
    Plain,
    /// pwrite(2) to a file that is open with `O_DSYNC`.
    DataSynced,
    /// pwrite(2) to a file that is open with `O_SYNC`.
    Synced,
    /// A store through a shared mapping, and msync(2).
    Mapped,
}

impl From<Synced> for WriteMethod {
    fn from(synced: Synced) -> WriteMethod {
        match synced {
            Synced::Data => WriteMethod::DataSynced,
            Synced::All => WriteMethod::Synced,
        }
    }
}

impl FsCall {
    /// The paths that the call names, in its order; none for a sync of everything.
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
            | FsCall::Link { from, to }
            | FsCall::LinkOpen { from, to }
            | FsCall::Rename { from, to }
            | FsCall::RenameNoReplace { from, to }
            | FsCall::Exchange { from, to } => vec![from, to],
        }
    }

    /// Returns true if the call changes nothing, and makes what was changed durable.
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

    /// pwrite(2).
    pub fn pwrite(path: &str, offset: u64, data: Vec<u8>) -> FsCall {
        FsCall::Pwrite { path: path.to_owned(), offset, data, method: WriteMethod::Plain }
    }
}

/// One line, as `pwrite /db 0+4096` or `rename /a /b`: the system call, its paths, and what else
/// tells it from others.
impl fmt::Display for FsCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FsCall::Open { path, flags } => write!(f, "open {}{}", OneLine(path), Flags(*flags)),
            FsCall::OpenUnnamed { directory } => write!(f, "open {} O_TMPFILE", OneLine(directory)),
            FsCall::Close { path } => write!(f, "close {}", OneLine(path)),
            FsCall::Pwrite { path, offset, data, method } => {
                let (call, flag) = match method {
                    WriteMethod::Plain => ("pwrite", ""),
                    WriteMethod::DataSynced => ("pwrite", " O_DSYNC"),
                    WriteMethod::Synced => ("pwrite", " O_SYNC"),
                    WriteMethod::Mapped => ("store, msync", ""),
                };
                write!(f, "{call} {} {offset}+{}{flag}", OneLine(path), data.len())
            }
            FsCall::Ftruncate { path, size } => write!(f, "ftruncate {} {size}", OneLine(path)),
            FsCall::Fallocate { path, mode, offset, len } => {
                write!(f, "fallocate {} {} {offset}+{len}", OneLine(path), word(*mode))
            }
            FsCall::Clone { from, to } => write!(f, "ficlone {} {}", OneLine(from), OneLine(to)),
            FsCall::Fsync { path } | FsCall::FsyncDir { path } => {
                write!(f, "fsync {}", OneLine(path))
            }
            FsCall::Fdatasync { path } => write!(f, "fdatasync {}", OneLine(path)),
            FsCall::Syncfs => f.write_str("syncfs"),
            FsCall::Sync => f.write_str("sync"),
            FsCall::Mkdir { path } => write!(f, "mkdir {}", OneLine(path)),
            FsCall::Rmdir { path } => write!(f, "rmdir {}", OneLine(path)),
            FsCall::Unlink { path } => write!(f, "unlink {}", OneLine(path)),
            FsCall::Link { from, to } => write!(f, "link {} {}", OneLine(from), OneLine(to)),
            FsCall::LinkOpen { from, to } => {
                write!(f, "linkat {} {} AT_EMPTY_PATH", OneLine(from), OneLine(to))
            }
            FsCall::Rename { from, to } => write!(f, "rename {} {}", OneLine(from), OneLine(to)),
            FsCall::RenameNoReplace { from, to } => {
                write!(f, "rename {} {} RENAME_NOREPLACE", OneLine(from), OneLine(to))
            }
            FsCall::Exchange { from, to } => {
                write!(f, "rename {} {} RENAME_EXCHANGE", OneLine(from), OneLine(to))
            }
            FsCall::Symlink { target, path } => {
                write!(f, "symlink {} {}", OneLine(target), OneLine(path))
            }
            FsCall::Chmod { path, mode } => write!(f, "chmod {} {mode:04o}", OneLine(path)),
            FsCall::Setxattr { path, name, value } => {
                write!(f, "setxattr {} {} ({} bytes)", OneLine(path), OneLine(name), value.len())
            }
            FsCall::Removexattr { path, name } => {
                write!(f, "removexattr {} {}", OneLine(path), OneLine(name))
            }
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

/// The flags of open(2), with a space before each.
struct Flags(OpenFlags);

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenFlags { create, exclusive, truncate } = self.0;
        let flags = [(create, "O_CREAT"), (exclusive, "O_EXCL"), (truncate, "O_TRUNC")];
        flags.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, name)| write!(f, " {name}"))
    }
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
