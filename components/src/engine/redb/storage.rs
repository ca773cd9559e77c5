//! redb's storage on the files of a stack: a [`StorageBackend`] of one file.
//!
//! Every call of redb is one call of the files: `set_len` is `ftruncate`, `sync_data` is
//! `fdatasync`, and a read beyond the end of the file is an error. redb demands that a backend can
//! be used from any thread. The files of a stack cannot, so a call from another thread than the one
//! that opened the backend panics. redb makes no such call.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::rc::Rc;

use explode_ramdisk::files::{Fd, Files, OpenFlags};
use fragile::Fragile;
use nix::errno::Errno;
use redb::StorageBackend;

/// One file as redb's storage.
pub struct RedbStorage(Fragile<Rc<Opened>>);

struct Opened {
    files: Rc<dyn Files>,
    fd: Fd,
    /// True once no call reaches the file any more.
    crashed: Cell<bool>,
}

/// The handle that cuts a [`RedbStorage`] off from its file.
pub(super) struct Plug(Rc<Opened>);

impl RedbStorage {
    /// Opens the file. If it does not exist it is made, and its name is made durable.
    ///
    /// # Errors
    /// The errors of the files.
    pub fn open(files: Rc<dyn Files>, path: &str) -> Result<RedbStorage, Errno> {
        let fd = match files.open(path, OpenFlags::EXISTING) {
            Err(Errno::ENOENT) => {
                let fd = files.open(path, OpenFlags::CREATE)?;
                let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
                files.sync_dir(if folder.is_empty() { "/" } else { folder })?;
                fd
            }
            other => other?,
        };
        Ok(RedbStorage(Fragile::new(Rc::new(Opened { files, fd, crashed: Cell::new(false) }))))
    }

    /// Returns the plug to pull when the machine stops.
    pub(super) fn plug(&self) -> Plug {
        Plug(Rc::clone(self.0.get()))
    }

    fn alive(&self) -> io::Result<&Opened> {
        let opened = self.0.get();
        if opened.crashed.get() {
            Err(io::Error::other("the machine has stopped"))
        } else {
            Ok(opened)
        }
    }
}

impl Plug {
    /// Makes every call fail from now on.
    pub fn pull(&self) {
        self.0.crashed.set(true);
    }
}

impl StorageBackend for RedbStorage {
    fn len(&self) -> io::Result<u64> {
        let Opened { files, fd, .. } = self.alive()?;
        Ok(files.fstat(*fd)?.size)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let Opened { files, fd, .. } = self.alive()?;
        if files.pread(*fd, offset, out)? < out.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is too short"));
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let Opened { files, fd, .. } = self.alive()?;
        Ok(files.ftruncate(*fd, len)?)
    }

    fn sync_data(&self) -> io::Result<()> {
        let Opened { files, fd, .. } = self.alive()?;
        Ok(files.fdatasync(*fd)?)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let Opened { files, fd, .. } = self.alive()?;
        Ok(files.pwrite(*fd, offset, data)?)
    }

    fn close(&self) -> io::Result<()> {
        let Opened { files, fd, .. } = self.alive()?;
        Ok(files.close(*fd)?)
    }
}

impl fmt::Debug for RedbStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file of explode")
    }
}
