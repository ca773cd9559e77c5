//! What was done to a stack, written down call by call as its checker does it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use explode_ramdisk::files::{Ability, Fd, Files, Kind, OpenFlags, Result, Stat, Synced};
use serde::{Deserialize, Serialize};

/// A call that was made, and why it failed, if it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// What.
    pub what: What,
    /// The error, in words.
    pub error: Option<String>,
}

/// What was done. Paths begin with a slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A mutate begins, with its number from 1.
    Mutate(u32),
    /// The stack was unmounted, and is mounted again.
    Restart,
    /// A file was opened that is made if it is not there; and cut, if so.
    Create(String, bool),
    /// These bytes were written at this offset.
    Write(String, u64, Vec<u8>, How),
    /// ftruncate to so many bytes.
    Resize(String, u64),
    /// fsync of a file or of a directory.
    Fsync(String),
    /// fdatasync.
    Fdatasync(String),
    /// mkdir.
    Mkdir(String),
    /// rmdir.
    Rmdir(String),
    /// link.
    Link(String, String),
    /// unlink.
    Unlink(String),
    /// rename.
    Rename(String, String),
    /// syncfs of the file system.
    Syncfs,
    /// sync of the machine.
    Sync,
    /// A command of the shell, with `$mnt` and `$dev` where the file system and its device are.
    Shell(String),
}

/// In place of the path of an open file that has lost its name.
pub(super) const NAMELESS: &str = "?";

/// How bytes were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// By pwrite.
    Plain,
    /// Through a file opened with `O_DSYNC`.
    DataSynced,
    /// Through one opened with `O_SYNC`.
    Synced,
    /// Through a shared mapping, and msync.
    Mapped,
}

impl What {
    /// Is it done to a file that has lost its name? No command does that.
    pub(super) fn is_nameless(&self) -> bool {
        match self {
            What::Write(path, ..) | What::Resize(path, _) | What::Fsync(path) | What::Fdatasync(path) => {
                path == NAMELESS
            }
            _ => false,
        }
    }
}

/// Where calls are written down; a copy is the same.
#[derive(Clone, Debug, Default)]
pub struct CallLog(Rc<RefCell<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    done: Vec<Done>,
    /// The path of each open file, and how it is written.
    open: BTreeMap<Fd, (String, How)>,
}

impl CallLog {
    /// These files, whose calls are written down.
    pub(crate) fn around(&self, files: Rc<dyn Files>) -> Rc<dyn Files> {
        Rc::new(Noted { files, log: self.clone() })
    }

    /// Something was done, without an error.
    pub(crate) fn note(&self, what: What) {
        self.0.borrow_mut().done.push(Done { what, error: None });
    }

    /// Everything so far.
    pub(crate) fn done(&self) -> Vec<Done> {
        self.0.borrow().done.clone()
    }

    fn made<T>(&self, what: What, result: Result<T>) -> Result<T> {
        let error = result.as_ref().err().map(|errno| errno.desc().to_owned());
        self.0.borrow_mut().done.push(Done { what, error });
        result
    }

    fn opened(&self, path: &str, how: How, flags: OpenFlags, result: Result<Fd>) -> Result<Fd> {
        if flags.create || flags.truncate {
            self.made(What::Create(path.to_owned(), flags.truncate), result)?;
        }
        let fd = result?;
        self.0.borrow_mut().open.insert(fd, (path.to_owned(), how));
        Ok(fd)
    }

    fn file(&self, fd: Fd) -> (String, How) {
        self.0.borrow().open.get(&fd).cloned().unwrap_or_else(|| (NAMELESS.to_owned(), How::Plain))
    }

    /// Whoever has a file open goes by its new name, if it has one.
    fn renamed(&self, from: &str, to: &str) {
        let mut inner = self.0.borrow_mut();
        let of_it = inner.open.values_mut().filter(|(path, _)| path == from);
        of_it.for_each(|(path, _)| to.clone_into(path));
    }
}

struct Noted {
    files: Rc<dyn Files>,
    log: CallLog,
}

impl Files for Noted {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.log.opened(path, How::Plain, flags, self.files.open(path, flags))
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.log.0.borrow_mut().open.remove(&fd);
        self.files.close(fd)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.files.pread(fd, offset, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let (path, how) = self.log.file(fd);
        self.log.made(What::Write(path, offset, data.to_vec(), how), self.files.pwrite(fd, offset, data))
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.log.made(What::Resize(self.log.file(fd).0, size), self.files.ftruncate(fd, size))
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.files.fstat(fd)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        self.log.made(What::Fsync(self.log.file(fd).0), self.files.fsync(fd))
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.log.made(What::Fdatasync(self.log.file(fd).0), self.files.fdatasync(fd))
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        self.files.stat(path)
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, Kind)>> {
        self.files.readdir(path)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.log.made(What::Mkdir(path.to_owned()), self.files.mkdir(path))
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.log.made(What::Rmdir(path.to_owned()), self.files.rmdir(path))
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.log.made(What::Link(from.to_owned(), to.to_owned()), self.files.link(from, to))
    }

    fn unlink(&self, path: &str) -> Result<()> {
        let result = self.files.unlink(path);
        if result.is_ok() {
            self.log.renamed(path, NAMELESS);
        }
        self.log.made(What::Unlink(path.to_owned()), result)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let result = self.files.rename(from, to);
        if result.is_ok() && from != to {
            self.log.renamed(to, NAMELESS);
            self.log.renamed(from, to);
        }
        self.log.made(What::Rename(from.to_owned(), to.to_owned()), result)
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.log.made(What::Fsync(path.to_owned()), self.files.sync_dir(path))
    }

    /// Of a file system of the kernel it is syncfs(2).
    fn sync(&self) -> Result<()> {
        self.log.made(What::Syncfs, self.files.sync())
    }

    fn can(&self, ability: Ability) -> bool {
        self.files.can(ability)
    }

    fn sync_machine(&self) -> Result<()> {
        self.log.made(What::Sync, self.files.sync_machine())
    }

    fn syncfs(&self) -> Result<()> {
        self.log.made(What::Syncfs, self.files.syncfs())
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        let how = match synced {
            Synced::Data => How::DataSynced,
            Synced::All => How::Synced,
        };
        self.log.opened(path, how, flags, self.files.open_synced(path, flags, synced))
    }

    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let path = self.log.file(fd).0;
        let what = What::Write(path, offset, data.to_vec(), How::Mapped);
        self.log.made(what, self.files.write_mapped(fd, offset, data))
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        self.files.read_file(path)
    }
}
