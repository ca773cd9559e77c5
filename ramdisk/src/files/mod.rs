//! The file calls of a checked system, and a simulated file system that gives no guarantee beyond
//! POSIX.

mod access;
mod allocate;
mod attributes;
mod call;
mod call_text;
mod clock;
mod contents;
mod describe;
mod granule;
mod inode;
mod journal;
mod list;
mod load;
mod model;
mod mounted;
mod nodes;
mod open_files;
mod path;
mod posix;
mod program_files;
mod runs;
mod slot;
mod tree;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

pub use access::Access;
pub use call::{FsCall, NAMELESS, REMOVED_DIRECTORY, WriteMethod};
pub use call_text::CallText;
pub use clock::FileTimes;
pub use granule::Granule;
pub(crate) use journal::{journal_of, replayed};
pub(crate) use load::names_of_inodes;
pub use model::FileModel;
pub use nodes::{Entry, FileNode, NewNode};
pub use open_files::{OpenFiles, Session};
pub use posix::SimFiles;
pub use program_files::{CallRecorder, NewTime, NodeChange, ProgramFiles, TimedNode};

/// The result of a file call.
pub type Result<T> = std::result::Result<T, Errno>;

/// An open file of some [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub u32);

/// The flags for opening a file (`open(2)`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct OpenFlags {
    /// True if a missing file is created (`O_CREAT`).
    pub create: bool,
    /// True if the call fails with `EEXIST` when the file exists (`O_EXCL`).
    pub exclusive: bool,
    /// True if the file is truncated to size 0 (`O_TRUNC`).
    pub truncate: bool,
}

impl OpenFlags {
    /// Opens an existing file without changes.
    pub const EXISTING: OpenFlags = OpenFlags { create: false, exclusive: false, truncate: false };
    /// Opens a file, and creates it if it does not exist.
    pub const CREATE: OpenFlags = OpenFlags { create: true, exclusive: false, truncate: false };
}

/// The durability of writes through an open file (`open(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Synced {
    /// `O_DSYNC`: each write is durable when it returns, as if fdatasync followed.
    Data,
    /// `O_SYNC`: each write is durable when it returns, as if fsync followed.
    All,
}

/// A flag of `open(2)` that changes the way in which a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteFlag {
    /// `O_APPEND`: each write goes to the end of the file.
    Append,
    /// `O_DIRECT`: writes do not use the page cache. Offsets and lengths are multiples of 512.
    Direct,
}

/// An ability that some implementations of [`Files`] have and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FsAbility {
    /// [`Files::syncfs`].
    Syncfs,
    /// [`Files::open_synced`].
    OpenSynced,
    /// [`Files::write_mapped`].
    Mapped,
    /// [`Files::open_directory`].
    OpenDirectory,
    /// The files are mounted so that every change is durable when its call returns
    /// (`MS_SYNCHRONOUS`).
    Synchronous,
}

/// The kind of node that a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Its target is text, and no path is resolved through it.
    Symlink,
}

/// The mode of a `renameat2(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Renaming {
    /// The new name must not exist (`RENAME_NOREPLACE`).
    NoReplace,
    /// Both names exist and are exchanged (`RENAME_EXCHANGE`).
    Exchange,
}

/// The operation of `fallocate(2)` on a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fallocate {
    /// Allocates blocks for the range, and extends the file to its end.
    Allocate,
    /// Allocates blocks for the range without a visible change (`FALLOC_FL_KEEP_SIZE`).
    KeepSize,
    /// Fills the part of the range before the end of the file with zeroes (`FALLOC_FL_PUNCH_HOLE`).
    PunchHole,
    /// Fills the range with zeroes, and extends the file to its end (`FALLOC_FL_ZERO_RANGE`).
    ZeroRange,
    /// Removes the range and moves the bytes after it to its start (`FALLOC_FL_COLLAPSE_RANGE`).
    /// The range is whole blocks before the end of the file.
    CollapseRange,
    /// Inserts a range of zeroes and moves the bytes from its start on after it
    /// (`FALLOC_FL_INSERT_RANGE`). The range is whole blocks and begins before the end of the file.
    InsertRange,
}

/// The fields of `stat(2)` that checkers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kind of node.
    pub kind: FileKind,
    /// The inode number.
    pub inode: u32,
    /// The size of a file in bytes. 0 for any other kind.
    pub size: u64,
    /// The number of names that lead to the node.
    pub links: u32,
}

/// The POSIX calls of a file system under test (EX-96). Paths are absolute, with `/` between names.
/// Errors are errno values.
///
/// Simulated files implement it, and a mounted directory can implement it. A checker that uses only
/// this trait runs on both.
pub trait Files {
    /// Opens a file for reading and writing.
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd>;
    /// Closes an open file. `EBADF` if it is not open.
    fn close(&self, fd: Fd) -> Result<()>;
    /// Reads at a byte offset. Returns the number of bytes, which is smaller than `buf` only at the
    /// end of the file.
    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize>;
    /// Writes all of `data` at a byte offset.
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()>;
    /// Sets the size in bytes.
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()>;
    /// Returns the status of an open file.
    fn fstat(&self, fd: Fd) -> Result<Stat>;
    /// Makes an open file's contents and size durable, or the names in an open directory.
    fn fsync(&self, fd: Fd) -> Result<()>;
    /// Makes an open file's contents durable, with the metadata that is needed to read them.
    fn fdatasync(&self, fd: Fd) -> Result<()>;
    /// Returns the status of a path.
    fn stat(&self, path: &str) -> Result<Stat>;
    /// Returns the names in a directory in order, each with the kind of its node.
    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>>;
    /// Makes a directory.
    fn mkdir(&self, path: &str) -> Result<()>;
    /// Removes an empty directory.
    fn rmdir(&self, path: &str) -> Result<()>;
    /// Gives a file a second name.
    fn link(&self, from: &str, to: &str) -> Result<()>;
    /// Removes a name.
    fn unlink(&self, path: &str) -> Result<()>;
    /// Renames a node. An existing file or empty directory at `to` is replaced.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Makes the names in a directory durable (`fsync(2)` of the directory).
    fn sync_dir(&self, path: &str) -> Result<()>;
    /// Makes everything durable: `sync(2)`, or `syncfs(2)` on a file system of the kernel.
    fn sync(&self) -> Result<()>;

    /// Returns true if the files have an ability. Calls that need a missing ability return
    /// `EOPNOTSUPP`.
    fn can(&self, _ability: FsAbility) -> bool {
        false
    }
    /// Opens a directory. Only [`fsync`](Files::fsync), [`fstat`](Files::fstat) and
    /// [`close`](Files::close) are possible on it.
    fn open_directory(&self, _path: &str) -> Result<Fd> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Calls `sync(2)`, which makes all file systems of the machine durable.
    fn sync_machine(&self) -> Result<()> {
        self.sync()
    }
    /// Makes everything in this file system durable (`syncfs(2)`).
    fn syncfs(&self) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Opens a file so that each write through it is durable when it returns.
    fn open_synced(&self, _path: &str, _flags: OpenFlags, _synced: Synced) -> Result<Fd> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Opens a file that is written with a flag. The offset of a write with `O_APPEND` must be the
    /// size of the file.
    fn open_flagged(&self, _path: &str, _flags: OpenFlags, _flag: WriteFlag) -> Result<Fd> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Stores `data` at a byte offset through a shared mapping, then calls `msync(2)` with
    /// `MS_SYNC` on the range. `EINVAL` beyond the end of the file.
    fn write_mapped(&self, _fd: Fd, _offset: u64, _data: &[u8]) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    /// Makes a symbolic link with any text as its `target` (`symlink(2)`).
    fn symlink(&self, _target: &str, _path: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Returns the target of a symbolic link (`readlink(2)`). An empty text if a crash has kept the
    /// name and lost the target.
    fn readlink(&self, _path: &str) -> Result<String> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Sets the bits 07777 of the mode of a file or directory (`chmod(2)`).
    fn chmod(&self, _path: &str, _mode: u32) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Returns the bits 07777 of a mode. 0644 for a new file, 0755 for a new directory.
    fn mode(&self, _path: &str) -> Result<u32> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Sets an extended attribute of a file or directory, new or existing (`setxattr(2)`).
    fn setxattr(&self, _path: &str, _name: &str, _value: &[u8]) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Removes an extended attribute (`removexattr(2)`). `ENODATA` if there is no such attribute.
    fn removexattr(&self, _path: &str, _name: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Returns the extended attributes of a file or directory whose names begin with `user.`, in
    /// order of names, each with its value.
    fn xattrs(&self, _path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Renames with a mode (`renameat2(2)`).
    fn rename_with(&self, _from: &str, _to: &str, _how: Renaming) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Opens a new file without a name in the file system of a directory (`O_TMPFILE`).
    fn open_unnamed(&self, _directory: &str) -> Result<Fd> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Gives an open file a name (`linkat(2)`, `AT_EMPTY_PATH`).
    fn link_open(&self, _fd: Fd, _to: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Changes a range of a file (`fallocate(2)`). `offset` and `len` are in bytes.
    fn fallocate(&self, _fd: Fd, _how: Fallocate, _offset: u64, _len: u64) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Makes an empty file share the contents of another one (`FICLONE`).
    fn clone_file(&self, _from: Fd, _to: Fd) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Copies a range of a file to the same place in another one (`copy_file_range(2)`). `offset`
    /// and `len` are in bytes. `EINVAL` if the range reaches beyond the end of `from`.
    fn copy_range(&self, _from: Fd, _to: Fd, _offset: u64, _len: u64) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns the whole contents of a file.
    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let fd = self.open(path, OpenFlags::EXISTING)?;
        let mut bytes = vec![0; self.fstat(fd)?.size as usize];
        let read = self.pread(fd, 0, &mut bytes);
        self.close(fd)?;
        bytes.truncate(read?);
        Ok(bytes)
    }
}
