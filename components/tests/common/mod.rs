//! A stack of simulated files, and helpers of the SQLite tests.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::cell::Cell;
use std::rc::Rc;

use explode_components::db::sqlite::{Database, Journal, SqliteSettings, Synchronous};
use explode_ramdisk::files::{Fd, FileKind, Granule, OpenFlags, Result, SimFiles, Stat};
use explode_ramdisk::{Event, Files, Image, Recording, Storage};
use nix::errno::Errno;

/// The path of the database in all tests.
pub const DB: &str = "/db";

/// Simulated files and the storage below them.
pub struct Stack {
    pub storage: Storage,
    pub files: Rc<dyn Files>,
}

impl Stack {
    pub fn empty() -> Stack {
        Stack::on(Image::default())
    }

    /// Mounts the image.
    pub fn on(image: Image) -> Stack {
        let storage = Storage::new(image, Recording::On);
        let files = SimFiles::mount(storage.clone(), 0, Granule::default()).unwrap();
        Stack { storage, files: Rc::new(files) }
    }

    pub fn open(&self, settings: &SqliteSettings) -> Database {
        Database::open(self.files.clone(), DB, settings, 1).unwrap()
    }

    /// Returns the names in the root directory.
    pub fn names(&self) -> Vec<String> {
        self.files.readdir("/").unwrap().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the files and directories flushed since the last call, in order: the current names
    /// of files, "/" for the directory, "(gone)" for a file without a name.
    pub fn flushed(&self) -> Vec<String> {
        let name_of = |dev: u32| {
            let has_it = |name: &String| self.files.stat(&format!("/{name}")).unwrap().inode == dev;
            if dev == 0 {
                "/".to_string()
            } else {
                self.names().into_iter().find(has_it).unwrap_or("(gone)".to_string())
            }
        };
        let flushed = |event: Event| match event {
            Event::Flush { dev, .. } => Some(name_of(dev)),
            _ => None,
        };
        self.storage.take_log().into_iter().filter_map(flushed).collect()
    }
}

/// Returns settings with this journal and this synchronous level.
pub fn settings(journal: Journal, synchronous: Synchronous) -> SqliteSettings {
    SqliteSettings { journal, synchronous, ..SqliteSettings::default() }
}

pub const BOTH: [Journal; 2] = [Journal::Delete, Journal::Wal];

/// Returns the values in the table `t`.
pub fn values(db: &Database) -> Vec<i64> {
    db.query("SELECT v FROM t ORDER BY v", [], |row| row.get(0)).unwrap()
}

/// Files whose writes fail after the first few, with `errno`, or with a panic if it is `None`.
pub struct Failing {
    pub inner: Rc<dyn Files>,
    pub writes_left: Cell<u64>,
    pub errno: Option<Errno>,
}

impl Failing {
    fn may_write(&self) -> Result<()> {
        match self.writes_left.get().checked_sub(1) {
            Some(left) => {
                self.writes_left.set(left);
                Ok(())
            }
            None => Err(self.errno.expect("these files panic")),
        }
    }
}

impl Files for Failing {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.inner.open(path, flags)
    }
    fn close(&self, fd: Fd) -> Result<()> {
        self.inner.close(fd)
    }
    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.inner.pread(fd, offset, buf)
    }
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.may_write()?;
        self.inner.pwrite(fd, offset, data)
    }
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.inner.ftruncate(fd, size)
    }
    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.inner.fstat(fd)
    }
    fn fsync(&self, fd: Fd) -> Result<()> {
        self.inner.fsync(fd)
    }
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.inner.fdatasync(fd)
    }
    fn stat(&self, path: &str) -> Result<Stat> {
        self.inner.stat(path)
    }
    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        self.inner.readdir(path)
    }
    fn mkdir(&self, path: &str) -> Result<()> {
        self.inner.mkdir(path)
    }
    fn rmdir(&self, path: &str) -> Result<()> {
        self.inner.rmdir(path)
    }
    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.inner.link(from, to)
    }
    fn unlink(&self, path: &str) -> Result<()> {
        self.inner.unlink(path)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.inner.sync_dir(path)
    }
    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
}

/// Runs two connections twice, with random values. `between` is called between the steps. Returns
/// the event log.
pub fn workload(journal: Journal, seed: u64, mut between: impl FnMut()) -> Vec<Event> {
    let settings = settings(journal, Synchronous::Full);
    let stack = Stack::empty();
    for _ in 0..2 {
        let open = || Database::open(stack.files.clone(), DB, &settings, seed).unwrap();
        let (one, other) = (open(), open());
        one.execute_batch("CREATE TABLE IF NOT EXISTS t(v)").unwrap();
        for _ in 0..3 {
            for db in [&one, &other] {
                between();
                db.execute_batch("INSERT INTO t VALUES(randomblob(100))").unwrap();
            }
        }
        between();
    }
    stack.storage.take_log()
}
