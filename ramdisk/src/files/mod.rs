//! Files: the calls that a checked system may make, and a simulated file system that promises no
//! more than POSIX.

mod allocate;
mod attributes;
mod call;
mod call_text;
mod contents;
mod describe;
mod granule;
mod inode;
mod list;
mod load;
mod mounted;
mod open_files;
mod path;
mod posix;
mod runs;
mod slot;
mod tree;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

pub use call::{FsCall, NAMELESS, WriteMethod};
pub use call_text::CallText;
pub use granule::Granule;
pub use open_files::{OpenFiles, Session};
pub use posix::SimFiles;

/// The result of a file call.
pub type Result<T> = std::result::Result<T, Errno>;

/// An open file of some [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub u32);

/// How to open a file (`open(2)`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct OpenFlags {
    /// Make the file if it is not there (`O_CREAT`).
    pub create: bool,
    /// Fail with `EEXIST` if it is there (`O_EXCL`).
    pub exclusive: bool,
    /// Cut it to nothing (`O_TRUNC`).
    pub truncate: bool,
}

impl OpenFlags {
    /// An existing file, as it is.
    pub const EXISTING: OpenFlags = OpenFlags { create: false, exclusive: false, truncate: false };
    /// The file, made if it is not there.
    pub const CREATE: OpenFlags = OpenFlags { create: true, exclusive: false, truncate: false };
}

/// Which writes through an open file are durable when they return (`open(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Synced {
    /// `O_DSYNC`: as though fdatasync followed each of them.
    Data,
    /// `O_SYNC`: as though fsync followed.
    All,
}

/// What some files can do, and others cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FsAbility {
    /// [`Files::syncfs`].
    Syncfs,
    /// [`Files::open_synced`].
    OpenSynced,
    /// [`Files::write_mapped`].
    Mapped,
    /// They are mounted so that every change is durable when its call returns (`MS_SYNCHRONOUS`).
    Synchronous,
}

/// What kind of node a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. It holds a text, and no path is resolved through it.
    Symlink,
}

/// What `renameat2(2)` does besides giving a node another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Renaming {
    /// The other name must not be there (`RENAME_NOREPLACE`).
    NoReplace,
    /// Both are there, and change places (`RENAME_EXCHANGE`).
    Exchange,
}

/// What `fallocate(2)` does with a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fallocate {
    /// It has blocks, and the file reaches at least to its end.
    Allocate,
    /// It has blocks (`FALLOC_FL_KEEP_SIZE`): nothing of that is seen.
    KeepSize,
    /// It is zeroes, as far as the file reaches (`FALLOC_FL_PUNCH_HOLE`).
    PunchHole,
    /// It is zeroes, and the file reaches at least to its end (`FALLOC_FL_ZERO_RANGE`).
    ZeroRange,
    /// It is gone, and what was behind it comes nearer (`FALLOC_FL_COLLAPSE_RANGE`); whole blocks,
    /// before the end of the file.
    CollapseRange,
    /// As many zeroes are put before it (`FALLOC_FL_INSERT_RANGE`); whole blocks, before the end of
    /// the file.
    InsertRange,
}

/// What `stat(2)` says, as far as checkers ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// The inode number.
    pub inode: u32,
    /// Bytes of a file; 0 for anything else.
    pub size: u64,
    /// Names that lead to it.
    pub links: u32,
}

/// The POSIX calls of a file system under test (EX-96). Paths are absolute, `/` between names;
/// errors are errno values.
///
/// Simulated files implement it, and so can a mounted directory: a checker that sees only this runs
/// on both.
pub trait Files {
    /// Opens a file for reading and writing.
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd>;
    /// Closes it; `EBADF` if it is not open.
    fn close(&self, fd: Fd) -> Result<()>;
    /// Reads at a byte offset; returns how many bytes, fewer than asked for only at the end of the
    /// file.
    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize>;
    /// Writes all of `data` at a byte offset.
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()>;
    /// Sets the size in bytes.
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()>;
    /// Asks about an open file.
    fn fstat(&self, fd: Fd) -> Result<Stat>;
    /// Makes an open file's contents and size durable.
    fn fsync(&self, fd: Fd) -> Result<()>;
    /// Makes an open file's contents durable, and what is needed to read them.
    fn fdatasync(&self, fd: Fd) -> Result<()>;
    /// Asks about a path.
    fn stat(&self, path: &str) -> Result<Stat>;
    /// The names in a directory, in order.
    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>>;
    /// Makes a directory.
    fn mkdir(&self, path: &str) -> Result<()>;
    /// Removes an empty directory.
    fn rmdir(&self, path: &str) -> Result<()>;
    /// Gives a file a second name.
    fn link(&self, from: &str, to: &str) -> Result<()>;
    /// Takes a name away.
    fn unlink(&self, path: &str) -> Result<()>;
    /// Gives a node another name; an existing file or empty directory at `to` is replaced.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// `fsync(2)` of a directory: its names become durable.
    fn sync_dir(&self, path: &str) -> Result<()>;
    /// `sync(2)`: everything becomes durable. Of a file system of the kernel, as `syncfs(2)` does
    /// it.
    fn sync(&self) -> Result<()>;

    /// Can they do this? What they cannot is `EOPNOTSUPP`.
    fn can(&self, _ability: FsAbility) -> bool {
        false
    }
    /// `sync(2)` as it is, of all file systems of the machine.
    fn sync_machine(&self) -> Result<()> {
        self.sync()
    }
    /// `syncfs(2)`: everything in this file system becomes durable.
    fn syncfs(&self) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Opens a file; what is written through it is durable when the write returns.
    fn open_synced(&self, _path: &str, _flags: OpenFlags, _synced: Synced) -> Result<Fd> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Stores `data` at a byte offset through a shared mapping, and `msync(2)` of what was stored
    /// with `MS_SYNC`. `EINVAL` beyond the end of the file.
    fn write_mapped(&self, _fd: Fd, _offset: u64, _data: &[u8]) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    /// `symlink(2)`: makes a symbolic link that holds `target`, which is text like any other.
    fn symlink(&self, _target: &str, _path: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `readlink(2)`; nothing if a crash has left the name alone.
    fn readlink(&self, _path: &str) -> Result<String> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `chmod(2)` of a file or directory: the bits 07777.
    fn chmod(&self, _path: &str, _mode: u32) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// The bits 07777 of a mode; of a new file 0644, of a new directory 0755.
    fn mode(&self, _path: &str) -> Result<u32> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `setxattr(2)` of a file or directory: a new attribute or a new value of one.
    fn setxattr(&self, _path: &str, _name: &str, _value: &[u8]) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `removexattr(2)`; `ENODATA` if it is not there.
    fn removexattr(&self, _path: &str, _name: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// The extended attributes of a file or directory whose names begin with `user.`, names in
    /// order, each with its value.
    fn xattrs(&self, _path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `renameat2(2)`.
    fn rename_with(&self, _from: &str, _to: &str, _how: Renaming) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Makes a file without a name in a directory's file system, and opens it (`O_TMPFILE`).
    fn open_unnamed(&self, _directory: &str) -> Result<Fd> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Gives an open file a name (`linkat(2)`, `AT_EMPTY_PATH`).
    fn link_open(&self, _fd: Fd, _to: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `fallocate(2)`; `offset` and `len` in bytes.
    fn fallocate(&self, _fd: Fd, _how: Fallocate, _offset: u64, _len: u64) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// `FICLONE`: a file that is empty shares the contents of another one.
    fn clone_file(&self, _from: Fd, _to: Fd) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    /// A file's whole contents.
    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let fd = self.open(path, OpenFlags::EXISTING)?;
        let mut bytes = vec![0; self.fstat(fd)?.size as usize];
        let read = self.pread(fd, 0, &mut bytes);
        self.close(fd)?;
        bytes.truncate(read?);
        Ok(bytes)
    }
}
