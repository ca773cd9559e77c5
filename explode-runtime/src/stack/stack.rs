//! Builds a stack and calls its layers in order (EX-38).
//!
//! First start: per component, bottom up, init then mount. Later starts: mount, bottom up. After a
//! crash: per component, bottom up, recover then mount. The end: unmount, top down.

use std::any::Any;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ramdisk::{Files, RamDisk};
use tracing::debug_span;

use super::abilities::WriteOut;
use super::asks::{Asks, Desk};
use super::blueprint::{Blueprint, PlannedLayer};
use super::component::{Below, Component, LayerPaths, LazyLayerPaths, Recovery, Surface};
use super::promises::LayerRef;
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
    /// The log of the calls on the stack's files. `None` if they are not logged.
    pub(super) log: Option<CallLog>,
    /// The log that gives the calls of components a place among the events. `None` if it is not
    /// wanted.
    pub(super) placed: Option<CallLog>,
    /// True if the file system was not empty after the first start.
    pub(super) starts_populated: bool,
    /// The calls that the checker's probe found unsupported.
    pub(super) unsupported_calls: Vec<String>,
}

pub(super) struct MountedLayer {
    pub(super) plan: Rc<PlannedLayer>,
    pub(super) component: Box<dyn Component>,
    place: PathBuf,
    mounted: bool,
    /// The number of its file system, if the calls on it are followed.
    followed: Option<u32>,
}

impl Stack {
    /// Builds a stack from its description. Nothing is mounted.
    ///
    /// # Errors
    /// A component or a child is unknown, or an option is wrong.
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
    /// A component rejects its options.
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

    /// Returns the blueprint, from which more stacks of this description can be built.
    pub(crate) fn blueprint(&self) -> Blueprint {
        self.blueprint.clone()
    }

    /// Starts the stack for the first time: init then mount, bottom up.
    pub fn start_first(&mut self) -> Result<(), StepError> {
        self.bottom_up(|component, below| {
            component.init(below)?;
            component.mount(below)
        })
    }

    /// Starts the stack again: mount, bottom up.
    pub fn start(&mut self) -> Result<(), StepError> {
        self.bottom_up(|component, below| component.mount(below))
    }

    /// Mounts layers, bottom up, until `wanted` file systems of the kernel are mounted. Returns
    /// their mount points.
    ///
    /// # Errors
    /// The stack has fewer file systems, or a layer cannot be mounted.
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

    /// Returns true if a file system of the kernel is mounted.
    pub(crate) fn has_file_system(&self) -> bool {
        self.levels.iter().any(|level| level.file_system().is_some())
    }

    /// Recovers and mounts each layer after a crash, bottom up. Each step is announced first. A
    /// failure is an error of the checked system unless the component blames the tool.
    ///
    /// # Errors
    /// The violation `recover-failed` or `mount-failed`, a failure of the tool, or the error of
    /// `announce`.
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

    /// Stops the stack: unmount, top down.
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

    /// Sets the host of the stack, if there are several. Choices of its components name the host.
    pub fn set_host(&mut self, host: HostId) {
        self.desk.is_on(host);
    }

    /// Records the start (`on`) or the end of a mutate. Components and the kernel may request crash
    /// checks only in between.
    pub(crate) fn listen(&self, on: bool) {
        self.desk.listen(on);
        self.devices.kernel().into_iter().for_each(|kernel| kernel.listen(on));
    }

    /// Returns the handle by which the checker requests crash checks for the programs that it runs.
    pub fn asks(&self) -> Asks {
        Asks::new(&self.desk, "a program of the checker")
    }

    /// Returns true if a component or the kernel has requested crash checks since the mutate began.
    pub(crate) fn has_requests(&self) -> bool {
        self.desk.has_requests()
            || self.devices.kernel().is_some_and(|kernel| kernel.has_requests())
    }

    /// Returns the first request of a component or of the kernel that was refused.
    pub(crate) fn refused(&self) -> Option<Broken> {
        let of_kernel = || self.devices.kernel().and_then(|kernel| kernel.refused());
        self.desk.refused().or_else(|| of_kernel().map(|fault| BrokenKind::Component.of(fault)))
    }

    /// Writes the data that the components hold to the devices, unchanged, bottom up. A soft crash
    /// follows.
    ///
    /// # Errors
    /// A component cannot write.
    pub fn write_out(&self) -> Result<(), StepError> {
        self.levels.iter().try_for_each(|level| {
            let write_out = level.component.abilities().write_out;
            write_out
                .map_or(Ok(()), WriteOut::write_out)
                .map_err(|fault| fault.of(&level.plan.name))
        })
    }

    /// Returns the paths of the top component for shell commands.
    pub fn paths(&self) -> LayerPaths {
        self.levels
            .len()
            .checked_sub(1)
            .map_or_else(LayerPaths::default, |top| paths(&self.levels, top))
    }

    /// Returns the devices.
    pub fn devices(&self) -> &dyn DiskSet {
        &*self.devices
    }

    /// Returns the surface of the top component.
    pub fn top(&self) -> Surface {
        self.levels.len().checked_sub(1).map_or(Surface::Child, |top| self.surface(top))
    }

    /// Returns the files that the top component offers.
    pub fn files(&self) -> Result<Rc<dyn Files>, StepError> {
        match self.top() {
            Surface::Files(files) => match &self.log {
                Some(log) => Ok(log.around(files)),
                None => Ok(files),
            },
            other => Err(wrong_top("files", &other)),
        }
    }

    /// Returns the simulated disk that the top component offers.
    pub fn disk(&self) -> Result<RamDisk, StepError> {
        match self.top() {
            Surface::Disk(disk) => Ok(disk),
            other => Err(wrong_top("a simulated disk", &other)),
        }
    }

    /// Returns the engine that the top component offers.
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

    /// Follows the calls on a file system that has just been mounted, if the calls are wanted.
    /// Called before anything is done on it.
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
        // Children precede their parents.
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
        let PlannedLayer { name, first_device, buffers, .. } = &**plan;
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
            calls: placed.as_ref().map(|log| log.of(name)),
        };
        let done = step(component.as_mut(), &below);
        let of_crash = devices.kernel().filter(|kernel| kernel.side() == Side::Crash);
        if let Some(fault) = of_crash.and_then(|kernel| kernel.refused()) {
            desk.refuse(BrokenKind::Component.of(fault.of(name)));
        }
        plan.compare(component.as_ref());
        done
    }

    pub(super) fn surface(&self, level: usize) -> Surface {
        surface(&self.levels, level)
    }
}

/// Returns the surface of a layer, or of the first layer below it that has one.
fn surface(levels: &[MountedLayer], level: usize) -> Surface {
    match (levels[level].component.surface(), levels[level].plan.children.first()) {
        (Surface::Child, Some(child)) => surface(levels, *child),
        (surface, _) => surface,
    }
}

/// Returns the paths of a layer for shell commands.
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
    pub(super) fn layer(&self) -> LayerRef<'_> {
        (&self.plan.facts, &self.plan.children)
    }

    /// Returns the mount point of the layer's file system, if it has one.
    pub(super) fn file_system(&self) -> Option<PathBuf> {
        let path = self.component.abilities().path?;
        let device = |path: &Path| path.symlink_metadata().ok().map(|metadata| metadata.dev());
        (device(&path)? != device(path.parent()?)?).then_some(path)
    }
}

/// Dropping a stack models a machine that stops: the devices are fenced first, so later writes of
/// its components have no effect. In process, layers are unmounted only if one holds resources
/// elsewhere. On devices of the kernel everything is unmounted, so that the devices can get other
/// contents.
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
            // The next stack uses other folders, so leftovers do no harm.
            self.stop().ok();
        }
    }
}

/// Returns the folder that holds the components' folders.
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

/// Returns the error for a stack whose top does not offer what the checker needs.
fn wrong_top(wanted: &str, found: &Surface) -> StepError {
    StepError::new(format!("this checker needs {wanted}, and the stack's top offers {found:?}"))
}

/// Returns the name of a type without its modules.
fn last_segment(name: &str) -> &str {
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::last_segment;

    #[test]
    fn a_type_is_named_without_its_modules() {
        for (name, segment) in
            [("Folder", "Folder"), ("a::b::Folder", "Folder"), ("a::Of<b::C>", "Of")]
        {
            assert_eq!(last_segment(name), segment);
        }
    }
}
