//! One call.

use std::fmt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// A call that has changed a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCall {
    /// Which of the stack's file systems, from the bottom.
    pub system: u32,
    /// The number of the inode that it is about.
    pub inode: u64,
    /// The name by which the file was found is gone: only `inode` says which file it is.
    pub nameless: bool,
    /// Where the change is, from the file system's root; a directory for
    /// [`KernelCallKind::CreateNameless`].
    pub path: PathBuf,
    /// Type and permissions of the inode after the call.
    pub mode: u32,
    /// Its user and group.
    pub owner: (u32, u32),
    /// What was done.
    pub what: KernelCallKind,
}

/// What was done; what is said of `path` is said of the inode if it is nameless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelCallKind {
    /// A file was made at `path`.
    Create,
    /// A file without a name was made (`O_TMPFILE`).
    CreateNameless,
    /// A directory was made.
    Mkdir,
    /// A special file was made, with these device numbers.
    Mknod(u32, u32),
    /// A symbolic link was made that holds this.
    Symlink(PathBuf),
    /// The file at `path` got this name, too.
    Link(PathBuf),
    /// A name was taken away.
    Unlink,
    /// A directory was taken away.
    Rmdir,
    /// `path` became this name, with the flags of renameat2(2); the inode that had the name before,
    /// if there was one.
    Rename(PathBuf, u32, Option<u64>),
    /// Bytes were written, the first at this offset.
    Write(u64, Bytes),
    /// fallocate(2): its mode, offset and length.
    Allocate(u32, u64, u64),
    /// Attributes changed.
    Change(AttributeChange),
    /// An extended attribute was set.
    SetAttribute(PathBuf, Bytes),
    /// One was removed.
    RemoveAttribute(PathBuf),
    /// Bytes were found that no call has written: stored through a mapping.
    Store(u64, Bytes),
    /// A shared mapping of a file that is open for writing: it changes nothing yet.
    Map,
    /// A change that cannot be repeated, in words.
    Other(&'static str),
}

/// Which attributes have changed, and to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// The size.
    pub size: Option<u64>,
    /// The mode, or owner or group: what the call says of them.
    pub access: bool,
    /// The times of the last access and of the last change of contents: seconds and nanoseconds.
    pub times: Option<[(i64, u32); 2]>,
}

impl KernelCall {
    /// Is it an operation, which a soft crash can follow?
    pub fn is_operation(&self) -> bool {
        self.what != KernelCallKind::Map
    }
}

/// The name of the operation in the log: all of it but the bytes, of which it has the place.
impl fmt::Display for KernelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelCall { path, mode, owner: (uid, gid), what, .. } = self;
        let (at, permissions) = (CallPath(path), mode & 0o7777);
        match what {
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
            KernelCallKind::Other(what) => write!(f, "{what} {at}"),
        }?;
        if self.nameless { f.write_str(" (its name is gone)") } else { Ok(()) }
    }
}

/// A path with the slash that it has in its file system.
struct CallPath<'a>(&'a Path);

impl fmt::Display for CallPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.display())
    }
}
