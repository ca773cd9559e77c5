//! The calls of a mounted volume.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use explode_ramdisk::RamDisk;
use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags, Result, Stat};
use explode_runtime::base::StepError;
use fatfs::{Dir, File, FileSystem};
use nix::errno::Errno;

use super::disk::Bytes;

/// A mounted volume and its open files.
pub struct MountedFat {
    volume: FileSystem<Bytes>,
    disk: RamDisk,
    open: RefCell<BTreeMap<Fd, String>>,
}

/// Returns the errno for an error of fatfs. `EUCLEAN` if the volume is damaged. fatfs distinguishes
/// some errors only by their text.
pub fn errno(error: &io::Error) -> Errno {
    let has_text = |text| error.to_string().contains(text);
    match error.kind() {
        io::ErrorKind::NotFound => Errno::ENOENT,
        io::ErrorKind::AlreadyExists => Errno::EEXIST,
        io::ErrorKind::InvalidInput => Errno::EINVAL,
        _ if has_text("No space left") => Errno::ENOSPC,
        _ if has_text("not empty") => Errno::ENOTEMPTY,
        _ if has_text("Is a directory") => Errno::EISDIR,
        _ if has_text("Not a directory") => Errno::ENOTDIR,
        _ => error.raw_os_error().map_or(Errno::EUCLEAN, Errno::from_raw),
    }
}

impl MountedFat {
    /// Makes the files of a volume that was mounted from a disk.
    pub fn new(volume: FileSystem<Bytes>, disk: RamDisk) -> MountedFat {
        MountedFat { volume, disk, open: RefCell::default() }
    }

    /// Unmounts the volume.
    ///
    /// # Errors
    /// The errors of fatfs.
    pub fn unmount(self) -> std::result::Result<(), StepError> {
        self.volume
            .unmount()
            .map_err(|error| StepError::new(format!("the volume cannot be unmounted: {error}")))
    }

    fn in_root<T>(&self, work: impl FnOnce(&Dir<'_, Bytes>) -> io::Result<T>) -> Result<T> {
        work(&self.volume.root_dir()).map_err(|error| errno(&error))
    }

    /// Works on an open file, from its beginning.
    fn with_file<T>(
        &self,
        fd: Fd,
        work: impl FnOnce(&mut File<'_, Bytes>) -> io::Result<T>,
    ) -> Result<T> {
        let path = self.open.borrow().get(&fd).cloned().ok_or(Errno::EBADF)?;
        self.in_root(|root| work(&mut root.open_file(&path)?))
    }

    /// Removes a file or directory, if it has this kind.
    fn remove(&self, path: &str, kind: FileKind) -> Result<()> {
        match (self.stat(path)?.kind, kind) {
            (FileKind::File, FileKind::Directory) => Err(Errno::ENOTDIR),
            (FileKind::Directory, FileKind::File) => Err(Errno::EISDIR),
            _ => self.in_root(|root| root.remove(path)),
        }
    }
}

/// Extends a file to this size with zeroes. Its position is at its end afterwards.
fn extend(file: &mut File<'_, Bytes>, size: u64) -> io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    file.write_all(&vec![0; size.saturating_sub(end) as usize])
}

fn file_stat(size: u64) -> Stat {
    Stat { kind: FileKind::File, inode: 0, size, links: 1 }
}

impl Files for MountedFat {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        match self.stat(path) {
            Ok(Stat { kind: FileKind::Directory, .. }) => return Err(Errno::EISDIR),
            Ok(_) if flags.create && flags.exclusive => return Err(Errno::EEXIST),
            Ok(_) => {}
            Err(Errno::ENOENT) if flags.create => {
                self.in_root(|root| root.create_file(path).map(drop))?
            }
            Err(errno) => return Err(errno),
        }
        if flags.truncate {
            self.in_root(|root| root.open_file(path)?.truncate())?;
        }
        let mut open = self.open.borrow_mut();
        let fd = Fd(open.last_key_value().map_or(0, |(Fd(last), _)| last + 1));
        open.insert(fd, path.to_owned());
        Ok(fd)
    }

    /// Removes the handle. The crate flushes a file when it is dropped, which happened after each
    /// call.
    fn close(&self, fd: Fd) -> Result<()> {
        self.open.borrow_mut().remove(&fd).map(drop).ok_or(Errno::EBADF)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.with_file(fd, |file| {
            file.seek(SeekFrom::Start(offset))?;
            let mut done = 0;
            while done < buf.len() {
                match file.read(&mut buf[done..])? {
                    0 => break,
                    read => done += read,
                }
            }
            Ok(done)
        })
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.with_file(fd, |file| {
            extend(file, offset)?;
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(data)
        })
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.with_file(fd, |file| {
            extend(file, size)?;
            file.seek(SeekFrom::Start(size))?;
            file.truncate()
        })
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.with_file(fd, |file| file.seek(SeekFrom::End(0))).map(file_stat)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        self.with_file(fd, |file| file.flush())
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.fsync(fd)
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        match self.in_root(|root| root.open_dir(path).map(drop)) {
            Ok(()) => Ok(Stat { kind: FileKind::Directory, inode: 0, size: 0, links: 1 }),
            Err(Errno::ENOTDIR) => {
                self.in_root(|root| root.open_file(path)?.seek(SeekFrom::End(0))).map(file_stat)
            }
            Err(errno) => Err(errno),
        }
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        let mut names = Vec::new();
        self.in_root(|root| {
            let directory = if path == "/" { root.clone() } else { root.open_dir(path)? };
            for entry in directory.iter() {
                let entry = entry?;
                let kind = if entry.is_dir() { FileKind::Directory } else { FileKind::File };
                names.push((entry.file_name(), kind));
            }
            Ok(())
        })?;
        names.retain(|(name, _)| name != "." && name != "..");
        names.sort();
        Ok(names)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        match self.stat(path) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => self.in_root(|root| root.create_dir(path).map(drop)),
            Err(errno) => Err(errno),
        }
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.remove(path, FileKind::Directory)
    }

    fn link(&self, _from: &str, _to: &str) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    fn unlink(&self, path: &str) -> Result<()> {
        self.remove(path, FileKind::File)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        if self.stat(to).is_ok() {
            self.in_root(|root| root.remove(to))?;
        }
        // The crate takes a leading slash for a part of the name here.
        let (from, to) = (from.trim_start_matches('/'), to.trim_start_matches('/'));
        self.in_root(|root| root.rename(from, root, to))
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        match self.stat(path)?.kind {
            FileKind::Directory => self.sync(),
            FileKind::File | FileKind::Symlink => Err(Errno::ENOTDIR),
        }
    }

    /// Flushes the disk. Files are flushed already, and names are durable after the disk's flush.
    fn sync(&self) -> Result<()> {
        self.disk.flush();
        Ok(())
    }
}
