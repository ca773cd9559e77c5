//! Files whose rename takes steps: the new name goes, it is made again for the file, the old name goes. A step that fails leaves the
//! steps before it done, so that a rename that has failed has had an effect.

use std::rc::Rc;

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags, Result, Stat};
use explode_runtime::recover::{Below, Component, Fault, Surface};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options, UsageError};
use nix::errno::Errno;

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "rename-in-steps",
    about: "the files below it, with a rename that is unlink, link and unlink",
    modes: &[Mode::Mem, Mode::Vm, Mode::Here],
    on: Some("simfiles"),
    options: &[OptionDef {
        name: "steps",
        about: "does it take steps? Else it is what it is below: true, false",
        default: "false",
    }],
    build,
};

struct RenameInSteps {
    steps: bool,
    files: Option<Rc<dyn Files>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(RenameInSteps { steps: options.bool("steps", false)?, files: None }))
}

impl Component for RenameInSteps {
    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), Fault> {
        self.files = Some(Rc::new(Stepping { steps: self.steps, files: below.files()? }));
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

struct Stepping {
    steps: bool,
    files: Rc<dyn Files>,
}

impl Files for Stepping {
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        if !self.steps {
            return self.files.rename(from, to);
        }
        match self.files.unlink(to) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno),
        }
        self.files.link(from, to)?;
        self.files.unlink(from)
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
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.files.sync_dir(path)
    }
    fn sync(&self) -> Result<()> {
        self.files.sync()
    }
}
