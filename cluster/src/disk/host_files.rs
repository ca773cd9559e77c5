//! The files of a host as its node uses them. Calls of a handler can fail with an I/O error.

use std::cell::Cell;
use std::rc::Rc;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Stat, Synced, WriteFlag,
};
use nix::errno::Errno;

/// The calls of a handler that fail with an I/O error, among those that change or sync files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailingCalls {
    /// No call fails.
    #[default]
    Never,
    /// One call fails, after this many others.
    One(u32),
    /// All calls fail, after this many others.
    From(u32),
}

/// The failures of calls on the files of a host, whichever way they are made.
#[derive(Debug, Default)]
pub struct CallFailures {
    left: Cell<FailingCalls>,
    has_failed: Cell<bool>,
}

impl CallFailures {
    /// Returns the error of the next call that changes or syncs files. Each call asks once.
    pub fn error_of_next(&self) -> Option<Errno> {
        let next = match self.left.get() {
            FailingCalls::Never => return None,
            FailingCalls::One(0) => FailingCalls::Never,
            FailingCalls::From(0) => FailingCalls::From(0),
            FailingCalls::One(left) => return self.later(FailingCalls::One(left - 1)),
            FailingCalls::From(left) => return self.later(FailingCalls::From(left - 1)),
        };
        self.left.set(next);
        self.has_failed.set(true);
        Some(Errno::EIO)
    }

    fn later(&self, left: FailingCalls) -> Option<Errno> {
        self.left.set(left);
        None
    }
}

/// The files of a host.
#[derive(Debug)]
pub struct HostFiles {
    sim: SimFiles,
    failures: Rc<CallFailures>,
}

impl HostFiles {
    /// Returns the files of a host on simulated files.
    pub fn new(sim: SimFiles) -> HostFiles {
        HostFiles { sim, failures: Rc::default() }
    }

    /// Returns the simulated files.
    pub fn sim(&self) -> &SimFiles {
        &self.sim
    }

    /// Returns the failures of calls.
    pub fn failures(&self) -> &Rc<CallFailures> {
        &self.failures
    }

    /// Makes calls fail from now on.
    pub fn fail(&self, calls: FailingCalls) {
        self.failures.left.set(calls);
        self.failures.has_failed.set(false);
    }

    /// Returns true if a call has failed since [`fail`](HostFiles::fail).
    pub fn has_failed(&self) -> bool {
        self.failures.has_failed.get()
    }

    /// Makes a call that changes files, or fails in its place.
    fn change<T>(&self, call: impl FnOnce(&SimFiles) -> Result<T>) -> Result<T> {
        match self.failures.error_of_next() {
            Some(errno) => Err(errno),
            None => call(&self.sim),
        }
    }

    /// Makes a call that syncs. If it fails, so does the write of what it syncs.
    fn sync_call(&self, call: impl FnOnce(&SimFiles) -> Result<()>) -> Result<()> {
        match self.failures.error_of_next() {
            Some(errno) => self.sim.write_back_fails(call).and(Err(errno)),
            None => call(&self.sim),
        }
    }

    /// Opens a file, which changes files only if it makes or empties one.
    fn open_by(
        &self,
        path: &str,
        flags: OpenFlags,
        open: impl FnOnce(&SimFiles) -> Result<Fd>,
    ) -> Result<Fd> {
        let changes = match self.sim.stat(path) {
            Ok(stat) => flags.truncate && stat.size > 0 && !(flags.create && flags.exclusive),
            Err(_) => flags.create,
        };
        if changes { self.change(open) } else { open(&self.sim) }
    }
}

impl Files for HostFiles {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        if self.failures.left.get() == FailingCalls::Never {
            return self.sim.open(path, flags);
        }
        self.open_by(path, flags, |files| files.open(path, flags))
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
        self.sync_call(|files| files.fsync(fd))
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.sync_call(|files| files.fdatasync(fd))
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
        self.sync_call(|files| files.sync_dir(path))
    }

    fn sync(&self) -> Result<()> {
        self.sync_call(SimFiles::sync)
    }

    fn can(&self, ability: FsAbility) -> bool {
        self.sim.can(ability)
    }

    fn open_directory(&self, path: &str) -> Result<Fd> {
        self.sim.open_directory(path)
    }

    fn syncfs(&self) -> Result<()> {
        self.sync_call(SimFiles::syncfs)
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        self.open_by(path, flags, |files| files.open_synced(path, flags, synced))
    }

    fn open_flagged(&self, path: &str, flags: OpenFlags, flag: WriteFlag) -> Result<Fd> {
        self.open_by(path, flags, |files| files.open_flagged(path, flags, flag))
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
