//! Files that are rewritten at each write: cut to nothing, then written again from their beginning. In between they are empty, which a crash
//! can only show where somebody else has brought that to the disk.

use std::rc::Rc;

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags, Result, Stat};
use explode_runtime::recover::{Below, Component, Fault, Surface};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options, UsageError};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "rewriting",
    about: "the files below it, each cut and written again as a whole at each write",
    modes: &[Mode::Mem, Mode::Vm, Mode::Here],
    on: Some("simfiles"),
    options: &[OptionDef {
        name: "cuts",
        about: "is a file cut first? Else it is written as below: true, false",
        default: "false",
    }],
    build,
};

struct Rewriting {
    cuts: bool,
    files: Option<Rc<dyn Files>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(Rewriting { cuts: options.bool("cuts", false)?, files: None }))
}

impl Component for Rewriting {
    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), Fault> {
        self.files = Some(Rc::new(Rewriter { cuts: self.cuts, files: below.files()? }));
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

struct Rewriter {
    cuts: bool,
    files: Rc<dyn Files>,
}

impl Files for Rewriter {
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let size = self.files.fstat(fd)?.size as usize;
        if !self.cuts || size == 0 {
            return self.files.pwrite(fd, offset, data);
        }
        let (begin, end) = (offset as usize, offset as usize + data.len());
        let mut all = vec![0; size.max(end)];
        self.files.pread(fd, 0, &mut all[..size])?;
        all[begin..end].copy_from_slice(data);
        self.files.ftruncate(fd, 0)?;
        self.files.pwrite(fd, 0, &all)
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
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.files.ftruncate(fd, size)
    }
    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.files.fstat(fd)
    }
    fn fsync(&self, fd: Fd) -> Result<()> {
        self.files.fsync(fd)
    }
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.files.fdatasync(fd)
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
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.files.sync_dir(path)
    }
    fn sync(&self) -> Result<()> {
        self.files.sync()
    }
}
