//! Files whose syncs can lie: they return, and nothing was made durable. What stands on them breaks its promises.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags, Result, Stat};
use explode_runtime::recover::{Below, Component, Fault, Surface};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options, UsageError};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "lying-sync",
    about: "the files below it, with syncs that lie",
    modes: &[Mode::Mem, Mode::Vm, Mode::Here],
    on: Some("simfiles"),
    options: &[OptionDef {
        name: "lies",
        about: "which sync does nothing: none, files (fsync, fdatasync), directories (fsync of one), growth (fdatasync of a file \
                that has grown since its last), subdirectories (sync below the root)",
        default: "none",
    }],
    build,
};

#[derive(Clone, Copy, PartialEq)]
enum Lies {
    None,
    Files,
    Directories,
    Growth,
    Subdirectories,
}

struct LyingSync {
    lies: Lies,
    files: Option<Rc<dyn Files>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    let words = [
        ("none", Lies::None),
        ("files", Lies::Files),
        ("directories", Lies::Directories),
        ("growth", Lies::Growth),
        ("subdirectories", Lies::Subdirectories),
    ];
    Ok(Box::new(LyingSync { lies: options.one_of("lies", &words)?, files: None }))
}

impl Component for LyingSync {
    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), Fault> {
        self.files =
            Some(Rc::new(Liar { lies: self.lies, files: below.files()?, sizes: RefCell::default() }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> std::result::Result<(), Fault> {
        self.files = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, Surface::Files)
    }
}

struct Liar {
    lies: Lies,
    files: Rc<dyn Files>,
    /// The size of each inode at its last fsync or fdatasync.
    sizes: RefCell<BTreeMap<u32, u64>>,
}

impl Liar {
    /// Notes a file's size; has it grown since the last time?
    fn has_grown(&self, fd: Fd) -> Result<bool> {
        let Stat { inode, size, .. } = self.files.fstat(fd)?;
        Ok(self.sizes.borrow_mut().insert(inode, size).unwrap_or(0) < size)
    }

    /// Syncs the root and the files in it.
    fn sync_root(&self) -> Result<()> {
        for (name, _) in self.files.readdir("/")?.iter().filter(|(_, kind)| *kind == Kind::File) {
            let fd = self.files.open(&format!("/{name}"), OpenFlags::EXISTING)?;
            self.files.fsync(fd)?;
            self.files.close(fd)?;
        }
        self.files.sync_dir("/")
    }
}

impl Files for Liar {
    fn fsync(&self, fd: Fd) -> Result<()> {
        self.has_grown(fd)?;
        if self.lies == Lies::Files { Ok(()) } else { self.files.fsync(fd) }
    }
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        let grown = self.has_grown(fd)?;
        let lies = self.lies == Lies::Files || self.lies == Lies::Growth && grown;
        if lies { Ok(()) } else { self.files.fdatasync(fd) }
    }
    fn sync_dir(&self, path: &str) -> Result<()> {
        if self.lies == Lies::Directories {
            self.files.stat(path).map(drop)
        } else {
            self.files.sync_dir(path)
        }
    }

    fn sync(&self) -> Result<()> {
        if self.lies == Lies::Subdirectories { self.sync_root() } else { self.files.sync() }
    }
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.files.open(path, flags)
    }
    fn close(&self, fd: Fd) -> Result<()> {
        self.files.close(fd)
    }
    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.files.pread(fd, offset, buf)
    }
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.files.pwrite(fd, offset, data)
    }
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.files.ftruncate(fd, size)
    }
    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.files.fstat(fd)
    }
    fn stat(&self, path: &str) -> Result<Stat> {
        self.files.stat(path)
    }
    fn readdir(&self, path: &str) -> Result<Vec<(String, Kind)>> {
        self.files.readdir(path)
    }
    fn mkdir(&self, path: &str) -> Result<()> {
        self.files.mkdir(path)
    }
    fn rmdir(&self, path: &str) -> Result<()> {
        self.files.rmdir(path)
    }
    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.files.link(from, to)
    }
    fn unlink(&self, path: &str) -> Result<()> {
        self.files.unlink(path)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.files.rename(from, to)
    }
}
