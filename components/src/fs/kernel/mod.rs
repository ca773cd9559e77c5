//! File systems of the kernel: made by their mkfs, mounted by mount(2), repaired by their fsck, used through [`MountedFiles`].
//!
//! One file a system says what is particular about it, as a [`System`]; the component is the same for all.

pub mod btrfs;
pub mod exfat;
pub mod ext2;
pub mod ext4;
pub mod f2fs;
mod floor;
pub mod minix;
pub mod reiserfs;
mod still;
mod tool;
pub mod udf;
pub mod vfat;
pub mod xfs;

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_runtime::check::{Profile, Promise};
use explode_runtime::devices::let_others_finish;
use explode_runtime::failures::{FAILURE_OPTIONS, Failures};
use explode_runtime::recover::{Below, Blame, Component, Fault, Floor, Recovery, StackSpec, Surface};
use explode_runtime::run::{Mode, OptionDef};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::mounted::MountedFiles;
use tool::Tool;

/// Where these can run.
const MODES: &[Mode] = &[Mode::Vm, Mode::Here];

/// How they are mounted.
const FLAGS: MsFlags = MsFlags::MS_NODEV.union(MsFlags::MS_NOSUID).union(MsFlags::MS_NOATIME);

/// What is particular about a file system.
struct System {
    /// Its name for mount(2).
    driver: &'static str,
    /// The options of the mount.
    options: String,
    /// What makes it; the device is appended to the arguments. Every crash disk has a `System`, and none is made again: what
    /// only the first start needs is put together there.
    make: Box<dyn Fn() -> Tool>,
    /// Holds still what that has written and would write otherwise the next time; none where the program has options for it.
    made: Option<fn(&Path) -> io::Result<()>>,
    /// Repairs it, likewise; none where mounting has to do.
    repair: Option<Repair>,
    /// What must have nothing to say after mounting has recovered it; likewise.
    strict: Option<Tool>,
    /// Does mounting it start threads that do something on their own? Then they do it before anybody goes on; and what mkfs has made
    /// is mounted once, since there is most to do then.
    settles: bool,
    promises: fn() -> Vec<Promise>,
    /// What Debian 12 has not, which users would need after a crash; for the profile.
    lacks: Option<&'static str>,
    hides: Option<&'static str>,
    failures: Failures,
}

/// A repair, and the exit codes that say that something was repaired; 0 is clean, every other one is a failure.
struct Repair {
    tool: Tool,
    repaired: &'static [i32],
}

/// The components whose drivers are in no kernel of explode's, and only some stacks need; the drivers have their names.
const LOADED: [&str; 6] =
    [btrfs::DEF.name, exfat::DEF.name, f2fs::DEF.name, reiserfs::DEF.name, udf::DEF.name, xfs::DEF.name];

/// The drivers that a guest has to load for a stack.
pub fn drivers(stack: &StackSpec) -> Vec<&'static str> {
    let components = stack.components();
    LOADED.into_iter().filter(|loaded| components.contains(loaded)).collect()
}

/// A file system of the kernel on one block device.
struct KernelFs {
    system: System,
    mounted: Option<(Rc<MountedFiles>, PathBuf)>,
}

impl KernelFs {
    fn component(system: System) -> Box<dyn Component> {
        Box::new(KernelFs { system, mounted: None })
    }

    fn mount_at(&self, node: &Path, at: &Path) -> Result<(), Fault> {
        let System { driver, options, .. } = &self.system;
        let mount = || mount(Some(node), at, Some(*driver), FLAGS, Some(options.as_str()));
        let mut mounted = mount();
        if mounted == Err(Errno::ENOENT) {
            std::fs::create_dir_all(at).map_err(|error| Fault::new(format!("{}: {error}", at.display())))?;
            mounted = mount();
        }
        mounted.map_err(|errno| Fault::new(format!("mount as {driver} failed: {}", errno.desc())))?;
        if self.system.settles {
            let_others_finish()
                .map_err(|error| Fault::new(format!("sched_setscheduler: {error}")).blame(Blame::Tool))?;
        }
        Ok(())
    }
}

fn unmount_from(at: &Path) -> Result<(), Fault> {
    umount2(at, MntFlags::empty())
        .map_err(|errno| Fault::new(format!("umount of {} failed: {}", at.display(), errno.desc())))
}

impl Component for KernelFs {
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let node = below.block(0)?;
        let make = (self.system.make)();
        match make.run(&node)? {
            (0, _) => {}
            (code, said) => return Err(Fault::new(format!("{make} ended with {code}: {said}"))),
        }
        let hold = |hold: fn(&Path) -> io::Result<()>| hold(&node);
        self.system.made.map_or(Ok(()), hold).map_err(|error| {
            Fault::new(format!("what {make} has made cannot be held still: {error}")).blame(Blame::Tool)
        })?;
        if self.system.settles {
            self.mount_at(&node, below.place)?;
            unmount_from(below.place)?;
        }
        Ok(())
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let at = below.place;
        self.mount_at(&below.block(0)?, at)?;
        match MountedFiles::new(at) {
            Ok(files) => {
                self.mounted = Some((Rc::new(files), at.to_owned()));
                Ok(())
            }
            Err(errno) => {
                umount2(at, MntFlags::empty())?;
                Err(Fault::new(format!("the root directory cannot be opened: {}", errno.desc())))
            }
        }
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        if let Some((files, at)) = self.mounted.take() {
            files.close_all();
            unmount_from(&at)?;
        }
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, Fault> {
        let System { repair, strict, .. } = &self.system;
        let node = below.block(0)?;
        let mut recovery = Recovery::Clean;
        if let Some(Repair { tool, repaired }) = repair {
            match tool.run(&node)? {
                (0, _) => {}
                (code, _) if repaired.contains(&code) => recovery = Recovery::Repaired,
                (code, said) => return Err(Fault::new(format!("{tool} ended with {code}: {said}"))),
            }
        }
        if let Some(tool) = strict {
            self.mount_at(&node, below.place)?;
            unmount_from(below.place)?;
            match tool.run(&node)? {
                (0, _) => {}
                (code, said) => {
                    let text = format!("{tool} ended with {code} after mounting had recovered it: {said}");
                    return Err(Fault::new(text));
                }
            }
        }
        Ok(recovery)
    }

    fn surface(&self) -> Surface {
        let files = self.mounted.as_ref().map(|(files, _)| Rc::clone(files));
        files.map_or(Surface::Child, |files| Surface::Files(files))
    }

    fn path(&self) -> Option<PathBuf> {
        self.mounted.as_ref().map(|(_, at)| at.clone())
    }

    fn profile(&self) -> Option<Profile> {
        let System { driver, promises, lacks, .. } = &self.system;
        let lacks = lacks.map(|lacks| format!("; {lacks}")).unwrap_or_default();
        Some(Profile { system: format!("{driver} in Linux{lacks}"), promises: promises() })
    }

    fn version(&self) -> Option<(&'static str, String)> {
        let release = nix::sys::utsname::uname().ok()?.release().to_string_lossy().into_owned();
        Some(("linux", release))
    }

    fn floor(&self) -> Option<Floor> {
        Some(floor::floor(&self.system))
    }

    fn failures(&self) -> Failures {
        self.system.failures
    }

    fn hides(&self) -> Option<&'static str> {
        self.system.hides
    }
}

/// The option that all of them have.
const FSCK: OptionDef = OptionDef {
    name: "fsck",
    about: "repair with its fsck before each mount after a crash: true, false",
    default: "true",
};

/// The option of those that mounting recovers.
const STRICT: OptionDef = OptionDef {
    name: "strict",
    about: "after a crash its fsck must find nothing wrong once mounting has recovered it: true, false",
    default: "false",
};

/// The options by which all of them are told what may fail in the kernel.
const FAIL: OptionDef = FAILURE_OPTIONS[0];
const MOST_FAILURES: OptionDef = FAILURE_OPTIONS[1];

/// What the manual pages promise of every file system.
fn posix_promises() -> Vec<Promise> {
    let line = |name, quote, source| Promise { name, kept: true, quote, source };
    vec![
        line(
            "synced-by-fsync",
            "flushes all modified in-core data of the file to the disk device so that all changed information can be \
             retrieved even if the system crashes or is rebooted",
            "man-pages, fsync(2), DESCRIPTION",
        ),
        line(
            "synced-by-fdatasync",
            "does not flush modified metadata unless that metadata is needed in order to allow a subsequent data \
             retrieval to be correctly handled",
            "man-pages, fsync(2), DESCRIPTION",
        ),
        line(
            "synced-by-sync",
            "sync() or syncfs() provide the same guarantees as fsync called on every file in the system or filesystem \
             respectively",
            "man-pages, sync(2), NOTES",
        ),
    ]
}
