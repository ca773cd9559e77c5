//! Files: the calls that a checked system may make, and a simulated file system that promises no more than POSIX.

mod contents;
mod granule;
mod inode;
mod list;
mod load;
mod mounted;
mod path;
mod posix;
mod runs;
mod slot;
mod tree;
mod whose;

use nix::errno::Errno;

pub use granule::Granule;
pub use posix::SimFiles;

/// The result of a file call.
pub type Result<T> = std::result::Result<T, Errno>;

/// An open file of some [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub u32);

/// How to open a file (`open(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
pub enum Ability {
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
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// What `stat(2)` says, as far as checkers ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// File or directory.
    pub kind: Kind,
    /// The inode number.
    pub inode: u32,
    /// Bytes of a file; 0 for a directory.
    pub size: u64,
    /// Names that lead to it.
    pub links: u32,
}

/// The POSIX calls of a file system under test (EX-96). Paths are absolute, `/` between names; errors are errno values.
///
/// Simulated files implement it, and so can a mounted directory: a checker that sees only this runs on both.
pub trait Files {
    /// Opens a file for reading and writing.
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd>;
    /// Closes it; `EBADF` if it is not open.
    fn close(&self, fd: Fd) -> Result<()>;
    /// Reads at a byte offset; returns how many bytes, fewer than asked for only at the end of the file.
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
    fn readdir(&self, path: &str) -> Result<Vec<(String, Kind)>>;
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
    /// `sync(2)`: everything becomes durable. Of a file system of the kernel, as `syncfs(2)` does it.
    fn sync(&self) -> Result<()>;

    /// Can they do this? What they cannot is `EOPNOTSUPP`.
    fn can(&self, _ability: Ability) -> bool {
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
    /// Stores `data` at a byte offset through a shared mapping, and `msync(2)` of what was stored with `MS_SYNC`. `EINVAL` beyond
    /// the end of the file.
    fn write_mapped(&self, _fd: Fd, _offset: u64, _data: &[u8]) -> Result<()> {
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
