//! A file system in memory that gives no guarantee beyond POSIX.
//!
//! Every name, every size and every block of contents is written to a [`Storage`] separately. Only
//! syncs order these writes (`docs/model/fault-model.md`, section 7). This file has the handle and
//! its calls. [`MountedSimFiles`] implements them.

use std::cell::RefCell;
use std::rc::Rc;

use nix::errno::Errno;

use super::access::Access;
use super::granule::Granule;
use super::mounted::MountedSimFiles;
use super::{
    Fallocate, Fd, FileKind, FileModel, Files, FsAbility, OpenFlags, Renaming, Result, Stat,
    Synced, WriteFlag,
};
use crate::Storage;

/// A simulated file system. Its clones refer to the same file system, with the same open files.
///
/// An image of zeroes is an empty file system. Changes that are not synced when the last clone is
/// dropped stay unsynced. Before a second mount of the same storage, call [`sync`](Files::sync), as
/// unmounting would.
#[derive(Clone, Debug)]
pub struct SimFiles(pub(super) Rc<RefCell<MountedSimFiles>>);

impl SimFiles {
    /// Mounts the file system on the 2^20 devices of `storage` from `base` on.
    ///
    /// `EINVAL` if the granule is not whole sectors or the device numbers do not fit into 32 bits.
    /// `EIO` for contents that no crash can leave.
    pub fn mount(storage: Storage, base: u32, granule: Granule) -> Result<SimFiles> {
        SimFiles::mount_as(FileModel::Posix, storage, base, granule)
    }

    /// Mounts like [`mount`](SimFiles::mount), for a user that makes the calls on nodes only
    /// ([`find`](SimFiles::find) and others). Each notes what it reads. After a mount everything
    /// counts as read.
    ///
    /// The errors are those of a mount.
    pub fn mount_by_nodes(
        model: FileModel,
        storage: Storage,
        base: u32,
        granule: Granule,
    ) -> Result<SimFiles> {
        let mounted = MountedSimFiles::new(storage, base, granule, false, model)?;
        Ok(SimFiles::of(mounted))
    }

    /// Mounts like [`mount`](SimFiles::mount) a file system with the order of changes of a model.
    /// Contents that a crash has left must be of the same model.
    ///
    /// The errors are those of a mount.
    pub fn mount_as(
        model: FileModel,
        storage: Storage,
        base: u32,
        granule: Granule,
    ) -> Result<SimFiles> {
        let mounted = MountedSimFiles::new(storage, base, granule, true, model)?;
        Ok(SimFiles::of(mounted))
    }

    fn of(mounted: MountedSimFiles) -> SimFiles {
        SimFiles(Rc::new(RefCell::new(mounted)))
    }

    /// Returns the same file system, mounted so that every change is durable when its call returns.
    #[must_use = "this returns the files"]
    pub fn synchronous(self) -> SimFiles {
        self.0.borrow_mut().synchronous = true;
        self
    }

    /// Makes a call that syncs, whose writes fail on the medium under the model `posix`. As on
    /// Linux its files count as written from then on: a crash may lose what they held, also after a
    /// later sync that works. The caller of the system gets `EIO`.
    pub fn write_back_fails<T>(&self, call: impl FnOnce(&SimFiles) -> T) -> T {
        self.0.borrow_mut().tree.write_back_fails = true;
        let done = call(self);
        self.0.borrow_mut().tree.write_back_fails = false;
        done
    }

    /// Returns the devices of the file system.
    pub fn storage(&self) -> Storage {
        self.0.borrow().tree.storage.clone()
    }

    /// Returns the device of an inode ([`Stat::inode`]).
    pub fn device(&self, inode: u32) -> u32 {
        self.0.borrow().tree.device(inode)
    }

    /// Describes a sector of a device in words: contents of a file, its size, a name, a mode or an
    /// attribute. `None` if the contents are unknown.
    pub fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        let mounted = self.0.borrow();
        mounted.tree.describe_sector(device.checked_sub(mounted.tree.base)?, sector)
    }

    /// Returns every file that a path leads to once, with its first path, its device and its size
    /// in bytes.
    pub fn list(&self) -> Vec<(String, u32, u64)> {
        self.0.borrow().tree.list()
    }

    /// Makes a call that changes files as one operation of the log. A call that fails has changed
    /// nothing.
    pub(super) fn operation<T>(
        &self,
        name: &str,
        call: impl FnOnce(&mut MountedSimFiles) -> Result<T>,
    ) -> Result<T> {
        let mut mounted = self.0.borrow_mut();
        let done = call(&mut mounted);
        mounted.tree.end_of_call();
        mounted.tree.storage.operation(name);
        if mounted.synchronous {
            mounted.tree.sync_all();
        }
        done
    }
}

impl Files for SimFiles {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.operation("open", |mounted| mounted.open(path, flags, None))
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.0.borrow_mut().close(fd)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let mounted = self.0.borrow();
        mounted.tree.read(mounted.file(fd)?, offset, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.operation("write", |mounted| mounted.write(fd, offset, data))
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.operation("truncate", |mounted| {
            let file = mounted.file(fd)?;
            mounted.tree.resize(file, size)
        })
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        let mounted = self.0.borrow();
        Ok(mounted.stat(mounted.file(fd)?))
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        let mut mounted = self.0.borrow_mut();
        let file = mounted.file(fd)?;
        mounted.tree.sync(file);
        Ok(())
    }

    /// Syncs the contents and the size, but neither the mode nor extended attributes.
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        let mut mounted = self.0.borrow_mut();
        let file = mounted.file(fd)?;
        mounted.tree.sync_data(file);
        Ok(())
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        let mounted = self.0.borrow();
        Ok(mounted.stat(mounted.tree.lookup(path)?))
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        let mounted = self.0.borrow();
        let directory = mounted.tree.directory(mounted.tree.lookup(path)?)?;
        let entries =
            directory.names.iter().filter_map(|(name, at)| Some((name.clone(), at.leads_to?)));
        Ok(entries.map(|(name, number)| (name, mounted.tree.inode(number).kind())).collect())
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.operation("mkdir", |mounted| {
            let place = mounted.vacant(path)?;
            let born = Access::of_new(FileKind::Directory);
            mounted.tree.create(&place, FileKind::Directory, born).map(drop)
        })
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.operation("rmdir", |mounted| {
            let (place, number, _) = mounted.existing(path, Errno::EBUSY)?;
            mounted.must_be_empty(number)?;
            mounted.tree.point(&place, None)
        })
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.operation("link", |mounted| {
            let (_, number, kind) = mounted.existing(from, Errno::EPERM)?;
            let place = mounted.vacant(to)?;
            if kind == FileKind::Directory {
                return Err(Errno::EPERM);
            }
            mounted.tree.point(&place, Some(number))
        })
    }

    /// Returns `EPERM` for a directory, like POSIX. Linux returns `EISDIR`.
    fn unlink(&self, path: &str) -> Result<()> {
        self.operation("unlink", |mounted| {
            let (place, _, kind) = mounted.existing(path, Errno::EPERM)?;
            if kind == FileKind::Directory {
                return Err(Errno::EPERM);
            }
            mounted.tree.point(&place, None)
        })
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.operation("rename", |mounted| mounted.rename(from, to))
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        let mut mounted = self.0.borrow_mut();
        let number = mounted.tree.lookup(path)?;
        mounted.tree.directory(number)?;
        mounted.tree.sync(number);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.0.borrow_mut().tree.sync_all();
        Ok(())
    }

    fn can(&self, ability: FsAbility) -> bool {
        ability != FsAbility::Synchronous || self.0.borrow().synchronous
    }

    fn syncfs(&self) -> Result<()> {
        self.sync()
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        self.operation("open", |mounted| mounted.open(path, flags, Some(synced)))
    }

    fn open_directory(&self, path: &str) -> Result<Fd> {
        let mut mounted = self.0.borrow_mut();
        let number = mounted.tree.lookup(path)?;
        mounted.tree.directory(number)?;
        Ok(mounted.hold(number, None))
    }

    /// Ignores the flag: all writes go to the place that they name, and nothing is cached.
    fn open_flagged(&self, path: &str, flags: OpenFlags, _flag: WriteFlag) -> Result<Fd> {
        self.open(path, flags)
    }

    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let size = self.fstat(fd)?.size;
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > size) {
            return Err(Errno::EINVAL);
        }
        self.pwrite(fd, offset, data)?;
        self.fdatasync(fd)
    }

    /// Returns `ENAMETOOLONG` for a target of more than 4094 bytes.
    fn symlink(&self, target: &str, path: &str) -> Result<()> {
        self.operation("symlink", |mounted| {
            let place = mounted.vacant(path)?;
            let born = Access::of_new(FileKind::Symlink);
            mounted.tree.create_symlink(&place, target, born).map(drop)
        })
    }

    fn readlink(&self, path: &str) -> Result<String> {
        let mounted = self.0.borrow();
        mounted.tree.target(mounted.tree.lookup(path)?)
    }

    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        self.operation("chmod", |mounted| {
            let number = mounted.with_attributes(path)?;
            mounted.tree.set_mode(number, mode);
            Ok(())
        })
    }

    fn mode(&self, path: &str) -> Result<u32> {
        let mounted = self.0.borrow();
        mounted.tree.mode(mounted.with_attributes(path)?)
    }

    /// Returns `ENOSPC` if name and value have more than 509 bytes together.
    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        self.operation("setxattr", |mounted| {
            let number = mounted.with_attributes(path)?;
            mounted.tree.set_attribute(number, name, value)
        })
    }

    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        self.operation("removexattr", |mounted| {
            let number = mounted.with_attributes(path)?;
            mounted.tree.remove_attribute(number, name)
        })
    }

    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let mounted = self.0.borrow();
        mounted.tree.attributes(mounted.with_attributes(path)?)
    }

    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        self.operation("rename", |mounted| match how {
            Renaming::Exchange => mounted.exchange(from, to),
            Renaming::NoReplace => {
                mounted.existing(from, Errno::EBUSY)?;
                mounted.vacant(to)?;
                mounted.rename(from, to)
            }
        })
    }

    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        let mut mounted = self.0.borrow_mut();
        let number = mounted.tree.lookup(directory)?;
        mounted.tree.directory(number)?;
        let file = mounted.tree.make(FileKind::File, Access::of_new(FileKind::File))?;
        Ok(mounted.hold(file, None))
    }

    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        self.operation("link", |mounted| {
            let file = mounted.file(fd)?;
            let place = mounted.vacant(to)?;
            mounted.tree.point(&place, Some(file))
        })
    }

    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        self.operation("fallocate", |mounted| {
            let file = mounted.file(fd)?;
            mounted.tree.fallocate(file, how, offset, len)
        })
    }

    fn copy_range(&self, from: Fd, to: Fd, offset: u64, len: u64) -> Result<()> {
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| Errno::EINVAL)?];
        if self.pread(from, offset, &mut bytes)? < bytes.len() {
            return Err(Errno::EINVAL);
        }
        self.pwrite(to, offset, &bytes)
    }

    /// Copies the contents instead of sharing them. `EINVAL` if `to` is not empty.
    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        self.operation("clone", |mounted| {
            let (from, to) = (mounted.file(from)?, mounted.file(to)?);
            mounted.tree.clone_file(from, to)
        })
    }
}
