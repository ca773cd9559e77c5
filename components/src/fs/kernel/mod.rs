//! File systems of the kernel: made by their mkfs, mounted by mount(2), repaired by their fsck,
//! used through [`MountedFiles`].
//!
//! Each file system has one file that describes its particulars as a [`KernelFsSpec`]. All use the
//! same component.

mod between;
pub mod btrfs;
mod common;
pub mod exfat;
pub mod ext;
pub mod f2fs;
pub mod fat;
mod floor;
pub mod hfs;
pub mod jfs;
pub mod minix;
pub mod nilfs2;
pub mod ntfs3;
pub mod overlay;
mod profiles;
pub mod reiserfs;
mod rows;
mod second;
mod several;
pub mod udf;
pub mod xfs;

use std::fs::create_dir_all;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_kernel::{KernelDisks, find_thread, yield_to_others};
use explode_ramdisk::files::Files;
use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::devices::Side;
use explode_runtime::faults::background::{BETWEEN_OPTIONS, BackgroundAction, BackgroundWork};
use explode_runtime::stack::{
    Abilities, AsShell, Baseline, BaselineCheck, Below, Component, ComponentMaker, Facts, Recovery,
    ShellFileSystem, ShellLayer, Surface,
};
use explode_runtime::verdict::{Profile, Promise};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

pub use rows::{drivers, systems};

use crate::mounted::MountedFiles;
use crate::tool::Tool;
use between::BetweenCalls;
use common::Common;
use second::{SecondDevice, SecondNode};
use several::SeveralDevices;

/// The modes in which these file systems can run.
const MODES: [Mode; 2] = [Mode::Vm, Mode::Here];

/// The flags with which all of them are mounted.
const FLAGS: MsFlags = MsFlags::MS_NODEV.union(MsFlags::MS_NOSUID).union(MsFlags::MS_NOATIME);

/// The particulars of a file system.
struct KernelFsSpec {
    /// The name for mount(2).
    driver: &'static str,
    /// The name in the profile.
    title: &'static str,
    /// The options of the mount.
    options: String,
    /// Returns the program that makes it. The component is built for every crash disk, but only the
    /// first start makes the file system. So the command is only built then.
    make: Box<dyn Fn() -> Tool>,
    /// Makes the result of `make` deterministic. `None` if options of the program do that.
    made: Option<fn(&Path) -> io::Result<()>>,
    /// The repair after a crash. `None` if mounting repairs it.
    repair: Option<Repair>,
    /// True if there is a repair tool and an option switches it off.
    unrepaired: bool,
    /// The program that must find nothing wrong after the file system was recovered, mounted and
    /// unmounted.
    strict: Option<Tool>,
    /// Waits for work that a call has left to be done ([`MountedFiles::settling`]).
    settle: Option<fn(BorrowedFd<'_>)>,
    /// True if mounting starts threads that do work on their own. The mount then waits for that
    /// work. A new file system is mounted once after mkfs, because the first mount has the most
    /// work to do.
    starts_threads: bool,
    /// Returns the promises, which depend on the options.
    promises: fn() -> Vec<Promise>,
    /// The tool that users would need after a crash and that Debian 12 lacks. For the profile.
    lacks: Option<&'static str>,
    unobserved: Option<&'static str>,
    /// True if the numbers of its buffers are places on the disk ([`Facts::buffers_are_places`]).
    buffers_are_places: bool,
    /// The options that all file systems have.
    common: Common,
    /// The background work that may happen between two calls.
    between: BackgroundWork,
    /// Returns the names of the file system's own threads for a block device of this name. Threads
    /// of work queues are shared and not among them.
    threads: fn(&str) -> Vec<String>,
    /// The use of a second device below it. `None` if it uses only one.
    second: Option<SecondDevice>,
    /// The use of all devices below it for its contents. `None` if it uses only the first for them.
    several: Option<SeveralDevices>,
}

impl KernelFsSpec {
    /// Describes a file system that `make` makes, that mounting recovers, and that has no threads.
    /// The caller sets the other fields.
    fn new(
        driver: &'static str,
        promises: fn() -> Vec<Promise>,
        options: &Options,
        make: impl Fn() -> Tool + 'static,
    ) -> Result<KernelFsSpec, UsageError> {
        Ok(KernelFsSpec {
            driver,
            title: driver,
            options: String::new(),
            make: Box::new(make),
            made: None,
            repair: None,
            unrepaired: false,
            strict: None,
            settle: None,
            starts_threads: false,
            promises,
            lacks: None,
            unobserved: None,
            buffers_are_places: true,
            common: Common::of(options)?,
            between: BackgroundWork::default(),
            threads: |_| Vec::new(),
            second: None,
            several: None,
        })
    }

    /// Returns the second device. `None` if the file system uses only one, or stands on only one.
    fn second(&self, below: &Below<'_>) -> Result<Option<SecondNode<'_>>, StepError> {
        let second = self.second.as_ref().filter(|_| below.children.len() > 1);
        second.map(|device| SecondNode::of(device, below)).transpose()
    }

    /// Returns the nodes of all devices that have contents, beside their use. `None` if only the
    /// first has.
    fn several(
        &self,
        below: &Below<'_>,
    ) -> Result<Option<(SeveralDevices, Vec<PathBuf>)>, StepError> {
        self.several.map(|several| Ok((several, several.nodes(below)?))).transpose()
    }
}

/// A repair tool, and the exit codes that mean that it repaired something. 0 means clean. Every
/// other code is a failure.
struct Repair {
    tool: Tool,
    repaired: &'static [i32],
}

/// A file system of the kernel on one block device.
struct KernelFs {
    system: Rc<KernelFsSpec>,
    mounted: Option<MountedKernelFs>,
}

/// A mounted file system.
struct MountedKernelFs {
    files: Rc<MountedFiles>,
    at: PathBuf,
    /// The offered surface: `files`, or a layer over it with background work between calls.
    surface: Rc<dyn Files>,
    /// The threads that are held back.
    threads: Vec<u32>,
}

impl KernelFs {
    fn maker(system: KernelFsSpec) -> ComponentMaker {
        let system = Rc::new(system);
        Rc::new(move || Box::new(KernelFs { system: Rc::clone(&system), mounted: None }))
    }

    fn mount_at(&self, below: &Below<'_>) -> Result<(), StepError> {
        let KernelFsSpec { driver, options, common: Common { flags, .. }, .. } = &*self.system;
        let mut options = options.clone();
        let second = self.system.second(below)?;
        if let Some((second, of_mount)) =
            second.as_ref().and_then(|second| Some((second, second.device.of_mount?)))
        {
            options.push_str(&second.argument(&format!(",{of_mount}")));
        }
        match self.system.several(below)? {
            None => mount_on(&below.block(0)?, below.place, driver, *flags, &options)?,
            Some((several, nodes)) => {
                let node = several.known(below, &nodes)?;
                let mounted = mount_on(&node, below.place, driver, *flags, &options);
                mounted.inspect_err(|_| (several.after_unmount)(&nodes))?;
            }
        }
        if self.system.starts_threads {
            yield_to_others().map_err(|error| {
                StepError::new(format!("sched_setscheduler: {error}")).blame(Blame::Tool)
            })?;
        }
        Ok(())
    }

    fn unmount_at(&self, at: &Path, below: &Below<'_>) -> Result<(), StepError> {
        unmount_from(at)?;
        if let Some((several, nodes)) = self.system.several(below)? {
            (several.after_unmount)(&nodes);
        }
        Ok(())
    }
}

/// Mounts `source` with these flags besides [`FLAGS`].
fn mount_on(
    source: &Path,
    at: &Path,
    driver: &str,
    flags: MsFlags,
    options: &str,
) -> Result<(), StepError> {
    let mount = || mount(Some(source), at, Some(driver), FLAGS | flags, Some(options));
    let mounted = match mount() {
        // The folder is made once for all crash disks. Commands of a stack file may have removed
        // it.
        Err(Errno::ENOENT) if !at.exists() => {
            create_dir_all(at).map_err(|error| {
                StepError::new(format!("{} cannot be made: {error}", at.display()))
                    .blame(Blame::Tool)
            })?;
            mount()
        }
        mounted => mounted,
    };
    mounted.map_err(|errno| StepError::new(format!("mount as {driver} failed: {}", errno.desc())))
}

fn unmount_from(at: &Path) -> Result<(), StepError> {
    umount2(at, MntFlags::empty()).map_err(|errno| {
        StepError::new(format!("umount of {} failed: {}", at.display(), errno.desc()))
    })
}

impl Component for KernelFs {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let node = below.block(0)?;
        let mut make = (self.system.make)();
        let second = self.system.second(below)?;
        if let Some(second) = &second {
            let SecondDevice { prepare, of_make, .. } = second.device;
            prepare.as_ref().map_or(Ok(()), |tool| tool.must(&second.path))?;
            make = make.and(&second.argument(of_make));
        }
        let several = self.system.several(below)?;
        match several.as_ref().and_then(|(_, nodes)| nodes.split_last()) {
            None => make.must(&node)?,
            Some((last, others)) => {
                let others = others.iter().map(|other| other.display().to_string());
                others.fold(make.clone(), |make, other| make.and(&other)).must(last)?;
            }
        }
        let hold = |hold: fn(&Path) -> io::Result<()>| hold(&node);
        self.system.made.map_or(Ok(()), hold).map_err(|error| {
            StepError::new(format!("what {make} has made cannot be held still: {error}"))
                .blame(Blame::Tool)
        })?;
        if let Some((several, nodes)) = &several {
            (several.made)(nodes).map_err(|error| StepError::new(error).blame(Blame::Tool))?;
        }
        if self.system.starts_threads {
            self.mount_at(below)?;
            self.unmount_at(below.place, below)?;
        }
        Ok(())
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let at = below.place;
        let node = below.block(0)?;
        self.mount_at(below)?;
        match self.system.mounted(below, &node) {
            Ok(mounted) => {
                self.mounted = Some(mounted);
                Ok(())
            }
            Err(fault) => {
                self.unmount_at(at, below)?;
                Err(fault)
            }
        }
    }

    fn unmount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        if let Some(MountedKernelFs { files, at, .. }) = self.mounted.take() {
            files.close_all();
            self.unmount_at(&at, below)?;
        }
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let KernelFsSpec { repair, strict, .. } = &*self.system;
        let node = below.block(0)?;
        let second = self.system.second(below)?;
        let argument =
            second.as_ref().and_then(|second| Some(second.argument(second.device.of_check?)));
        let with_second = |tool: &Tool| match &argument {
            Some(argument) => tool.clone().and(argument),
            None => tool.clone(),
        };
        let mut recovery = Recovery::Clean;
        if let Some(Repair { tool, repaired }) = repair {
            let tool = with_second(tool);
            match tool.run(&node)? {
                (0, _) => {}
                (code, _) if repaired.contains(&code) => recovery = Recovery::Repaired,
                (code, output) => {
                    return Err(StepError::new(format!("{tool} ended with {code}: {output}")));
                }
            }
        }
        if let Some(tool) = strict {
            let tool = with_second(tool);
            self.mount_at(below)?;
            self.unmount_at(below.place, below)?;
            // The mount has removed the link to a stored device.
            let _second = self.system.second(below)?;
            match tool.run(&node)? {
                (0, output) if output.is_empty() => {}
                (code, output) => {
                    let text = format!("after the recovery {tool} ended with {code}: {output}");
                    return Err(StepError::new(text));
                }
            }
        }
        Ok(recovery)
    }

    fn surface(&self) -> Surface {
        let files = self.mounted.as_ref().map(|mounted| Rc::clone(&mounted.surface));
        files.map_or(Surface::Child, Surface::Files)
    }

    fn threads(&self) -> Vec<u32> {
        self.mounted.as_ref().map_or_else(Vec::new, |mounted| mounted.threads.clone())
    }

    fn facts(&self) -> Facts {
        let KernelFsSpec { unobserved, buffers_are_places, common, between, .. } = &*self.system;
        let facts = Facts::default()
            .programs(self.system.programs())
            .promises(self.system.profile())
            .unobserved(*unobserved)
            .buffers_are_places(*buffers_are_places)
            .kernel_failures(common.failures.clone())
            .can_lose(self.system.several.map_or(0, |several| several.can_lose))
            .background(*between);
        match nix::sys::utsname::uname() {
            Ok(name) => facts.version("linux", name.release().to_string_lossy()),
            Err(_) => facts,
        }
    }

    fn abilities(&self) -> Abilities<'_> {
        let path = self.mounted.as_ref().map(|mounted| mounted.at.clone());
        Abilities::default().path(path).baseline(self).as_shell(self)
    }
}

impl Baseline for KernelFs {
    fn baseline(&self) -> BaselineCheck {
        let KernelFsSpec { driver, options, common, repair, .. } = &*self.system;
        let repair = repair.as_ref().map(|repair| repair.tool.clone());
        floor::baseline(driver, options.clone(), FLAGS | common.flags, repair)
    }
}

impl AsShell for KernelFs {
    fn as_shell(&self) -> ShellLayer {
        let KernelFsSpec { driver, options, make, repair, strict, common, .. } = &*self.system;
        let sync = common.flags.contains(MsFlags::MS_SYNCHRONOUS).then_some("sync");
        let options = ["nodev", "nosuid", "noatime", options].into_iter().chain(sync);
        let options: Vec<&str> = options.filter(|option| !option.is_empty()).collect();
        ShellLayer::FileSystem(ShellFileSystem {
            driver: (*driver).to_owned(),
            options: options.join(","),
            make: make().line(),
            repair: repair.as_ref().map(|repair| (repair.tool.line(), repair.repaired.to_vec())),
            strict: strict.as_ref().map(|tool| (tool.line(), tool.finds().map(str::to_owned))),
        })
    }
}

impl KernelFsSpec {
    fn profile(&self) -> Profile {
        let KernelFsSpec { title, promises, lacks, unrepaired, .. } = self;
        let lacks = if *unrepaired { Some("no fsck is run") } else { *lacks };
        let promises = if *unrepaired { profiles::without_fsck(&promises()) } else { promises() };
        let lacks = lacks.map(|lacks| format!(" ({lacks})")).unwrap_or_default();
        Profile { system: format!("{title} in Linux{lacks}"), promises }
    }

    fn programs(&self) -> Vec<PathBuf> {
        let KernelFsSpec { make, repair, strict, .. } = self;
        let repair = repair.as_ref().map(|repair| &repair.tool);
        [&make()].into_iter().chain(repair).chain(strict).map(Tool::path).collect()
    }

    /// Opens the file system that was mounted from this node.
    fn mounted(&self, below: &Below<'_>, node: &Path) -> Result<MountedKernelFs, StepError> {
        let at = below.place.to_owned();
        let files = MountedFiles::new(&at).map_err(|errno| {
            StepError::new(format!("the root directory cannot be opened: {}", errno.desc()))
        })?;
        let files = files.settling(self.settle);
        let driven =
            below.devices.of_type::<KernelDisks>().filter(|disks| disks.side() == Side::Live);
        // A check reads a crash disk, and most checks change nothing there.
        let files = Rc::new(if driven.is_some() { files } else { files.at_rest() });
        let Some(disks) = driven.filter(|_| !self.between.is_none()) else {
            return Ok(MountedKernelFs {
                surface: Rc::clone(&files) as _,
                files,
                at,
                threads: Vec::new(),
            });
        };
        let device = node.file_name().unwrap_or_default().to_string_lossy();
        let threads = (self.threads)(&device)
            .iter()
            .map(|name| find_thread(name))
            .collect::<Result<_, _>>()?;
        let surface = Rc::new(BetweenCalls::new(Rc::clone(&files), disks.clone(), self.between));
        Ok(MountedKernelFs { files, at, surface, threads })
    }
}

/// The option to repair, of all file systems with a repair tool.
const FSCK: OptionDef = OptionDef {
    name: "fsck",
    about: "repair with its fsck before each mount after a crash: true, false",
    default: "true",
};

/// The options for background work between two calls.
const BETWEEN: OptionDef = BETWEEN_OPTIONS[0];
const MOST_BETWEEN: OptionDef = BETWEEN_OPTIONS[1];
/// The background work that may happen on all of them.
const OWN: &[BackgroundAction] =
    &[BackgroundAction::Writeback, BackgroundAction::File, BackgroundAction::Reclaim];

/// The option of the strict check, of those with an fsck.
const STRICT: OptionDef = OptionDef {
    name: "strict",
    about: "require that its fsck finds no error after recovery, mount and unmount: true, false",
    default: "false",
};
