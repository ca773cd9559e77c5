//! Building a stack and calling its layers in order (EX-38).
//!
//! First start: per component, bottom up, init then mount. Later starts: mount, bottom up. After a crash: per component, bottom
//! up, recover then mount. The end: unmount, top down.

use std::any::Any;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ramdisk::{Files, Image, RamDisk};

use super::abilities::{Floor, Settle};
use super::asks::{Asks, Desk};
use super::blueprint::{Blueprint, PlannedLayer};
use super::component::{Below, Component, Paths, Recovery, Surface};
use super::plain::{Plain, PlainFileSystem};
use super::promised::{Standing, promised};
use super::spec::StackSpec;
use crate::base::{Blame, Fault, UsageError};
use crate::devices::{Devices, DiskSet, HostId, Side};
use crate::events::CallLog;
use crate::faults::background::Between;
use crate::faults::kernel::Failures;
use crate::faults::media::{Media, Medium, Site};
use crate::stack::Components;
use crate::verdict::{Excluded, Failure, Profile, Stage, Verdict, Violation};
use crate::writeset::Rules;

/// Paths in the root directory that a file system's mkfs makes for the file system itself: e2fsck and fsck.minix put into
/// `lost+found` what they find, and `nilfs_cleanerd` holds on to `.nilfs`. Checkers ignore them while they are empty.
pub const RESERVED: [&str; 2] = ["/lost+found", "/.nilfs"];

/// A stack on some devices.
pub struct Stack {
    blueprint: Blueprint,
    devices: Devices,
    desk: Rc<Desk>,
    rules: Rules,
    seed: u64,
    levels: Vec<Level>,
    /// Where the calls on its files are written down, if they are.
    log: Option<CallLog>,
    /// The file system was not empty after the first start.
    starts_populated: bool,
    /// The calls that the probe of the checker found missing.
    unsupported_calls: Vec<String>,
}

struct Level {
    plan: Rc<PlannedLayer>,
    component: Box<dyn Component>,
    place: PathBuf,
    mounted: bool,
    /// The number of its file system, if the calls on that are followed.
    followed: Option<u32>,
}

impl Stack {
    /// Builds a stack from its description; nothing is mounted yet.
    ///
    /// # Errors
    /// A name, an option or a child that is not there.
    pub fn build(
        spec: &StackSpec,
        components: &Components,
        devices: Devices,
        rules: Rules,
        seed: u64,
    ) -> Result<Stack, UsageError> {
        let (blueprint, made) = Blueprint::of(spec, components)?;
        Ok(Stack::of(blueprint, made, devices, rules, seed))
    }

    /// Builds another stack of the same description.
    ///
    /// # Errors
    /// What a component says of its options.
    pub fn build_again(
        blueprint: &Blueprint,
        devices: Devices,
        rules: Rules,
        seed: u64,
    ) -> Result<Stack, UsageError> {
        let made = blueprint.make()?;
        Ok(Stack::of(blueprint.clone(), made, devices, rules, seed))
    }

    fn of(
        blueprint: Blueprint,
        made: Vec<Box<dyn Component>>,
        devices: Devices,
        rules: Rules,
        seed: u64,
    ) -> Stack {
        let places = places(&*devices);
        let level = |(plan, component): (&Rc<PlannedLayer>, _)| {
            let (plan, place) = (Rc::clone(plan), places.join(&plan.name));
            Level { plan, component, place, mounted: false, followed: None }
        };
        let levels: Vec<Level> = blueprint.layers.iter().zip(made).map(level).collect();
        if let Some(kernel) = devices.kernel() {
            kernel.make_folders(&levels.iter().map(|level| level.place.as_path()).collect::<Vec<_>>());
        }
        Stack {
            blueprint,
            desk: Desk::new(&devices),
            devices,
            rules,
            seed,
            levels,
            log: None,
            starts_populated: false,
            unsupported_calls: Vec::new(),
        }
    }

    /// By this more stacks of its description can be built.
    pub(crate) fn blueprint(&self) -> Blueprint {
        self.blueprint.clone()
    }

    /// The first start: init then mount, bottom up.
    pub fn start_first(&mut self) -> Result<(), Fault> {
        self.bottom_up(|component, below| {
            component.init(below)?;
            component.mount(below)
        })
    }

    /// A later start: mount, bottom up.
    pub fn start(&mut self) -> Result<(), Fault> {
        self.bottom_up(|component, below| component.mount(below))
    }

    /// Mounts, bottom up, no more than it takes to have so many file systems of the kernel; returns where they are.
    ///
    /// # Errors
    /// There are not so many, or one cannot be mounted.
    pub(crate) fn start_file_systems(&mut self, wanted: u32) -> Result<Vec<PathBuf>, Fault> {
        let mut found = Vec::new();
        for level in 0..self.levels.len() {
            if found.len() as u32 == wanted {
                break;
            }
            let mounted = self.call(level, |component, below| component.mount(below));
            mounted.map_err(|fault| fault.of(&self.levels[level].plan.name))?;
            self.levels[level].mounted = true;
            found.extend(self.levels[level].file_system());
        }
        if (found.len() as u32) < wanted {
            return Err(Fault::new("a file system of the stack is not there any more").blame(Blame::Tool));
        }
        Ok(found)
    }

    /// Has it a file system of the kernel, mounted now?
    pub(crate) fn has_file_system(&self) -> bool {
        self.levels.iter().any(|level| level.file_system().is_some())
    }

    /// After a crash: recover then mount, bottom up; each is announced. Failing is the checked system's error, unless the
    /// component says otherwise.
    ///
    /// # Errors
    /// The violation `recover-failed` or `mount-failed`, what is broken, or what `announce` says.
    pub fn recover(
        &mut self,
        announce: &mut dyn FnMut(Stage) -> Result<(), Failure>,
    ) -> Result<Recovery, Failure> {
        let failed = |verdict: Verdict, fault: Fault| match fault.blame {
            Blame::System => Violation::new(verdict, verdict.as_str(), fault.to_string()).into(),
            Blame::Promise(promise) => Violation::new(verdict, promise, fault.to_string()).into(),
            Blame::Tool => Failure::Broken(fault.of(verdict.as_str()).into()),
        };
        let mut found = Recovery::Clean;
        self.desk.is_of_crash();
        for level in 0..self.levels.len() {
            let name = self.levels[level].plan.name.clone();
            announce(Stage::Recover)?;
            let recovery = self.call(level, |component, below| component.recover(below));
            let recovery = recovery.map_err(|fault| failed(Verdict::RecoverFailed, fault.of(&name)))?;
            if recovery == Recovery::Repaired {
                found = Recovery::Repaired;
            }
            announce(Stage::Mount)?;
            let mounted = self.call(level, |component, below| component.mount(below));
            mounted.map_err(|fault| failed(Verdict::MountFailed, fault.of(&name)))?;
            self.levels[level].mounted = true;
        }
        Ok(found)
    }

    /// The end: unmount, top down.
    pub fn stop(&mut self) -> Result<(), Fault> {
        self.devices.hold_still(false)?;
        for level in (0..self.levels.len()).rev() {
            if std::mem::take(&mut self.levels[level].mounted) {
                if let (Some(disks), Some(system)) =
                    (self.devices.kernel(), self.levels[level].followed.take())
                {
                    disks.unfollow(system)?;
                }
                self.call(level, |component, below| component.unmount(below))
                    .map_err(|fault| fault.of(&self.levels[level].plan.name))?;
            }
        }
        Ok(())
    }

    /// The stack is one of several: choices of its components name this host.
    pub fn set_host(&mut self, host: HostId) {
        self.desk.is_on(host);
    }

    /// A mutate begins on it (`on`), or has ended: only in between its components, and the kernel, may ask for crash checks.
    pub(crate) fn hear(&self, on: bool) {
        self.desk.hear(on);
        self.devices.kernel().into_iter().for_each(|kernel| kernel.hear(on));
    }

    /// By this the checker asks for crash checks on behalf of the programs that it runs.
    pub fn asks(&self) -> Asks {
        Asks::new(&self.desk, "a program of the checker")
    }

    /// Has a component asked for crash checks since the mutate began, or the kernel?
    pub(crate) fn has_asked(&self) -> bool {
        self.desk.has_asked() || self.devices.kernel().is_some_and(|kernel| kernel.has_asked())
    }

    /// What a component, or the kernel, must not have asked, if one has.
    pub(crate) fn refused(&self) -> Option<Fault> {
        self.desk.refused().or_else(|| self.devices.kernel().and_then(|kernel| kernel.refused()))
    }

    /// Brings what the components hold to the devices, as it is, bottom up (a soft crash follows).
    ///
    /// # Errors
    /// A component that cannot.
    pub fn settle(&self) -> Result<(), Fault> {
        self.levels.iter().try_for_each(|level| {
            let settle = level.component.abilities().settle;
            settle.map_or(Ok(()), Settle::settle).map_err(|fault| fault.of(&level.plan.name))
        })
    }

    /// Where a shell command finds what the top component offers.
    pub fn paths(&self) -> Paths {
        self.levels.len().checked_sub(1).map_or_else(Paths::default, |top| self.paths_of(top))
    }

    /// The devices.
    pub fn devices(&self) -> &dyn DiskSet {
        &*self.devices
    }

    /// What the top component offers.
    pub fn top(&self) -> Surface {
        self.levels.len().checked_sub(1).map_or(Surface::Child, |top| self.surface(top))
    }

    /// The files that the top component offers.
    pub fn files(&self) -> Result<Rc<dyn Files>, Fault> {
        match self.top() {
            Surface::Files(files) => match &self.log {
                Some(log) => Ok(log.around(files)),
                None => Ok(files),
            },
            other => Err(wrong_top("files", &other)),
        }
    }

    /// The block device that the top component offers.
    pub fn disk(&self) -> Result<RamDisk, Fault> {
        match self.top() {
            Surface::Disk(disk) => Ok(disk),
            other => Err(wrong_top("a simulated disk", &other)),
        }
    }

    /// The engine that the top component offers.
    pub fn engine<T: Any>(&self) -> Result<Rc<T>, Fault> {
        let wanted = || format!("an engine ({})", last_segment(std::any::type_name::<T>()));
        match self.top() {
            Surface::Engine(engine) => engine.downcast().map_err(|_| {
                Fault::new(format!("this checker needs {}, and the stack's top offers another", wanted()))
            }),
            other => Err(wrong_top(&wanted(), &other)),
        }
    }

    /// How many devices it stands on: their numbers are 0 and so on.
    pub fn device_count(&self) -> u32 {
        self.levels.iter().map(|level| level.plan.facts.devices).sum()
    }

    /// What the stack promises: the profile of the topmost component that has one, as far as what it stands on keeps it if it says so
    /// ([`Facts::promises_as_below`](super::Facts::promises_as_below)).
    pub fn profile(&self) -> Option<Profile> {
        promised(&self.levels.iter().map(Level::standing).collect::<Vec<_>>())
    }

    /// The promises that the profile excludes.
    pub fn excluded(&self) -> Excluded {
        Excluded::by(self.profile().as_ref())
    }

    /// Describes the contents of a sector of a device, if the component of the device can, or the first one that stands on it.
    pub fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        let mut owners = self.levels.iter().enumerate().filter_map(|(at, level)| {
            let index = device.checked_sub(level.plan.first_device)?;
            (index < level.plan.facts.devices).then_some((at, index))
        });
        let (owner, index) = owners.next()?;
        let above = self.levels.iter().filter(|level| level.plan.children.first() == Some(&owner));
        let mut levels = std::iter::once(&self.levels[owner]).chain(above);
        levels.find_map(|level| level.component.abilities().inspect?.describe_sector(index, sector))
    }

    /// The names and versions of its systems.
    pub fn versions(&self) -> Vec<(&'static str, String)> {
        self.levels.iter().filter_map(|level| level.plan.facts.version.clone()).collect()
    }

    /// The programs that its layers run, by path.
    pub(crate) fn programs(&self) -> Vec<PathBuf> {
        self.levels.iter().flat_map(|level| level.plan.facts.programs.clone()).collect()
    }

    /// Has it a leaf that may go bad?
    pub(crate) fn may_go_bad(&self) -> bool {
        self.levels.iter().any(|level| !level.plan.facts.faults.media.is_sound())
    }

    /// The functions of the kernel that may fail in a mutate.
    pub fn failures(&self) -> Failures {
        let all = self.levels.iter().map(|level| level.plan.facts.faults.kernel.clone());
        all.fold(Failures::default(), Failures::and)
    }

    /// What the kernel may do on its own between two calls.
    pub(crate) fn between(&self) -> Between {
        let all = self.levels.iter().map(|level| level.plan.facts.faults.background);
        all.fold(Between::default(), Between::and)
    }

    /// The blocks that may go bad, layer by layer, bottom first, where the devices hold this for sure.
    pub(crate) fn media_sites(&self, durable: &Image) -> Vec<(Media, Site)> {
        let of = |level: &Level| {
            let Level { plan, component, .. } = level;
            let PlannedLayer { name, facts, first_device, .. } = &**plan;
            let media = facts.faults.media;
            let block_bytes = self.rules.block_bytes;
            let medium = Medium { layer: name, first_device: *first_device, durable, block_bytes };
            let inspect = component.abilities().inspect.filter(|_| !media.is_sound());
            let sites = inspect.map_or_else(Vec::new, |inspect| inspect.media_sites(&medium));
            sites.into_iter().map(move |site| (media, site))
        };
        self.levels.iter().flat_map(of).collect()
    }

    /// True if there were files after the first start: a component declares them ([`Facts::starts_populated`](super::Facts::starts_populated)), or they were
    /// found there.
    pub fn starts_populated(&self) -> bool {
        self.starts_populated || self.levels.iter().any(|level| level.plan.facts.starts_populated)
    }

    /// Looks for files that the first start has left.
    pub(crate) fn look_for_files(&mut self) {
        self.starts_populated = !self.names_at_root().is_empty();
    }

    /// Sets what another stack has found after its first start.
    pub(crate) fn set_starts_populated(&mut self, starts_populated: bool) {
        self.starts_populated = starts_populated;
    }

    /// The calls that the probe of the checker found missing on another stack of this description. The checker omits them.
    pub fn unsupported_calls(&self) -> &[String] {
        &self.unsupported_calls
    }

    /// Sets what the probe of the checker found.
    pub(crate) fn set_unsupported_calls(&mut self, calls: &[String]) {
        self.unsupported_calls = calls.to_vec();
    }

    /// The names in the root directory of the files that the top component offers, but for [`RESERVED`]. None if the top offers
    /// no files, or the directory cannot be read.
    pub(crate) fn names_at_root(&self) -> Vec<String> {
        let Surface::Files(files) = self.top() else { return Vec::new() };
        let names = files.readdir("/").unwrap_or_default().into_iter().map(|(name, _)| name);
        names.filter(|name| !RESERVED.iter().any(|path| path[1..] == **name)).collect()
    }

    /// What its components keep where no event shows it, with their names.
    pub fn hides(&self) -> Vec<(String, &'static str)> {
        let hidden = |level: &Level| Some((level.plan.name.clone(), level.plan.facts.unobserved?));
        self.levels.iter().filter_map(hidden).collect()
    }

    /// The same where crashes are soft ones. In process every operation is seen.
    pub(crate) fn hides_softly(&self) -> Vec<(String, &'static str)> {
        let systems = self.levels.iter().filter(|level| level.file_system().is_some());
        let what = "what is stored through a shared mapping (mmap), until crash checks are asked for";
        systems.map(|level| (level.plan.name.clone(), what)).collect()
    }

    /// From now on the calls on its files are written down there, and the commands of its checker.
    pub(crate) fn note(&mut self, log: CallLog) {
        self.log = Some(log);
    }

    /// Where they are written down, if they are.
    pub fn log(&self) -> Option<&CallLog> {
        self.log.as_ref()
    }

    /// What a shell does in its place: the bytes of its disk, and the file system on it.
    ///
    /// # Errors
    /// It is something else; in words.
    pub(crate) fn as_shell(&self) -> Result<(u64, PlainFileSystem), String> {
        let as_shell = |level: &Level| Some(level.component.abilities().as_shell?.as_shell());
        let layers: Vec<Option<Plain>> = self.levels.iter().map(as_shell).collect();
        match &layers[..] {
            [Some(Plain::Disk(bytes)), Some(Plain::FileSystem(system))] => Ok((*bytes, system.clone())),
            _ => {
                let names: Vec<&str> = self.levels.iter().map(|level| level.plan.name.as_str()).collect();
                Err(format!(
                    "its stack is {}, and not a file system of the kernel on one disk",
                    names.join(", ")
                ))
            }
        }
    }

    /// The threads that its components have named, each with the name of its layer.
    pub fn threads(&self) -> Vec<(&str, u32)> {
        let threads = |level: &Level| level.component.threads();
        let named = self.levels.iter().map(|level| (level.plan.name.as_str(), threads(level)));
        named.flat_map(|(name, threads)| threads.into_iter().map(move |pid| (name, pid))).collect()
    }

    /// The first layer that depends on something besides its devices, if there is one.
    pub fn not_skipping(&self) -> Option<&str> {
        let layer = self.levels.iter().find(|level| !level.plan.facts.reads_only_its_disks)?;
        Some(&layer.plan.name)
    }

    /// The check of a crash disk without explode, and the block device for it. `None` unless the stack is one component on one block
    /// device, mounted, and the component has such a check.
    pub fn baseline(&self) -> Option<(PathBuf, Floor)> {
        let [device, system] = &self.levels[..] else { return None };
        match device.component.surface() {
            Surface::Block(node) => Some((node, system.component.abilities().baseline?.baseline())),
            _ => None,
        }
    }

    fn bottom_up(
        &mut self,
        step: impl Fn(&mut dyn Component, &Below<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for level in 0..self.levels.len() {
            self.call(level, &step).map_err(|fault| fault.of(&self.levels[level].plan.name))?;
            self.levels[level].mounted = true;
            self.follow(level)?;
        }
        Ok(())
    }

    /// Before anything is done on what has just been mounted: its calls are followed, if they are wanted.
    fn follow(&mut self, level: usize) -> Result<(), Fault> {
        let Some(disks) = self.devices.kernel().filter(|disks| disks.notes_operations()) else {
            return Ok(());
        };
        if let Some(path) = self.levels[level].file_system() {
            let system = disks.followed();
            disks.follow(&path)?;
            self.levels[level].followed = Some(system);
        }
        Ok(())
    }

    fn call<T>(&mut self, level: usize, step: impl FnOnce(&mut dyn Component, &Below<'_>) -> T) -> T {
        let children: Vec<Surface> =
            self.levels[level].plan.children.iter().map(|child| self.surface(*child)).collect();
        let paths: Vec<Paths> =
            self.levels[level].plan.children.iter().map(|child| self.paths_of(*child)).collect();
        let Stack { devices, desk, rules, seed, levels, .. } = self;
        let Level { plan, component, place, .. } = &mut levels[level];
        let PlannedLayer { name, facts, first_device, buffers, .. } = &**plan;
        let below = Below {
            children: &children,
            paths: &paths,
            devices: &**devices,
            first_device: *first_device,
            buffers: *buffers,
            place,
            rules: *rules,
            seed: *seed,
            asks: Asks::new(desk, name),
        };
        let done = step(component.as_mut(), &below);
        let of_crash = devices.kernel().filter(|kernel| kernel.side() == Side::Crash);
        if let Some(fault) = of_crash.and_then(|kernel| kernel.refused()) {
            desk.refuse(fault.of(name));
        }
        debug_assert_eq!(component.facts(), *facts, "the facts of a component do not change");
        done
    }

    fn paths_of(&self, level: usize) -> Paths {
        let Level { plan, component, .. } = &self.levels[level];
        let children = &plan.children;
        let child = || children.first().map_or_else(Paths::default, |child| self.paths_of(*child));
        match component.surface() {
            Surface::Block(node) => Paths { path: Some(node.clone()), device: Some(node) },
            _ => match component.abilities().path {
                Some(path) => Paths { path: Some(path), device: child().device },
                None => child(),
            },
        }
    }

    fn surface(&self, level: usize) -> Surface {
        match (self.levels[level].component.surface(), self.levels[level].plan.children.first()) {
            (Surface::Child, Some(child)) => self.surface(*child),
            (surface, _) => surface,
        }
    }
}

impl Level {
    fn standing(&self) -> Standing<'_> {
        (&self.plan.facts, &self.plan.children)
    }

    /// Where its file system is mounted, if it has one of its own.
    fn file_system(&self) -> Option<PathBuf> {
        let path = self.component.abilities().path?;
        let device = |path: &Path| path.symlink_metadata().ok().map(|metadata| metadata.dev());
        (device(&path)? != device(path.parent()?)?).then_some(path)
    }
}

/// A stack that goes is a machine that stops: nothing that its components do on their way out matters. In process that is all,
/// unless a component holds something elsewhere; of the kernel's devices everything is unmounted, so that they can be given other
/// contents.
impl Drop for Stack {
    fn drop(&mut self) {
        self.devices.fence();
        let devices = Rc::clone(&self.devices);
        if let Some(kernel) = devices.kernel() {
            self.stop().unwrap_or_else(|fault| kernel.give_up(&fault));
        } else if self.levels.iter().any(|level| level.mounted && level.component.abilities().must_unmount) {
            // The next stack has folders of its own: what stays behind here is in nobody's way.
            self.stop().ok();
        }
    }
}

/// Where the components of a stack have their folders.
fn places(devices: &dyn DiskSet) -> &'static Path {
    Path::new(match devices.kernel().map(|disks| disks.side()) {
        None => "/nonexistent",
        Some(Side::Live) => "/run/explode/live",
        Some(Side::Crash) => "/run/explode/crash",
    })
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.levels.iter().map(|level| &level.plan.name)).finish()
    }
}

/// The top of a stack is not what its checker drives.
fn wrong_top(wanted: &str, found: &Surface) -> Fault {
    Fault::new(format!("this checker needs {wanted}, and the stack's top offers {found:?}"))
}

/// A type's name without the modules that it is in.
fn last_segment(name: &str) -> &str {
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::last_segment;

    #[test]
    fn a_type_is_told_without_its_modules() {
        for (name, told) in [("Folder", "Folder"), ("a::b::Folder", "Folder"), ("a::Of<b::C>", "Of")] {
            assert_eq!(last_segment(name), told);
        }
    }
}
