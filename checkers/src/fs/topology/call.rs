//! The system calls (EX-96), and how each is made.
//!
//! Only a few sizes and offsets are used. A file is truncated to nothing or to a part of a block,
//! which may also extend it. A block is written at the start of a file or far after it (EX-97).
//! fallocate changes the first block.

use explode_ramdisk::files::{
    Fallocate, Files, FsCall, NAMELESS, OpenFlags, Result as FilesResult, Session, WriteMethod,
};
use nix::errno::Errno;

use super::BLOCK;
use crate::fs::model::file::File;
use crate::fs::model::pattern;
use crate::fs::model::{Abstract, split};

/// The name of the extended attribute that is set and removed.
pub(super) const XATTR: &str = "user.a";

/// A step of the generic core: one [`FsCall`], or one of three short lists of them.
///
/// The lists are variants of their own because an `FsCall` is one system call. In the middle of a
/// list a file is open without a name, or emptied; that tree is neither compared nor a state from
/// which other calls continue. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TopologyCall {
    /// One call. [`FsCall::Open`] makes a file and closes it. [`FsCall::Pwrite`] writes a block and
    /// has no data, because the bytes depend on the number of writes before it
    /// ([`bytes`](TopologyCall::bytes)).
    One(FsCall),
    /// Makes a file by open with `O_TMPFILE`, pwrite, linkat and close.
    Tmpfile { path: String },
    /// Removes an open file that has one name, by open, unlink, pwrite and close.
    UnlinkHeld { path: String },
    /// Empties a file and makes it share the contents of another one.
    Clone { from: String, to: String },
}

impl From<FsCall> for TopologyCall {
    fn from(call: FsCall) -> TopologyCall {
        TopologyCall::One(call)
    }
}

impl TopologyCall {
    /// Returns the call that makes a file.
    pub fn creat(path: &str) -> TopologyCall {
        let flags = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
        TopologyCall::One(FsCall::Open { path: path.to_owned(), flags })
    }

    /// Returns the call that writes a block at an offset.
    pub fn pwrite(path: &str, at: usize) -> TopologyCall {
        TopologyCall::One(FsCall::pwrite(path, at as u64, Vec::new()))
    }

    /// Returns the call that writes a block at an offset by a method other than the plain one.
    pub fn write(path: &str, at: usize, method: WriteMethod) -> TopologyCall {
        let path = path.to_owned();
        TopologyCall::One(FsCall::Pwrite { path, offset: at as u64, data: Vec::new(), method })
    }

    /// Returns the call that opens a file with `O_TRUNC`.
    pub fn truncate(path: &str) -> TopologyCall {
        let flags = OpenFlags { truncate: true, ..OpenFlags::EXISTING };
        TopologyCall::One(FsCall::Open { path: path.to_owned(), flags })
    }

    /// Returns the call that copies the first block of a file to the start of another one.
    pub fn copy(from: &str, to: &str) -> TopologyCall {
        let (from, to) = (from.to_owned(), to.to_owned());
        TopologyCall::One(FsCall::CopyRange { from, to, offset: 0, len: BLOCK as u64 })
    }

    /// Returns the call that stores a block at the start of a file through a shared mapping, and
    /// calls msync. The file has a block at least.
    pub fn store(path: &str) -> TopologyCall {
        let (path, method) = (path.to_owned(), WriteMethod::Mapped);
        TopologyCall::One(FsCall::Pwrite { path, offset: 0, data: Vec::new(), method })
    }

    /// Returns the call that sets the extended attribute to a value of `len` bytes.
    pub fn setxattr(path: &str, len: usize) -> TopologyCall {
        let value = (b'a'..=b'z').cycle().take(len).collect();
        let (path, name) = (path.to_owned(), XATTR.to_owned());
        TopologyCall::One(FsCall::Setxattr { path, name, value })
    }

    /// Returns the call that removes the extended attribute.
    pub fn removexattr(path: &str) -> TopologyCall {
        let (path, name) = (path.to_owned(), XATTR.to_owned());
        TopologyCall::One(FsCall::Removexattr { path, name })
    }

    /// Returns the call of fallocate(2) on the block at an offset.
    pub fn fallocate(path: &str, mode: Fallocate, at: usize) -> TopologyCall {
        let (path, offset, len) = (path.to_owned(), at as u64, BLOCK as u64);
        TopologyCall::One(FsCall::Fallocate { path, mode, offset, len })
    }

    /// Returns the name of the call in traces.
    pub fn name(&self) -> String {
        use FsCall::{
            Chmod, CopyRange, Exchange, Fallocate, Open, Pwrite, RenameNoReplace, Symlink,
        };
        match self {
            TopologyCall::One(call) => match call {
                Open { path, flags } if flags.truncate => format!("open O_TRUNC {path}"),
                Open { path, .. } => format!("creat {path}"),
                Pwrite { path, method: WriteMethod::Mapped, .. } => {
                    format!("mmap, store, msync {path}")
                }
                Pwrite { offset, .. } => {
                    let text = call.text();
                    format!("{} {offset} {}", text.head, text.tail).trim_end().to_owned()
                }
                CopyRange { from, to, .. } => format!("copy_file_range {from} {to}"),
                Fallocate { offset, len, .. } => format!("{} {offset} {len}", call.text().head),
                Symlink { target, path } if target.len() >= 20 => {
                    format!("symlink ({} bytes) {path}", target.len())
                }
                Chmod { path, mode } => format!("chmod {path} {mode:o}"),
                Exchange { from, to } => format!("exchange {from} {to}"),
                RenameNoReplace { from, to } => format!("rename-noreplace {from} {to}"),
                _ => call.to_string(),
            },
            TopologyCall::Tmpfile { path } => format!("tmpfile, pwrite, link {path}"),
            TopologyCall::UnlinkHeld { path } => format!("open, unlink, pwrite {path}"),
            TopologyCall::Clone { from, to } => format!("clone {from} {to}"),
        }
    }

    /// Returns the bytes that the call writes as write number `version`. They contain the inode,
    /// and no zero.
    pub fn bytes(&self, fs: &Abstract, version: u32) -> Vec<u8> {
        let (inode, at) = match self {
            TopologyCall::One(FsCall::Pwrite { path, offset, .. }) => {
                (fs.find(path), *offset as usize)
            }
            TopologyCall::UnlinkHeld { path } => (fs.find(path), 0),
            TopologyCall::Tmpfile { .. } => (Some(fs.next()), 0),
            TopologyCall::One(_) | TopologyCall::Clone { .. } => return Vec::new(),
        };
        pattern::pattern(
            char::from(b'a' + (inode.unwrap_or_default() % 26) as u8),
            version,
            at,
            BLOCK,
        )
    }

    /// Returns true if the call writes data.
    pub fn writes(&self) -> bool {
        use TopologyCall::{One, Tmpfile, UnlinkHeld};
        matches!(self, One(FsCall::Pwrite { .. }) | Tmpfile { .. } | UnlinkHeld { .. })
    }

    /// Returns true if the error only means that the file system does not support the call. Some
    /// file systems have no links (link(2), EPERM). A directory of overlay's lower layer cannot be
    /// renamed (filesystems/overlayfs.rst of the kernel, "Renaming directories": EXDEV).
    pub fn is_refused(&self, errno: Errno) -> bool {
        use FsCall::{Exchange, Link, Rename, RenameNoReplace};
        let TopologyCall::One(call) = self else { return false };
        match call {
            Link { .. } => matches!(errno, Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS),
            Rename { .. } | RenameNoReplace { .. } | Exchange { .. } => errno == Errno::EXDEV,
            _ => false,
        }
    }

    /// Returns true if the call changes the contents of a file and no name.
    pub fn is_of_contents(&self) -> bool {
        use FsCall::{CopyRange, Fallocate, Ftruncate, Pwrite};
        match self {
            TopologyCall::One(call) => {
                let truncates = matches!(call, FsCall::Open { flags, .. } if flags.truncate);
                truncates
                    || matches!(
                        call,
                        Pwrite { .. } | Ftruncate { .. } | Fallocate { .. } | CopyRange { .. }
                    )
            }
            TopologyCall::Clone { .. } => true,
            TopologyCall::Tmpfile { .. } | TopologyCall::UnlinkHeld { .. } => false,
        }
    }

    /// Returns the calls on files that the call consists of. `bytes` are the bytes to write.
    pub fn calls(&self, bytes: &[u8]) -> Vec<FsCall> {
        let opened =
            |path: &str| FsCall::Open { path: path.to_owned(), flags: OpenFlags::EXISTING };
        let closed = |path: &str| FsCall::Close { path: path.to_owned() };
        let write = |path: &str| FsCall::pwrite(path, 0, bytes.to_vec());
        match self {
            TopologyCall::One(FsCall::Pwrite { path, offset, method, .. }) => {
                let (path, data) = (path.clone(), bytes.to_vec());
                vec![FsCall::Pwrite { path, offset: *offset, data, method: *method }]
            }
            TopologyCall::One(open @ FsCall::Open { path, .. }) => {
                vec![open.clone(), closed(path)]
            }
            TopologyCall::One(call) => vec![call.clone()],
            TopologyCall::Tmpfile { path } => vec![
                FsCall::OpenUnnamed { directory: parent(path).to_owned() },
                write(NAMELESS),
                FsCall::LinkOpen { from: NAMELESS.to_owned(), to: path.clone() },
                closed(path),
            ],
            TopologyCall::UnlinkHeld { path } => {
                let unlink = FsCall::Unlink { path: path.clone() };
                vec![opened(path), unlink, write(NAMELESS), closed(NAMELESS)]
            }
            TopologyCall::Clone { from, to } => vec![
                opened(from),
                opened(to),
                FsCall::Ftruncate { path: to.clone(), size: 0 },
                FsCall::Clone { from: from.clone(), to: to.clone() },
                closed(to),
                closed(from),
            ],
        }
    }

    /// Makes the call on files. `bytes` are the bytes to write. A plain pwrite writes by `method`.
    /// Through a mapping, a file that is too short is extended first.
    pub fn make(&self, files: &dyn Files, bytes: &[u8], method: WriteMethod) -> FilesResult<()> {
        let mut calls = self.calls(bytes);
        if let [FsCall::Pwrite { path, offset, method: how @ WriteMethod::Plain, .. }] =
            &mut calls[..]
        {
            if method == WriteMethod::Mapped {
                return store(files, path, *offset, bytes);
            }
            *how = method;
        }
        let mut session = Session::new(files);
        calls.iter().try_for_each(|call| session.make(call))
    }

    /// Applies the call to the abstract file system.
    ///
    /// # Panics
    /// If the call is not one of [`possible`](TopologyCall::possible).
    pub fn apply(&self, fs: &mut Abstract, bytes: &[u8]) {
        self.calls(bytes).iter().for_each(|call| fs.apply(call));
    }

    /// Applies the call to the model of its file. `after` is the contents of the file after the
    /// call.
    pub fn change(&self, file: &mut File, after: &[u8]) {
        for call in self.calls(&[0; BLOCK]) {
            file.follow(&call, after);
        }
    }

    /// Returns the directories whose names the call changes, the new one first. Empty if the call
    /// changes no name.
    pub fn directories(&self) -> Vec<&str> {
        use FsCall::{
            Exchange, Link, Mkdir, Open, Rename, RenameNoReplace, Rmdir, Symlink, Unlink,
        };
        match self {
            TopologyCall::One(Open { flags, .. }) if flags.truncate => Vec::new(),
            TopologyCall::One(
                Open { path, .. }
                | Mkdir { path }
                | Unlink { path }
                | Rmdir { path }
                | Symlink { path, .. }
                | Link { to: path, .. },
            )
            | TopologyCall::Tmpfile { path }
            | TopologyCall::UnlinkHeld { path } => vec![parent(path)],
            TopologyCall::One(
                Rename { from, to } | RenameNoReplace { from, to } | Exchange { from, to },
            ) => {
                let mut both = vec![parent(to), parent(from)];
                both.dedup();
                both
            }
            TopologyCall::One(_) | TopologyCall::Clone { .. } => Vec::new(),
        }
    }

    /// Returns the paths of the changed objects after the call.
    pub fn objects(&self) -> Vec<&str> {
        use FsCall::{Exchange, Rmdir, Unlink};
        match self {
            TopologyCall::One(Unlink { .. } | Rmdir { .. }) | TopologyCall::UnlinkHeld { .. } => {
                Vec::new()
            }
            TopologyCall::One(call @ Exchange { .. }) => call.paths(),
            TopologyCall::One(call) => call.paths().pop().into_iter().collect(),
            TopologyCall::Tmpfile { path } | TopologyCall::Clone { to: path, .. } => vec![path],
        }
    }
}

/// Returns the directory of a path.
fn parent(path: &str) -> &str {
    match split(path).0 {
        "" => "/",
        parent => parent,
    }
}

/// Stores bytes through a shared mapping. A file that is too short is extended first.
fn store(files: &dyn Files, path: &str, at: u64, bytes: &[u8]) -> FilesResult<()> {
    let fd = files.open(path, OpenFlags::EXISTING)?;
    let end = at + bytes.len() as u64;
    let longer = |size: u64| if size < end { files.ftruncate(fd, end) } else { Ok(()) };
    let stored = files.fstat(fd).and_then(|stat| longer(stat.size));
    let stored = stored.and_then(|()| files.write_mapped(fd, at, bytes));
    files.close(fd).and(stored)
}
