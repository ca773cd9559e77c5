//! The calls of a mounted volume.

use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags, Result, Stat};
use nix::errno::Errno;

use super::ffi::{LfsNode, LfsOpen, LfsVolume};

/// A mounted volume.
pub struct MountedLittleFs(pub LfsVolume);

fn small(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| Errno::EFBIG)
}

impl Files for MountedLittleFs {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        let OpenFlags { create, exclusive, truncate } = flags;
        self.0.open(path, LfsOpen { create, exclusive, truncate }).map(Fd)
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.0.close(fd.0)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.0.read(fd.0, small(offset)?, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.0.write(fd.0, small(offset)?, data)
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.0.truncate(fd.0, small(size)?)
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        Ok(stat(LfsNode::File(self.0.size(fd.0)?)))
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        self.0.sync(fd.0)
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.0.sync(fd.0)
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        self.0.stat(path).map(stat)
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        let kind = |(name, directory)| {
            (name, if directory { FileKind::Directory } else { FileKind::File })
        };
        let mut names: Vec<_> = self.0.list(path)?.into_iter().map(kind).collect();
        names.sort();
        Ok(names)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.0.mkdir(path)
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        match self.0.stat(path)? {
            LfsNode::Directory => self.0.remove(path),
            LfsNode::File(_) => Err(Errno::ENOTDIR),
        }
    }

    fn link(&self, _from: &str, _to: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    fn unlink(&self, path: &str) -> Result<()> {
        match self.0.stat(path)? {
            LfsNode::File(_) => self.0.remove(path),
            LfsNode::Directory => Err(Errno::EISDIR),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.0.rename(from, to)
    }

    /// Checks that the path is a directory. Names are durable when the call that changes them
    /// returns.
    fn sync_dir(&self, path: &str) -> Result<()> {
        match self.0.stat(path)? {
            LfsNode::Directory => Ok(()),
            LfsNode::File(_) => Err(Errno::ENOTDIR),
        }
    }

    fn sync(&self) -> Result<()> {
        self.0.open_files().into_iter().try_for_each(|file| self.0.sync(file))
    }
}

fn stat(node: LfsNode) -> Stat {
    let (kind, size) = match node {
        LfsNode::File(size) => (FileKind::File, size.into()),
        LfsNode::Directory => (FileKind::Directory, 0),
    };
    Stat { kind, inode: 0, size, links: 1 }
}
