//! A call that has changed a file system.

use std::fmt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// A call that has changed a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCall {
    /// The number of the file system in the stack, from the bottom.
    pub system: u32,
    /// The number of the changed inode.
    pub inode: u64,
    /// True if the name of the file is gone, so that only `inode` identifies it.
    pub nameless: bool,
    /// The path of the change, from the root of the file system. A directory for
    /// [`KernelCallKind::CreateNameless`].
    pub path: PathBuf,
    /// The type and permissions of the inode after the call.
    pub mode: u32,
    /// The user and group of the inode after the call.
    pub owner: (u32, u32),
    /// The operation.
    pub kind: KernelCallKind,
}

/// The operation of a call. If the call is nameless, `path` below means the inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelCallKind {
    /// A file was made at `path`.
    Create,
    /// A file without a name was made (`O_TMPFILE`).
    CreateNameless,
    /// A directory was made.
    Mkdir,
    /// A special file was made with this major and minor number.
    Mknod(u32, u32),
    /// A symbolic link with this target was made.
    Symlink(PathBuf),
    /// The file at `path` got this additional name.
    Link(PathBuf),
    /// A name was removed.
    Unlink,
    /// A directory was removed.
    Rmdir,
    /// `path` was renamed to this name, with the flags of renameat2(2). The last field is the inode
    /// that had the name before. `None` if the name was free.
    Rename(PathBuf, u32, Option<u64>),
    /// Bytes were written from this offset on.
    Write(u64, Bytes),
    /// fallocate(2): its mode, offset and length.
    Allocate(u32, u64, u64),
    /// Attributes changed.
    Change(AttributeChange),
    /// An extended attribute was set.
    SetAttribute(PathBuf, Bytes),
    /// An extended attribute was removed.
    RemoveAttribute(PathBuf),
    /// Bytes that no call has written were found from this offset on. They were stored through a
    /// mapping.
    Store(u64, Bytes),
    /// A file that is open for writing was mapped shared. This changes nothing yet.
    Map,
    /// A change that cannot be repeated, described in words.
    Other(&'static str),
}

/// The changed attributes and their new values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// The new size. `None` if it did not change.
    pub size: Option<u64>,
    /// True if the mode, owner or group changed. The call has their new values.
    pub access: bool,
    /// The times of the last access and of the last change of contents, in seconds and nanoseconds.
    /// `None` if they did not change.
    pub times: Option<[(i64, u32); 2]>,
}

impl KernelCall {
    /// Returns true if the call is an operation that a soft crash can follow.
    pub fn is_operation(&self) -> bool {
        self.kind != KernelCallKind::Map
    }
}

/// Writes the name of the operation in the log: the whole call, with offset and length instead of
/// the bytes.
impl fmt::Display for KernelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelCall { path, mode, owner: (uid, gid), kind, .. } = self;
        let (at, permissions) = (CallPath(path), mode & 0o7777);
        match kind {
            KernelCallKind::Create => write!(f, "create {at} {permissions:o}"),
            KernelCallKind::CreateNameless => write!(f, "create nameless in {at} {permissions:o}"),
            KernelCallKind::Mkdir => write!(f, "mkdir {at} {permissions:o}"),
            KernelCallKind::Mknod(major, minor) => write!(f, "mknod {at} {mode:o} {major}:{minor}"),
            KernelCallKind::Symlink(holds) => write!(f, "symlink {at} to {}", holds.display()),
            KernelCallKind::Link(name) => write!(f, "link {at} {}", CallPath(name)),
            KernelCallKind::Unlink => write!(f, "unlink {at}"),
            KernelCallKind::Rmdir => write!(f, "rmdir {at}"),
            KernelCallKind::Rename(name, 0, _) => write!(f, "rename {at} {}", CallPath(name)),
            KernelCallKind::Rename(name, flags, _) => {
                write!(f, "rename {at} {} flags {flags}", CallPath(name))
            }
            KernelCallKind::Write(offset, data) => write!(f, "write {at} {offset}+{}", data.len()),
            KernelCallKind::Store(offset, data) => write!(f, "store {at} {offset}+{}", data.len()),
            KernelCallKind::Allocate(mode, offset, len) => {
                write!(f, "fallocate {at} {offset}+{len} mode {mode}")
            }
            KernelCallKind::Change(AttributeChange { size, access, times }) => {
                f.write_str("change")?;
                size.map_or(Ok(()), |size| write!(f, " size {size}"))?;
                if *access {
                    write!(f, " access {uid}:{gid} {permissions:o}")?;
                }
                times.map_or(Ok(()), |[(atime, _), (mtime, _)]| {
                    write!(f, " times {atime} {mtime}")
                })?;
                write!(f, " {at}")
            }
            KernelCallKind::SetAttribute(name, value) => {
                write!(f, "setxattr {at} {}+{}", name.display(), value.len())
            }
            KernelCallKind::RemoveAttribute(name) => {
                write!(f, "removexattr {at} {}", name.display())
            }
            KernelCallKind::Map => write!(f, "mmap {at}"),
            KernelCallKind::Other(text) => write!(f, "{text} {at}"),
        }?;
        if self.nameless { f.write_str(" (its name is gone)") } else { Ok(()) }
    }
}

/// A path with the leading slash of its file system.
struct CallPath<'a>(&'a Path);

impl fmt::Display for CallPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.display())
    }
}
