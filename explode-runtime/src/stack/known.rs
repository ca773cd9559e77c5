//! The facts of a stack: its promises, its programs, its possible faults, and the files of its
//! first start.

use std::path::PathBuf;
use std::rc::Rc;

use explode_ramdisk::Image;
use itertools::Itertools as _;

use super::abilities::BaselineCheck;
use super::as_shell::{ShellFileSystem, ShellLayer, no_shell_form};
use super::blueprint::PlannedLayer;
use super::component::Surface;
use super::promises::promised;
use super::stack::{MountedLayer, Stack};
use crate::base::StepError;
use crate::events::CallLog;
use crate::faults::background::BackgroundWork;
use crate::faults::kernel::KernelFaults;
use crate::faults::media::{MediaFaults, MediaSite, MediaView};
use crate::verdict::{ExcludedPromises, Profile};

/// Paths in the root directory that mkfs creates for the file system itself. e2fsck and fsck.minix
/// put recovered files into `lost+found`, and `nilfs_cleanerd` holds `.nilfs` open. Checkers ignore
/// them while they are empty.
pub const RESERVED: [&str; 2] = ["/lost+found", "/.nilfs"];

impl Stack {
    /// Returns the number of devices of the stack. Devices are numbered from 0.
    pub fn device_count(&self) -> u32 {
        self.levels.iter().map(|level| level.plan.facts.devices).sum()
    }

    /// Returns the promises of the stack: the profile of the topmost component that has one. If
    /// that component asks for it ([`Facts::promises_as_below`](super::Facts::promises_as_below)),
    /// the promises that the layers below exclude are excluded.
    pub fn profile(&self) -> Option<Profile> {
        promised(&self.levels.iter().map(MountedLayer::layer).collect::<Vec<_>>())
    }

    /// Returns the promises that the profile excludes.
    pub fn excluded(&self) -> ExcludedPromises {
        ExcludedPromises::by(self.profile().as_ref())
    }

    /// Describes the contents of a sector of a device. The description comes from the component of
    /// the device or from the first layer above that has one.
    pub fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        let owners = self.levels.iter().enumerate().filter_map(|(at, level)| {
            let index = device.checked_sub(level.plan.first_device)?;
            (index < level.plan.facts.devices).then_some((at, index))
        });
        let (owner, index) = owners.exactly_one().ok()?;
        let above = self.levels.iter().filter(|level| level.plan.children.first() == Some(&owner));
        let mut levels = std::iter::once(&self.levels[owner]).chain(above);
        levels.find_map(|level| level.component.abilities().inspect?.describe_sector(index, sector))
    }

    /// Returns the names and versions of the stack's systems and of the packages of its commands.
    pub fn versions(&self) -> Vec<(String, String)> {
        let facts = || self.levels.iter().map(|level| &level.plan.facts);
        let systems = facts().filter_map(|facts| facts.version.clone());
        let systems = systems.map(|(name, version)| (name.to_owned(), version));
        systems.chain(facts().flat_map(|facts| facts.packages.clone())).collect()
    }

    /// Returns the paths of the programs that the layers run.
    pub(crate) fn programs(&self) -> Vec<PathBuf> {
        self.levels.iter().flat_map(|level| level.plan.facts.programs.clone()).collect()
    }

    /// Returns the number of disks that the stack can do without.
    pub(crate) fn can_lose(&self) -> u32 {
        self.levels.iter().map(|level| level.plan.facts.can_lose).max().unwrap_or(0)
    }

    /// Returns true if a leaf has blocks that may go bad, or a disk that may fail.
    pub(crate) fn may_go_bad(&self) -> bool {
        self.levels.iter().any(|level| !level.plan.facts.faults.media.is_sound())
    }

    /// Returns the functions of the kernel that may fail in a mutate.
    pub fn failures(&self) -> KernelFaults {
        let all = self.levels.iter().map(|level| level.plan.facts.faults.kernel.clone());
        all.fold(KernelFaults::default(), KernelFaults::and)
    }

    /// Returns the background work that the kernel may do between two calls.
    pub(crate) fn between(&self) -> BackgroundWork {
        let all = self.levels.iter().map(|level| level.plan.facts.faults.background);
        all.fold(BackgroundWork::default(), BackgroundWork::and)
    }

    /// Returns the blocks that may go bad, layer by layer, bottom first. `durable` holds the
    /// durable contents of the devices.
    pub(crate) fn media_sites(&self, durable: &Image) -> Vec<(MediaFaults, MediaSite)> {
        let of = |level: &MountedLayer| {
            let MountedLayer { plan, component, .. } = level;
            let PlannedLayer { name, facts, first_device, .. } = &**plan;
            let media = facts.faults.media;
            let block_bytes = self.rules.block_bytes;
            let medium = MediaView {
                layer: name,
                first_device: *first_device,
                faults: media,
                durable,
                block_bytes,
            };
            let inspect = component.abilities().inspect.filter(|_| !media.is_sound());
            let sites = inspect.map_or_else(Vec::new, |inspect| inspect.media_sites(&medium));
            sites.into_iter().map(move |site| (media, site))
        };
        self.levels.iter().flat_map(of).collect()
    }

    /// Returns true if the file system was not empty after the first start, because a component
    /// declares it ([`Facts::starts_populated`](super::Facts::starts_populated)) or files were
    /// found.
    pub fn starts_populated(&self) -> bool {
        self.starts_populated || self.levels.iter().any(|level| level.plan.facts.starts_populated)
    }

    /// Returns true if the file systems of the stack have a clock. It stands still until
    /// [`pass_time`](Stack::pass_time) sets it forward. Soft crashes repeat calls, and have none.
    pub fn has_clock(&self) -> bool {
        self.devices().kernel().is_some_and(|kernel| !kernel.notes_operations())
    }

    /// Sets the clock of the file systems forward, so that the next change of a file changes its
    /// times. Without a clock it does nothing.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn pass_time(&self) -> Result<(), StepError> {
        match self.devices().kernel() {
            Some(kernel) if self.has_clock() => kernel.pass_time(),
            _ => Ok(()),
        }
    }

    /// Looks for files after the first start.
    pub(crate) fn look_for_files(&mut self) {
        self.starts_populated = !self.names_at_root().is_empty();
    }

    /// Sets the result of [`look_for_files`](Stack::look_for_files) on another stack.
    pub(crate) fn set_starts_populated(&mut self, starts_populated: bool) {
        self.starts_populated = starts_populated;
    }

    /// Returns the calls that the checker's probe found unsupported on another stack of this
    /// description. The checker omits them.
    pub fn unsupported_calls(&self) -> &[String] {
        &self.unsupported_calls
    }

    /// Sets the result of the checker's probe.
    pub(crate) fn set_unsupported_calls(&mut self, calls: &[String]) {
        self.unsupported_calls = calls.to_vec();
    }

    /// Returns the names in the root directory of the top component's files, except [`RESERVED`].
    /// Empty if the top offers no files or the directory cannot be read.
    pub(crate) fn names_at_root(&self) -> Vec<String> {
        let Surface::Files(files) = self.top() else { return Vec::new() };
        let names = files.readdir("/").unwrap_or_default().into_iter().map(|(name, _)| name);
        names.filter(|name| !RESERVED.iter().any(|path| path[1..] == **name)).collect()
    }

    /// Returns the state that no event shows, each with the name of its component.
    pub fn unobserved(&self) -> Vec<(String, &'static str)> {
        let hidden =
            |level: &MountedLayer| Some((level.plan.name.clone(), level.plan.facts.unobserved?));
        self.levels.iter().filter_map(hidden).collect()
    }

    /// Returns the state that no event shows under soft crashes. In process every operation is
    /// logged.
    pub(crate) fn unobserved_by_soft_crashes(&self) -> Vec<(String, &'static str)> {
        let systems = self.levels.iter().filter(|level| level.file_system().is_some());
        let reason =
            "what is stored through a shared mapping (mmap), until crash checks are asked for";
        systems.map(|level| (level.plan.name.clone(), reason)).collect()
    }

    /// Logs the calls on the stack's files and the commands of its checker to `log` from now on.
    pub(crate) fn note(&mut self, log: CallLog) {
        if self.has_clock() {
            let devices = Rc::downgrade(&self.devices);
            log.tick_by(Rc::new(move || {
                let devices = devices.upgrade();
                let kernel = devices.as_ref().and_then(|devices| devices.kernel());
                // A clock that cannot be set stands still.
                kernel.map(|kernel| kernel.pass_time().ok());
            }));
        }
        self.log = Some(log);
    }

    /// Gives each of these calls, and each call of a component on the files below it, a place among
    /// the events from now on. Called before the stack is started.
    pub(crate) fn place_calls(&mut self, log: CallLog) {
        let devices = Rc::downgrade(&self.devices);
        // The pipeline reports a log that cannot be read.
        log.place_by(Rc::new(move || {
            devices.upgrade().and_then(|devices| devices.logged().ok()).unwrap_or_default()
        }));
        self.placed = Some(log);
    }

    /// Returns the log of the calls. `None` if they are not logged.
    pub fn log(&self) -> Option<&CallLog> {
        self.log.as_ref()
    }

    /// Returns the shell equivalent of the stack: the bytes of its disk, and the file system on it.
    ///
    /// # Errors
    /// A text with the layers if the stack is not a kernel file system on one disk.
    pub(crate) fn as_shell(&self) -> Result<(u64, ShellFileSystem), String> {
        let as_shell =
            |level: &MountedLayer| Some(level.component.abilities().as_shell?.as_shell());
        let layers: Vec<Option<ShellLayer>> = self.levels.iter().map(as_shell).collect();
        match &layers[..] {
            [Some(ShellLayer::Disk(bytes)), Some(ShellLayer::FileSystem(system))] => {
                Ok((*bytes, system.clone()))
            }
            _ => {
                let names: Vec<&str> =
                    self.levels.iter().map(|level| level.plan.name.as_str()).collect();
                Err(no_shell_form(&names))
            }
        }
    }

    /// Returns the threads that the components name, each with the name of its layer.
    pub fn threads(&self) -> Vec<(&str, u32)> {
        let threads = |level: &MountedLayer| level.component.threads();
        let named = self.levels.iter().map(|level| (level.plan.name.as_str(), threads(level)));
        named.flat_map(|(name, threads)| threads.into_iter().map(move |pid| (name, pid))).collect()
    }

    /// Returns the first layer that does not depend on its disks alone. `None` if all layers do.
    pub fn first_impure_layer(&self) -> Option<&str> {
        let confined = self.confines_commands();
        let is_impure = |level: &&MountedLayer| {
            let commands = level.plan.commands;
            !(level.plan.facts.reads_only_its_disks || commands && confined)
        };
        Some(&self.levels.iter().find(is_impure)?.plan.name)
    }

    /// Returns true if shell commands on the stack read and write nothing but its files, so that
    /// their crashes are hard and a verdict can be reused.
    pub fn confines_commands(&self) -> bool {
        self.levels.iter().any(|level| level.plan.facts.confines_commands)
    }

    /// Returns the check of a crash disk without explode and its block device. `None` unless the
    /// stack is one component on one block device and the component has such a check.
    pub fn baseline(&self) -> Option<(PathBuf, BaselineCheck)> {
        let [device, system] = &self.levels[..] else { return None };
        match device.component.surface() {
            Surface::Block(node) => Some((node, system.component.abilities().baseline?.baseline())),
            _ => None,
        }
    }
}
