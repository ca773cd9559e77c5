//! The calls of a mounted file system.

use std::cell::RefCell;
use std::collections::BTreeMap;

use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags, Result, Stat};
use nix::errno::Errno;

use super::design::ToyFsBug;
use super::directory::{entries, lookup, place, point};
use super::inode::ToyInode;
use super::layout::ROOT;
use super::path::names;
use super::volume::Volume;
use crate::broken::page_journal::BLOCK;

/// A mounted file system.
#[derive(Debug)]
pub struct ToyFs(RefCell<MountedToyFs>);

#[derive(Debug)]
struct MountedToyFs {
    volume: Volume,
    open: BTreeMap<Fd, u32>,
}

impl ToyFs {
    /// Makes a mounted file system of a volume.
    pub fn new(volume: Volume) -> ToyFs {
        ToyFs(RefCell::new(MountedToyFs { volume, open: BTreeMap::new() }))
    }

    /// Commits everything and empties the journal.
    ///
    /// # Errors
    /// `EIO`: a block that is needed cannot be read.
    pub fn unmount(&self) -> Result<()> {
        let volume = &mut self.0.borrow_mut().volume;
        volume.commit()?;
        volume.checkpoint();
        Ok(())
    }

    /// Returns the use of a sector, in words.
    pub fn describe_sector(&self, sector: u64) -> String {
        self.0.borrow().volume.describe_sector(sector)
    }

    /// Runs an operation, which changes one transaction.
    fn change<T>(&self, operation: impl FnOnce(&mut MountedToyFs) -> Result<T>) -> Result<T> {
        let mounted = &mut *self.0.borrow_mut();
        if mounted.volume.is_full() {
            mounted.volume.commit()?;
        }
        operation(mounted)
    }
}

impl MountedToyFs {
    fn file(&self, fd: Fd) -> Result<u32> {
        self.open.get(&fd).copied().ok_or(Errno::EBADF)
    }

    fn stat(&self, number: u32) -> Result<Stat> {
        let ToyInode { kind, links, size, .. } = self.volume.inode(number)?;
        let kind = kind.ok_or(Errno::EIO)?;
        let size = if kind == FileKind::File { size } else { 0 };
        Ok(Stat { kind, inode: number, size, links: links.into() })
    }

    /// Makes a new inode with a name.
    fn create(&mut self, directory: u32, name: &str, kind: FileKind) -> Result<u32> {
        let number = self.free_inode()?;
        self.volume.set_inode(number, &ToyInode { links: 1, ..ToyInode::new(kind) })?;
        point(&mut self.volume, directory, name, Some(number))?;
        Ok(number)
    }

    fn free_inode(&self) -> Result<u32> {
        for number in ROOT + 1..self.volume.count() {
            if self.volume.inode(number)?.kind.is_none() {
                return Ok(number);
            }
        }
        Err(Errno::ENOSPC)
    }

    /// Removes one link of an inode that lost a name, and frees it if it is unreachable.
    fn unlinked(&mut self, number: u32) -> Result<()> {
        let mut inode = self.volume.inode(number)?;
        inode.links = inode.links.saturating_sub(1);
        self.volume.set_inode(number, &inode)?;
        self.free_if_lost(number)
    }

    /// Frees an inode that has no name and no open handle.
    fn free_if_lost(&mut self, number: u32) -> Result<()> {
        let mut inode = self.volume.inode(number)?;
        if inode.links == 0 && !self.open.values().any(|open| *open == number) {
            inode.free_from(&mut self.volume, 0)?;
            self.volume.set_inode(number, &ToyInode::default())?;
        }
        Ok(())
    }

    fn resize(&mut self, number: u32, size: u64) -> Result<()> {
        let mut inode = self.volume.inode(number)?;
        if size < inode.size {
            inode.free_from(&mut self.volume, size.div_ceil(BLOCK as u64))?;
            let within = (size % BLOCK as u64) as usize;
            if let Some(block) =
                inode.block(&self.volume, size / BLOCK as u64)?.filter(|_| within > 0)
            {
                let mut page = self.volume.read_data(block)?;
                page[within..].fill(0);
                self.volume.write_data(block, page);
            }
        }
        inode.size = size;
        self.volume.set_inode(number, &inode)
    }

    fn write(&mut self, number: u32, offset: u64, data: &[u8]) -> Result<()> {
        let mut inode = self.volume.inode(number)?;
        let mut rest = data;
        let mut at = offset;
        while !rest.is_empty() {
            let within = (at % BLOCK as u64) as usize;
            let (part, behind) = rest.split_at(rest.len().min(BLOCK - within));
            let index = at / BLOCK as u64;
            let (block, mut page) = match inode.block(&self.volume, index)? {
                Some(block) => (block, self.volume.read_data(block)?),
                None => (inode.add_block(&mut self.volume, index)?, vec![0; BLOCK]),
            };
            page[within..within + part.len()].copy_from_slice(part);
            self.volume.write_data(block, page);
            (at, rest) = (at + part.len() as u64, behind);
        }
        inode.size = inode.size.max(at);
        self.volume.set_inode(number, &inode)
    }

    fn read(&self, number: u32, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let inode = self.volume.inode(number)?;
        let length = inode.size.saturating_sub(offset).min(buf.len() as u64) as usize;
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let within = (at % BLOCK as u64) as usize;
            let part = (length - done).min(BLOCK - within);
            match inode.block(&self.volume, at / BLOCK as u64)? {
                Some(block) => {
                    let page = self.volume.read_data(block)?;
                    buf[done..done + part].copy_from_slice(&page[within..within + part]);
                }
                None => buf[done..done + part].fill(0),
            }
            done += part;
        }
        Ok(length)
    }
}

impl Files for ToyFs {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.change(|mounted| {
            if names(path)?.is_empty() {
                return Err(Errno::EISDIR);
            }
            let (directory, name, present) = place(&mounted.volume, path)?;
            let number = match present {
                Some(_) if flags.create && flags.exclusive => return Err(Errno::EEXIST),
                Some(number) => number,
                None if flags.create => mounted.create(directory, name, FileKind::File)?,
                None => return Err(Errno::ENOENT),
            };
            if mounted.volume.inode(number)?.kind != Some(FileKind::File) {
                return Err(Errno::EISDIR);
            }
            if flags.truncate {
                mounted.resize(number, 0)?;
            }
            let fd = Fd(mounted.open.last_key_value().map_or(0, |(Fd(last), _)| last + 1));
            mounted.open.insert(fd, number);
            Ok(fd)
        })
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.change(|mounted| {
            let number = mounted.open.remove(&fd).ok_or(Errno::EBADF)?;
            mounted.free_if_lost(number)
        })
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let mounted = self.0.borrow();
        mounted.read(mounted.file(fd)?, offset, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.change(|mounted| mounted.write(mounted.file(fd)?, offset, data))
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.change(|mounted| mounted.resize(mounted.file(fd)?, size))
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        let mounted = self.0.borrow();
        mounted.stat(mounted.file(fd)?)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        let mounted = &mut *self.0.borrow_mut();
        let number = mounted.file(fd)?;
        mounted.volume.commit_file(number)
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.fsync(fd)
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        let mounted = self.0.borrow();
        mounted.stat(lookup(&mounted.volume, path)?)
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        let mounted = self.0.borrow();
        let number = lookup(&mounted.volume, path)?;
        if mounted.volume.inode(number)?.kind != Some(FileKind::Directory) {
            return Err(Errno::ENOTDIR);
        }
        let kind =
            |(name, number)| Ok((name, mounted.volume.inode(number)?.kind.ok_or(Errno::EIO)?));
        let mut names =
            entries(&mounted.volume, number)?.into_iter().map(kind).collect::<Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.change(|mounted| match place(&mounted.volume, path)? {
            (_, _, Some(_)) => Err(Errno::EEXIST),
            (directory, name, None) => {
                mounted.create(directory, name, FileKind::Directory).map(drop)
            }
        })
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.change(|mounted| {
            let (directory, name, number) = place(&mounted.volume, path)?;
            let number = number.ok_or(Errno::ENOENT)?;
            if mounted.volume.inode(number)?.kind != Some(FileKind::Directory) {
                return Err(Errno::ENOTDIR);
            }
            if !entries(&mounted.volume, number)?.is_empty() {
                return Err(Errno::ENOTEMPTY);
            }
            point(&mut mounted.volume, directory, name, None)?;
            mounted.unlinked(number)
        })
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.change(|mounted| {
            let number = lookup(&mounted.volume, from)?;
            let mut inode = mounted.volume.inode(number)?;
            let (directory, name, present) = place(&mounted.volume, to)?;
            if present.is_some() {
                return Err(Errno::EEXIST);
            }
            if inode.kind != Some(FileKind::File) {
                return Err(Errno::EPERM);
            }
            point(&mut mounted.volume, directory, name, Some(number))?;
            inode.links = inode.links.checked_add(1).ok_or(Errno::EMLINK)?;
            mounted.volume.set_inode(number, &inode)
        })
    }

    fn unlink(&self, path: &str) -> Result<()> {
        self.change(|mounted| {
            let (directory, name, number) = place(&mounted.volume, path)?;
            let number = number.ok_or(Errno::ENOENT)?;
            if mounted.volume.inode(number)?.kind != Some(FileKind::File) {
                return Err(Errno::EPERM);
            }
            point(&mut mounted.volume, directory, name, None)?;
            mounted.unlinked(number)
        })
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.change(|mounted| {
            let (old, old_name, number) = place(&mounted.volume, from)?;
            let number = number.ok_or(Errno::ENOENT)?;
            let (new, new_name, present) = place(&mounted.volume, to)?;
            let kind = mounted.volume.inode(number)?.kind;
            let (parts, into) = (names(from)?, names(to)?);
            if kind == Some(FileKind::Directory)
                && into.len() > parts.len()
                && into.starts_with(&parts)
            {
                return Err(Errno::EINVAL);
            }
            if present == Some(number) {
                return Ok(());
            }
            if let Some(present) = present {
                match (kind, mounted.volume.inode(present)?.kind) {
                    (Some(FileKind::File), Some(FileKind::Directory)) => return Err(Errno::EISDIR),
                    (Some(FileKind::Directory), Some(FileKind::File)) => {
                        return Err(Errno::ENOTDIR);
                    }
                    _ if !entries(&mounted.volume, present)?.is_empty()
                        && kind == Some(FileKind::Directory) =>
                    {
                        return Err(Errno::ENOTEMPTY);
                    }
                    _ => {}
                }
            }
            let loops = kind == Some(FileKind::Directory)
                && new != old
                && mounted.volume.has(ToyFsBug::RenameLoop);
            let entered = if loops { new } else { number };
            point(&mut mounted.volume, new, new_name, Some(entered))?;
            point(&mut mounted.volume, old, old_name, None)?;
            present.map_or(Ok(()), |present| mounted.unlinked(present))
        })
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        let mounted = &mut *self.0.borrow_mut();
        let number = lookup(&mounted.volume, path)?;
        mounted.volume.commit_directory(number)
    }

    fn sync(&self) -> Result<()> {
        self.0.borrow_mut().volume.commit()
    }
}
