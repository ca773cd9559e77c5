//! littlefs, unmodified, on [flash](super::flash): a file system for microcontrollers.
//!
//! Its documentation names two devices that it supports: one whose operations are durable when they
//! return, which needs no sync (`flash.cache=none`), and one that caches writes and has a sync that
//! flushes (`flash.cache=volatile`). It has no inode numbers (all are 0) and no hard links
//! (`EOPNOTSUPP`). Changes of directories are durable when the call returns, files when they are
//! synced or closed.
//!
//! With `sync=ignored` its sync calls do not reach the flash. That is the bug of a port to a device
//! with a cache that omits them.

mod ffi;
mod files;
mod port;

use std::rc::Rc;

use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Surface};
use explode_runtime::verdict::{Profile, Promise};
use nix::errno::Errno;

use super::INTACT;
use super::flash::Flash;
use ffi::{LfsVolume, VERSION, format};
use files::MountedLittleFs;
use port::Port;

/// The name in the registry.
pub const NAME: &str = "littlefs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "littlefs, unmodified, on raw flash; offers its files", build)
        .modes([Mode::Mem])
        .on("flash")
        .options([
            OptionDef {
                name: "block_cycles",
                about: "number of erases after which metadata moves; 0: never",
                default: "500",
            },
            OptionDef {
                name: "mkconsistent",
                about: "call lfs_fs_mkconsistent after each mount: true, false",
                default: "false",
            },
            OptionDef { name: "prog", about: "minimum program size in bytes", default: "16" },
            OptionDef {
                name: "sync",
                about: "sync of the port: passed (to the flash), ignored (a bug)",
                default: "passed",
            },
        ])
}

struct LittleFs {
    block_cycles: i32,
    prog: u32,
    mkconsistent: bool,
    syncs: bool,
    mounted: Option<Rc<MountedLittleFs>>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let block_cycles = match options.int("block_cycles", 500)? {
        0 => -1,
        cycles => i32::try_from(cycles)
            .map_err(|_| UsageError(format!("block_cycles {cycles} is too large")))?,
    };
    let syncs = options.one_of("sync", &[("passed", true), ("ignored", false)])?;
    let prog = match options.int("prog", 16)? {
        prog @ 1..=512 if prog.is_power_of_two() => prog as u32,
        prog => {
            return Err(UsageError(format!(
                "prog {prog} of littlefs; use a power of 2, up to 512"
            )));
        }
    };
    let mkconsistent = options.bool("mkconsistent", false)?;
    Ok(Box::new(LittleFs { block_cycles, prog, mkconsistent, syncs, mounted: None }))
}

impl LittleFs {
    fn port(&self, below: &Below<'_>) -> Result<Port, StepError> {
        let LittleFs { prog: unit, block_cycles, syncs, .. } = *self;
        Ok(Port { flash: Flash::below(below)?, unit, block_cycles, syncs })
    }
}

impl Component for LittleFs {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        Ok(format(self.port(below)?)?)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let port = self.port(below)?;
        let failed = |action| {
            move |errno| {
                let blame = if errno == Errno::EIO { Blame::Tool } else { Blame::Promise(INTACT) };
                StepError::new(format!("littlefs cannot be {action}: {errno}")).blame(blame)
            }
        };
        let volume = LfsVolume::mount(port).map_err(failed("mounted"))?;
        if self.mkconsistent {
            volume.make_consistent().map_err(failed("made consistent"))?;
        }
        self.mounted = Some(Rc::new(MountedLittleFs(volume)));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        match self.mounted.take().and_then(Rc::into_inner) {
            Some(MountedLittleFs(volume)) => Ok(volume.unmount()?),
            None => Ok(()),
        }
    }

    fn surface(&self) -> Surface {
        self.mounted.clone().map_or(Surface::Child, |mounted| Surface::Files(mounted))
    }

    fn facts(&self) -> Facts {
        Facts::default().version("littlefs", VERSION).promises(profile())
    }
}

fn profile() -> Profile {
    const README: &str = "https://github.com/littlefs-project/littlefs/blob/master/README.md";
    let line = |name, quote| Promise { name, kept: true, quote, source: README };
    let promises = vec![
        line(
            "atomic-call",
            "All POSIX operations, such as remove and rename, are atomic, even in event of \
             power-loss. Additionally, file \
             updates are not actually committed to the filesystem until sync or close is called \
             on the file.",
        ),
        line(
            INTACT,
            "All file operations have strong copy-on-write guarantees and if power is lost the \
             filesystem will fall back \
             to the last known good state.",
        ),
        line(
            "durable-call",
            "If your storage caches writes, make sure that the provided sync function flushes all \
             the data to memory and \
             ensures that the next read fetches the data from memory, otherwise data integrity \
             can not be guaranteed.",
        ),
    ];
    Profile { system: format!("littlefs {VERSION}"), promises }
}
