//! Building a stack and calling its layers in order (EX-38).
//!
//! First start: per component, bottom up, init then mount. Later starts: mount, bottom up. After a
//! crash: per component, bottom up, recover then mount. The end: unmount, top down.

use std::any::Any;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ramdisk::{Files, RamDisk};
use tracing::debug_span;

use super::abilities::Settle;
use super::asks::{Asks, Desk};
use super::blueprint::{Blueprint, PlannedLayer};
use super::component::{Below, Component, LayerPaths, LazyLayerPaths, Recovery, Surface};
use super::layer_ref::LayerRef;
use super::spec::StackSpec;
use crate::base::{Blame, StepError, UsageError};
use crate::devices::{Devices, DiskSet, HostId, Side};
use crate::events::CallLog;
use crate::stack::Components;
use crate::verdict::{Broken, BrokenKind, CheckError, DiskStage, Verdict, Violation};
use crate::writeset::DeviceRules;

/// A stack on some devices.
pub struct Stack {
    blueprint: Blueprint,
    pub(super) devices: Devices,
    desk: Rc<Desk>,
    pub(super) rules: DeviceRules,
    seed: u64,
    pub(super) levels: Vec<MountedLayer>,
    /// Where the calls on its files are written down, if they are.
    pub(super) log: Option<CallLog>,
    /// Where the calls of its components are placed among the events, if they are.
    pub(super) placed: Option<CallLog>,
    /// The file system was not empty after the first start.
    pub(super) starts_populated: bool,
    /// The calls that the probe of the checker found missing.
    pub(super) unsupported_calls: Vec<String>,
}

pub(super) struct MountedLayer {
    pub(super) plan: Rc<PlannedLayer>,
    pub(super) component: Box<dyn Component>,
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
        rules: DeviceRules,
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
        rules: DeviceRules,
        seed: u64,
    ) -> Result<Stack, UsageError> {
        let made = blueprint.make()?;
        Ok(Stack::of(blueprint.clone(), made, devices, rules, seed))
    }

    fn of(
        blueprint: Blueprint,
        made: Vec<Box<dyn Component>>,
        devices: Devices,
        rules: DeviceRules,
        seed: u64,
    ) -> Stack {
        let places = places(&*devices);
        let level = |(plan, component): (&Rc<PlannedLayer>, _)| {
            let (plan, place) = (Rc::clone(plan), places.join(&plan.name));
            MountedLayer { plan, component, place, mounted: false, followed: None }
        };
        let levels: Vec<MountedLayer> = blueprint.layers.iter().zip(made).map(level).collect();
        if let Some(kernel) = devices.kernel() {
            kernel.make_folders(
                &levels.iter().map(|level| level.place.as_path()).collect::<Vec<_>>(),
            );
        }
        Stack {
            blueprint,
            desk: Desk::new(&devices),
            devices,
            rules,
            seed,
            levels,
            log: None,
            placed: None,
            starts_populated: false,
            unsupported_calls: Vec::new(),
        }
    }

    /// By this more stacks of its description can be built.
    pub(crate) fn blueprint(&self) -> Blueprint {
        self.blueprint.clone()
    }

    /// The first start: init then mount, bottom up.
    pub fn start_first(&mut self) -> Result<(), StepError> {
        self.bottom_up(|component, below| {
            component.init(below)?;
            component.mount(below)
        })
    }

    /// A later start: mount, bottom up.
    pub fn start(&mut self) -> Result<(), StepError> {
        self.bottom_up(|component, below| component.mount(below))
    }

    /// Mounts, bottom up, no more than it takes to have so many file systems of the kernel; returns
    /// where they are.
    ///
    /// # Errors
    /// There are not so many, or one cannot be mounted.
    pub(crate) fn start_file_systems(&mut self, wanted: u32) -> Result<Vec<PathBuf>, StepError> {
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
            return Err(StepError::new("a file system of the stack is not there any more")
                .blame(Blame::Tool));
        }
        Ok(found)
    }

    /// Has it a file system of the kernel, mounted now?
    pub(crate) fn has_file_system(&self) -> bool {
        self.levels.iter().any(|level| level.file_system().is_some())
    }

    /// After a crash: recover then mount, bottom up; each is announced. Failing is the checked
    /// system's error, unless the component says otherwise.
    ///
    /// # Errors
    /// The violation `recover-failed` or `mount-failed`, what is broken, or what `announce` says.
    pub fn recover(
        &mut self,
        announce: &mut dyn FnMut(DiskStage) -> Result<(), CheckError>,
    ) -> Result<Recovery, CheckError> {
        let failed = |verdict: Verdict, fault: StepError| match fault.blame {
            Blame::CheckedSystem => {
                Violation::new(verdict, verdict.as_str(), fault.to_string()).into()
            }
            Blame::Promise(promise) => Violation::new(verdict, promise, fault.to_string()).into(),
            Blame::Tool => CheckError::Broken(fault.of(verdict.as_str()).into()),
        };
        let mut found = Recovery::Clean;
        self.desk.is_of_crash();
        for level in 0..self.levels.len() {
            let name = self.levels[level].plan.name.clone();
            announce(DiskStage::Recover)?;
            let recovery = debug_span!("recover", layer = &*name)
                .in_scope(|| self.call(level, |component, below| component.recover(below)));
            let recovery =
                recovery.map_err(|fault| failed(Verdict::RecoverFailed, fault.of(&name)))?;
            if recovery == Recovery::Repaired {
                found = Recovery::Repaired;
            }
            announce(DiskStage::Mount)?;
            let mounted = debug_span!("mount", layer = &*name)
                .in_scope(|| self.call(level, |component, below| component.mount(below)));
            mounted.map_err(|fault| failed(Verdict::MountFailed, fault.of(&name)))?;
            self.levels[level].mounted = true;
        }
        Ok(found)
    }

    /// The end: unmount, top down.
    pub fn stop(&mut self) -> Result<(), StepError> {
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

    /// A mutate begins on it (`on`), or has ended: only in between its components, and the kernel,
    /// may ask for crash checks.
    pub(crate) fn listen(&self, on: bool) {
        self.desk.listen(on);
        self.devices.kernel().into_iter().for_each(|kernel| kernel.listen(on));
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
    pub(crate) fn refused(&self) -> Option<Broken> {
        let of_kernel = || self.devices.kernel().and_then(|kernel| kernel.refused());
        self.desk.refused().or_else(|| of_kernel().map(|fault| BrokenKind::Component.of(fault)))
    }

    /// Brings what the components hold to the devices, as it is, bottom up (a soft crash follows).
    ///
    /// # Errors
    /// A component that cannot.
    pub fn settle(&self) -> Result<(), StepError> {
        self.levels.iter().try_for_each(|level| {
            let settle = level.component.abilities().write_out;
            settle.map_or(Ok(()), Settle::settle).map_err(|fault| fault.of(&level.plan.name))
        })
    }

    /// Where a shell command finds what the top component offers.
    pub fn paths(&self) -> LayerPaths {
        self.levels
            .len()
            .checked_sub(1)
            .map_or_else(LayerPaths::default, |top| paths(&self.levels, top))
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
    pub fn files(&self) -> Result<Rc<dyn Files>, StepError> {
        match self.top() {
            Surface::Files(files) => match &self.log {
                Some(log) => Ok(log.around(files)),
                None => Ok(files),
            },
            other => Err(wrong_top("files", &other)),
        }
    }

    /// The block device that the top component offers.
    pub fn disk(&self) -> Result<RamDisk, StepError> {
        match self.top() {
            Surface::Disk(disk) => Ok(disk),
            other => Err(wrong_top("a simulated disk", &other)),
        }
    }

    /// The engine that the top component offers.
    pub fn engine<T: Any>(&self) -> Result<Rc<T>, StepError> {
        let wanted = || format!("an engine ({})", last_segment(std::any::type_name::<T>()));
        match self.top() {
            Surface::Engine(engine) => engine.downcast().map_err(|_| {
                StepError::new(format!(
                    "this checker needs {}, and the stack's top offers another",
                    wanted()
                ))
            }),
            other => Err(wrong_top(&wanted(), &other)),
        }
    }

    fn bottom_up(
        &mut self,
        step: impl Fn(&mut dyn Component, &Below<'_>) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        for level in 0..self.levels.len() {
            self.call(level, &step).map_err(|fault| fault.of(&self.levels[level].plan.name))?;
            self.levels[level].mounted = true;
            self.follow(level)?;
        }
        Ok(())
    }

    /// Before anything is done on what has just been mounted: its calls are followed, if they are
    /// wanted.
    fn follow(&mut self, level: usize) -> Result<(), StepError> {
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

    fn call<T>(
        &mut self,
        level: usize,
        step: impl FnOnce(&mut dyn Component, &Below<'_>) -> T,
    ) -> T {
        let Stack { devices, desk, rules, seed, levels, placed, .. } = self;
        // Children stand before their parents.
        let (below, above) = levels.split_at_mut(level);
        let below = &*below;
        let MountedLayer { plan, component, place, .. } = &mut above[0];
        let children: Vec<Surface> =
            plan.children.iter().map(|child| surface(below, *child)).collect();
        let children = match placed {
            Some(log) => children.into_iter().map(|child| child.placed(log, &plan.name)).collect(),
            None => children,
        };
        let look_up = || plan.children.iter().map(|child| paths(below, *child)).collect();
        let paths = LazyLayerPaths::new(&look_up);
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
            desk.refuse(BrokenKind::Component.of(fault.of(name)));
        }
        debug_assert_eq!(component.facts(), *facts, "the facts of a component do not change");
        done
    }

    pub(super) fn surface(&self, level: usize) -> Surface {
        surface(&self.levels, level)
    }
}

/// What a layer offers, or the layer that it stands on.
fn surface(levels: &[MountedLayer], level: usize) -> Surface {
    match (levels[level].component.surface(), levels[level].plan.children.first()) {
        (Surface::Child, Some(child)) => surface(levels, *child),
        (surface, _) => surface,
    }
}

/// Where a shell command finds a layer.
fn paths(levels: &[MountedLayer], level: usize) -> LayerPaths {
    let MountedLayer { plan, component, .. } = &levels[level];
    let child =
        || plan.children.first().map_or_else(LayerPaths::default, |child| paths(levels, *child));
    match component.surface() {
        Surface::Block(node) => LayerPaths { path: Some(node.clone()), device: Some(node) },
        _ => match component.abilities().path {
            Some(path) => LayerPaths { path: Some(path), device: child().device },
            None => child(),
        },
    }
}

impl MountedLayer {
    pub(super) fn standing(&self) -> LayerRef<'_> {
        (&self.plan.facts, &self.plan.children)
    }

    /// Where its file system is mounted, if it has one of its own.
    pub(super) fn file_system(&self) -> Option<PathBuf> {
        let path = self.component.abilities().path?;
        let device = |path: &Path| path.symlink_metadata().ok().map(|metadata| metadata.dev());
        (device(&path)? != device(path.parent()?)?).then_some(path)
    }
}

/// A stack that goes is a machine that stops: nothing that its components do on their way out
/// matters. In process that is all, unless a component holds something elsewhere; of the kernel's
/// devices everything is unmounted, so that they can be given other contents.
impl Drop for Stack {
    fn drop(&mut self) {
        self.devices.fence();
        let devices = Rc::clone(&self.devices);
        if let Some(kernel) = devices.kernel() {
            self.stop().unwrap_or_else(|fault| kernel.give_up(&fault));
        } else if self
            .levels
            .iter()
            .any(|level| level.mounted && level.component.abilities().must_unmount)
        {
            // The next stack has folders of its own: what stays behind here disturbs nothing.
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
fn wrong_top(wanted: &str, found: &Surface) -> StepError {
    StepError::new(format!("this checker needs {wanted}, and the stack's top offers {found:?}"))
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
        for (name, told) in
            [("Folder", "Folder"), ("a::b::Folder", "Folder"), ("a::Of<b::C>", "Of")]
        {
            assert_eq!(last_segment(name), told);
        }
    }
}
