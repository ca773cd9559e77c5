//! The files of a host as its node uses them.

use std::rc::Rc;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Stat, Synced, WriteFlag,
};

use super::calls::{HostCalls, rename_in_words, sync_in_words};

/// The name of everything in stories.
const ALL: &str = "everything";

/// The files of a host.
#[derive(Debug)]
pub struct HostFiles {
    sim: SimFiles,
    calls: Rc<HostCalls>,
}

impl HostFiles {
    /// Returns the files of a host on simulated files.
    pub fn new(sim: SimFiles) -> HostFiles {
        {
            let calls = Rc::new(HostCalls::new(sim.storage()));
            HostFiles { sim, calls }
        }
    }

    /// Returns the simulated files.
    pub fn sim(&self) -> &SimFiles {
        &self.sim
    }

    /// Returns the calls.
    pub fn calls(&self) -> &Rc<HostCalls> {
        &self.calls
    }

    /// Makes a call that changes files, or fails in its place.
    fn change<T>(&self, call: impl FnOnce(&SimFiles) -> Result<T>) -> Result<T> {
        match self.calls.error_of_next() {
            Some(errno) => Err(errno),
            None => call(&self.sim),
        }
    }

    /// Makes a call that syncs what `path` returns. If it fails, so does the write of that.
    fn sync_call(
        &self,
        path: impl FnOnce() -> Option<String>,
        call: impl FnOnce(&SimFiles) -> Result<()>,
    ) -> Result<()> {
        let text = || path().map(|path| sync_in_words(&path));
        self.calls.noted(text, || match self.calls.error_of_next() {
            Some(errno) => self.sim.write_back_fails(call).and(Err(errno)),
            None => call(&self.sim),
        })
    }

    fn path_of(&self, fd: Fd) -> Option<String> {
        self.sim.path_of(self.sim.fstat(fd).ok()?.inode)
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
        if !self.calls.may_fail() {
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
        self.sync_call(|| self.path_of(fd), |files| files.fsync(fd))
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.sync_call(|| self.path_of(fd), |files| files.fdatasync(fd))
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
        let text = || Some(rename_in_words(from, to));
        self.calls.noted(text, || self.change(|files| files.rename(from, to)))
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.sync_call(|| Some(path.to_owned()), |files| files.sync_dir(path))
    }

    fn sync(&self) -> Result<()> {
        self.sync_call(|| Some(ALL.to_owned()), SimFiles::sync)
    }

    fn can(&self, ability: FsAbility) -> bool {
        self.sim.can(ability)
    }

    fn open_directory(&self, path: &str) -> Result<Fd> {
        self.sim.open_directory(path)
    }

    fn syncfs(&self) -> Result<()> {
        self.sync_call(|| Some(ALL.to_owned()), SimFiles::syncfs)
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
        let text = || Some(rename_in_words(from, to));
        self.calls.noted(text, || self.change(|files| files.rename_with(from, to, how)))
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
