//! The system calls (EX-96), and how each is made.
//!
//! Only a few sizes and offsets are used. A file is truncated to nothing or to a part of a block,
//! which may also extend it. A block is written at the start of a file or far behind it (EX-97).
//! fallocate changes the first block.

use explode_ramdisk::files::{
    Fallocate, Files, FsCall, NAMELESS, OpenFlags, Result as FilesResult, Session, Synced,
    WriteMethod,
};

use nix::errno::Errno;

use super::BLOCK;
use crate::fs::model::file::File;
use crate::fs::model::pattern;
use crate::fs::model::{Abstract, split};

/// The name of the extended attribute that is set and removed.
pub(super) const XATTR: &str = "user.a";

/// One system call, or a few that belong together. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TopologyCall {
    Ftruncate {
        path: String,
        size: usize,
    },
    Pwrite {
        path: String,
        at: usize,
    },
    Creat {
        path: String,
    },
    Mkdir {
        path: String,
    },
    Unlink {
        path: String,
    },
    Rmdir {
        path: String,
    },
    Link {
        from: String,
        to: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Symlink {
        target: String,
        path: String,
    },
    Chmod {
        path: String,
        mode: u32,
    },
    /// Sets the extended attribute to a value of `len` bytes.
    Setxattr {
        path: String,
        len: usize,
    },
    Removexattr {
        path: String,
    },
    Exchange {
        one: String,
        other: String,
    },
    /// Renames to a name that must not exist.
    RenameNoReplace {
        from: String,
        to: String,
    },
    Fallocate {
        path: String,
        how: Fallocate,
        at: usize,
    },
    /// Makes a file by open with `O_TMPFILE`, pwrite, linkat and close.
    Tmpfile {
        path: String,
    },
    /// Removes an open file that has one name, by open, unlink, pwrite and close.
    UnlinkHeld {
        path: String,
    },
    /// Stores a block at the start of the file through a shared mapping, and calls msync.
    Store {
        path: String,
    },
    /// Empties a file and makes it share the contents of another one.
    Clone {
        from: String,
        to: String,
    },
}

/// The way in which pwrite writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteAt {
    /// By pwrite(2).
    Plain,
    /// By pwrite(2) to a file that was opened with this flag.
    Synced(Synced),
    /// By a store through a shared mapping and msync(2). A file that is too short is extended
    /// first.
    Mapped,
}

impl TopologyCall {
    /// Returns the name of the call in traces.
    pub fn name(&self) -> String {
        match self {
            TopologyCall::Ftruncate { path, size } => format!("ftruncate {path} {size}"),
            TopologyCall::Pwrite { path, at } => format!("pwrite {path} {at}"),
            TopologyCall::Creat { path } => format!("creat {path}"),
            TopologyCall::Mkdir { path } => format!("mkdir {path}"),
            TopologyCall::Unlink { path } => format!("unlink {path}"),
            TopologyCall::Rmdir { path } => format!("rmdir {path}"),
            TopologyCall::Link { from, to } => format!("link {from} {to}"),
            TopologyCall::Rename { from, to } => format!("rename {from} {to}"),
            TopologyCall::Symlink { target, path } if target.len() < 20 => {
                format!("symlink {target} {path}")
            }
            TopologyCall::Symlink { target, path } => {
                format!("symlink ({} bytes) {path}", target.len())
            }
            TopologyCall::Chmod { path, mode } => format!("chmod {path} {mode:o}"),
            TopologyCall::Setxattr { path, len } => {
                format!("setxattr {path} {XATTR} ({len} bytes)")
            }
            TopologyCall::Removexattr { path } => format!("removexattr {path} {XATTR}"),
            TopologyCall::Exchange { one, other } => format!("exchange {one} {other}"),
            TopologyCall::RenameNoReplace { from, to } => format!("rename-noreplace {from} {to}"),
            TopologyCall::Fallocate { path, how, at } => {
                format!("fallocate {path} {} {at} {BLOCK}", word(*how))
            }
            TopologyCall::Tmpfile { path } => format!("tmpfile, pwrite, link {path}"),
            TopologyCall::UnlinkHeld { path } => format!("open, unlink, pwrite {path}"),
            TopologyCall::Store { path } => format!("mmap, store, msync {path}"),
            TopologyCall::Clone { from, to } => format!("clone {from} {to}"),
        }
    }

    /// Returns the bytes that the call writes as write number `version`. They contain the inode,
    /// and no zero.
    pub fn bytes(&self, fs: &Abstract, version: u32) -> Vec<u8> {
        let (inode, at) = match self {
            TopologyCall::Pwrite { path, at } => (fs.find(path), *at),
            TopologyCall::UnlinkHeld { path } | TopologyCall::Store { path } => (fs.find(path), 0),
            TopologyCall::Tmpfile { .. } => (Some(fs.next()), 0),
            _ => return Vec::new(),
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
        use TopologyCall::{Pwrite, Store, Tmpfile, UnlinkHeld};
        matches!(self, Pwrite { .. } | Store { .. } | Tmpfile { .. } | UnlinkHeld { .. })
    }

    /// Returns true if the error only means that the file system does not support the call. Some
    /// file systems have no links (link(2), EPERM). A directory of overlay's lower layer cannot be
    /// renamed (filesystems/overlayfs.rst of the kernel, "Renaming directories": EXDEV).
    pub fn is_refused(&self, errno: Errno) -> bool {
        use TopologyCall::{Exchange, Link, Rename, RenameNoReplace};
        match self {
            Link { .. } => matches!(errno, Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS),
            Rename { .. } | RenameNoReplace { .. } | Exchange { .. } => errno == Errno::EXDEV,
            _ => false,
        }
    }

    /// Returns true if the call changes the contents of a file and no name.
    pub fn is_of_contents(&self) -> bool {
        use TopologyCall::{Clone, Fallocate, Ftruncate, Pwrite, Store};
        matches!(
            self,
            Pwrite { .. } | Ftruncate { .. } | Fallocate { .. } | Store { .. } | Clone { .. }
        )
    }

    /// Returns the calls on files that the call consists of. `bytes` are the bytes to write.
    pub fn calls(&self, bytes: &[u8]) -> Vec<FsCall> {
        let opened = |path: &str, flags| FsCall::Open { path: path.to_owned(), flags };
        let closed = |path: &str| FsCall::Close { path: path.to_owned() };
        let write = |path: &str, at: usize| FsCall::pwrite(path, at as u64, bytes.to_vec());
        let (existing, xattr) = (OpenFlags::EXISTING, || XATTR.to_owned());
        vec![match self.clone() {
            TopologyCall::Ftruncate { path, size } => FsCall::Ftruncate { path, size: size as u64 },
            TopologyCall::Pwrite { path, at } => write(&path, at),
            TopologyCall::Mkdir { path } => FsCall::Mkdir { path },
            TopologyCall::Unlink { path } => FsCall::Unlink { path },
            TopologyCall::Rmdir { path } => FsCall::Rmdir { path },
            TopologyCall::Link { from, to } => FsCall::Link { from, to },
            TopologyCall::Rename { from, to } => FsCall::Rename { from, to },
            TopologyCall::Symlink { target, path } => FsCall::Symlink { target, path },
            TopologyCall::Chmod { path, mode } => FsCall::Chmod { path, mode },
            TopologyCall::Setxattr { path, len } => {
                FsCall::Setxattr { path, name: xattr(), value: value(len) }
            }
            TopologyCall::Removexattr { path } => FsCall::Removexattr { path, name: xattr() },
            TopologyCall::Exchange { one, other } => FsCall::Exchange { from: one, to: other },
            TopologyCall::RenameNoReplace { from, to } => FsCall::RenameNoReplace { from, to },
            TopologyCall::Fallocate { path, how, at } => {
                FsCall::Fallocate { path, mode: how, offset: at as u64, len: BLOCK as u64 }
            }
            TopologyCall::Store { path } => {
                let (data, method) = (bytes.to_vec(), WriteMethod::Mapped);
                FsCall::Pwrite { path, offset: 0, data, method }
            }
            TopologyCall::Creat { path } => {
                let flags = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
                return vec![opened(&path, flags), closed(&path)];
            }
            TopologyCall::Tmpfile { path } => {
                return vec![
                    FsCall::OpenUnnamed { directory: parent(&path).to_owned() },
                    write(NAMELESS, 0),
                    FsCall::LinkOpen { from: NAMELESS.to_owned(), to: path.clone() },
                    closed(&path),
                ];
            }
            TopologyCall::UnlinkHeld { path } => {
                let unlink = FsCall::Unlink { path: path.clone() };
                return vec![opened(&path, existing), unlink, write(NAMELESS, 0), closed(NAMELESS)];
            }
            TopologyCall::Clone { from, to } => {
                return vec![
                    opened(&from, existing),
                    opened(&to, existing),
                    FsCall::Ftruncate { path: to.clone(), size: 0 },
                    FsCall::Clone { from: from.clone(), to: to.clone() },
                    closed(&to),
                    closed(&from),
                ];
            }
        }]
    }

    /// Makes the call on files. `bytes` are the bytes to write.
    pub fn make(&self, files: &dyn Files, bytes: &[u8], write: WriteAt) -> FilesResult<()> {
        let mut calls = self.calls(bytes);
        if let (TopologyCall::Pwrite { path, at }, [FsCall::Pwrite { method, .. }]) =
            (self, &mut calls[..])
        {
            match write {
                WriteAt::Plain => {}
                WriteAt::Synced(synced) => *method = synced.into(),
                WriteAt::Mapped => return store(files, path, *at, bytes),
            }
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
        match self {
            TopologyCall::Creat { path }
            | TopologyCall::Mkdir { path }
            | TopologyCall::Unlink { path }
            | TopologyCall::Rmdir { path }
            | TopologyCall::Symlink { path, .. }
            | TopologyCall::Tmpfile { path }
            | TopologyCall::UnlinkHeld { path } => vec![parent(path)],
            TopologyCall::Link { to, .. } => vec![parent(to)],
            TopologyCall::Rename { from, to }
            | TopologyCall::RenameNoReplace { from, to }
            | TopologyCall::Exchange { one: from, other: to } => {
                let mut both = vec![parent(to), parent(from)];
                both.dedup();
                both
            }
            TopologyCall::Ftruncate { .. }
            | TopologyCall::Pwrite { .. }
            | TopologyCall::Chmod { .. }
            | TopologyCall::Setxattr { .. }
            | TopologyCall::Removexattr { .. }
            | TopologyCall::Fallocate { .. }
            | TopologyCall::Store { .. }
            | TopologyCall::Clone { .. } => Vec::new(),
        }
    }

    /// Returns the paths of the changed objects after the call.
    pub fn objects(&self) -> Vec<&str> {
        match self {
            TopologyCall::Unlink { .. }
            | TopologyCall::Rmdir { .. }
            | TopologyCall::UnlinkHeld { .. } => Vec::new(),
            TopologyCall::Exchange { one, other } => vec![one, other],
            TopologyCall::Ftruncate { path, .. }
            | TopologyCall::Pwrite { path, .. }
            | TopologyCall::Creat { path }
            | TopologyCall::Mkdir { path }
            | TopologyCall::Symlink { path, .. }
            | TopologyCall::Chmod { path, .. }
            | TopologyCall::Setxattr { path, .. }
            | TopologyCall::Removexattr { path }
            | TopologyCall::Fallocate { path, .. }
            | TopologyCall::Tmpfile { path }
            | TopologyCall::Store { path }
            | TopologyCall::Link { to: path, .. }
            | TopologyCall::Rename { to: path, .. }
            | TopologyCall::RenameNoReplace { to: path, .. }
            | TopologyCall::Clone { to: path, .. } => vec![path],
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

/// Returns a value of `len` bytes for the extended attribute.
pub(super) fn value(len: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(len).collect()
}

/// Returns the word for a mode of fallocate.
fn word(how: Fallocate) -> &'static str {
    match how {
        Fallocate::Allocate => "allocate",
        Fallocate::KeepSize => "keep-size",
        Fallocate::PunchHole => "punch-hole",
        Fallocate::ZeroRange => "zero-range",
        Fallocate::CollapseRange => "collapse-range",
        Fallocate::InsertRange => "insert-range",
    }
}

/// Stores bytes through a shared mapping. A file that is too short is extended first.
fn store(files: &dyn Files, path: &str, at: usize, bytes: &[u8]) -> FilesResult<()> {
    let fd = files.open(path, OpenFlags::EXISTING)?;
    let end = (at + bytes.len()) as u64;
    let longer = |size: u64| if size < end { files.ftruncate(fd, end) } else { Ok(()) };
    let stored = files.fstat(fd).and_then(|stat| longer(stat.size));
    let stored = stored.and_then(|()| files.write_mapped(fd, at as u64, bytes));
    files.close(fd).and(stored)
}
