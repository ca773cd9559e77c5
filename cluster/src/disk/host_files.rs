//! The files of a host as its node uses them. One call of a handler can fail with an I/O error.

use std::cell::Cell;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Stat, Synced, WriteFlag,
};
use nix::errno::Errno;

/// The files of a host.
#[derive(Debug)]
pub struct HostFiles {
    sim: SimFiles,
    /// The number of calls that change files until one fails. `None` if none fails.
    fails_in: Cell<Option<u32>>,
    /// True if a call has failed in the running handler.
    has_failed: Cell<bool>,
}

impl HostFiles {
    /// Returns the files of a host on simulated files.
    pub fn new(sim: SimFiles) -> HostFiles {
        HostFiles { sim, fails_in: Cell::new(None), has_failed: Cell::new(false) }
    }

    /// Returns the simulated files.
    pub fn sim(&self) -> &SimFiles {
        &self.sim
    }

    /// Makes the call fail that changes files after `calls` others. `None` for none.
    pub fn fail_in(&self, calls: Option<u32>) {
        self.fails_in.set(calls);
        self.has_failed.set(false);
    }

    /// Returns true if a call has failed since [`fail_in`](HostFiles::fail_in).
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Makes a call that changes files, or fails in its place.
    fn change<T>(&self, call: impl FnOnce(&SimFiles) -> Result<T>) -> Result<T> {
        match self.fails_in.get() {
            Some(0) => {
                self.fails_in.set(None);
                self.has_failed.set(true);
                return Err(Errno::EIO);
            }
            Some(left) => self.fails_in.set(Some(left - 1)),
            None => {}
        }
        call(&self.sim)
    }
}

impl Files for HostFiles {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        if flags.create || flags.truncate {
            return self.change(|files| files.open(path, flags));
        }
        self.sim.open(path, flags)
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.sim.close(fd)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.sim.pread(fd, offset, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.change(|files| files.pwrite(fd, offset, data))
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.change(|files| files.ftruncate(fd, size))
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.sim.fstat(fd)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        self.change(|files| files.fsync(fd))
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.change(|files| files.fdatasync(fd))
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        self.sim.stat(path)
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        self.sim.readdir(path)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.change(|files| files.mkdir(path))
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.change(|files| files.rmdir(path))
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.change(|files| files.link(from, to))
    }

    fn unlink(&self, path: &str) -> Result<()> {
        self.change(|files| files.unlink(path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.change(|files| files.rename(from, to))
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.change(|files| files.sync_dir(path))
    }

    fn sync(&self) -> Result<()> {
        self.change(SimFiles::sync)
    }

    fn can(&self, ability: FsAbility) -> bool {
        self.sim.can(ability)
    }

    fn open_directory(&self, path: &str) -> Result<Fd> {
        self.sim.open_directory(path)
    }

    fn syncfs(&self) -> Result<()> {
        self.change(SimFiles::syncfs)
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        self.change(|files| files.open_synced(path, flags, synced))
    }

    fn open_flagged(&self, path: &str, flags: OpenFlags, flag: WriteFlag) -> Result<Fd> {
        self.change(|files| files.open_flagged(path, flags, flag))
    }

    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.change(|files| files.write_mapped(fd, offset, data))
    }

    fn symlink(&self, target: &str, path: &str) -> Result<()> {
        self.change(|files| files.symlink(target, path))
    }

    fn readlink(&self, path: &str) -> Result<String> {
        self.sim.readlink(path)
    }

    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        self.change(|files| files.chmod(path, mode))
    }

    fn mode(&self, path: &str) -> Result<u32> {
        self.sim.mode(path)
    }

    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        self.change(|files| files.setxattr(path, name, value))
    }

    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        self.change(|files| files.removexattr(path, name))
    }

    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.sim.xattrs(path)
    }

    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        self.change(|files| files.rename_with(from, to, how))
    }

    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        self.change(|files| files.open_unnamed(directory))
    }

    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        self.change(|files| files.link_open(fd, to))
    }

    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        self.change(|files| files.fallocate(fd, how, offset, len))
    }

    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        self.change(|files| files.clone_file(from, to))
    }

    fn copy_range(&self, from: Fd, to: Fd, offset: u64, len: u64) -> Result<()> {
        self.change(|files| files.copy_range(from, to, offset, len))
    }
}
