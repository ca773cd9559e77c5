//! A storage component: the paper's five methods, its surface for the layer above, and its facts.

use std::any::Any;
use std::cell::LazyCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ramdisk::{Files, RamDisk};

use super::abilities::Abilities;
use super::asks::Asks;
use super::facts::Facts;
use crate::base::StepError;
use crate::devices::DiskSet;
use crate::events::CallLog;
use crate::writeset::DeviceRules;

/// The result of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The system needed no repair.
    Clean,
    /// The system needed a repair, which succeeded.
    Repaired,
}

/// The interface that a component offers to the layer above it and to the checker.
#[derive(Clone)]
#[non_exhaustive]
pub enum Surface {
    /// The surface of the first child.
    Child,
    /// A simulated block device.
    Disk(RamDisk),
    /// A block device of the kernel, by the path of its node.
    Block(PathBuf),
    /// A file system.
    Files(Rc<dyn Files>),
    /// An interface of another type, such as a database connection. Its user knows the type.
    Engine(Rc<dyn Any>),
}

impl Surface {
    /// Returns the surface with the calls on its files logged as calls of component `by`. Each gets
    /// a place among the events.
    pub(super) fn placed(self, log: &CallLog, by: &str) -> Surface {
        match self {
            Surface::Files(files) => Surface::Files(log.below(by, files)),
            other => other,
        }
    }
}

impl fmt::Debug for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Surface::Child => "what its child offers",
            Surface::Disk(_) => "a simulated disk",
            Surface::Block(_) => "a block device",
            Surface::Files(_) => "files",
            Surface::Engine(_) => "an engine",
        })
    }
}

/// The paths of a layer for shell commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerPaths {
    /// The path of the layer's surface, if it has one.
    pub path: Option<PathBuf>,
    /// The block device that the layer is, or that is below it by way of first children.
    pub device: Option<PathBuf>,
}

impl LayerPaths {
    /// Returns the paths as they are written in a script.
    pub fn in_script() -> LayerPaths {
        LayerPaths { path: Some("$mnt".into()), device: Some("$dev".into()) }
    }
}

/// The paths of some layers. They are looked up on first use, because few components need them.
pub type LazyLayerPaths<'a> = LazyCell<Vec<LayerPaths>, &'a dyn Fn() -> Vec<LayerPaths>>;

/// The surroundings of a component when one of its methods is called.
#[derive(Debug)]
pub struct Below<'a> {
    /// Each child's surface, in order.
    pub children: &'a [Surface],
    /// The paths of each child for shell commands, in order.
    pub paths: &'a LazyLayerPaths<'a>,
    /// The devices of the stack, for components that are devices.
    pub devices: &'a dyn DiskSet,
    /// The first device of this component, if [`Facts::devices`] is not 0.
    pub first_device: u32,
    /// True if dirty data in the kernel's buffer cache counts, for components that are devices.
    /// False if the buffers of a component above [are no places](Facts::buffers_are_places).
    pub buffers: bool,
    /// A folder for this component alone, for its mount point and other paths. With a kernel
    /// backend the folder exists.
    pub place: &'a Path,
    /// The rules of the devices.
    pub rules: DeviceRules,
    /// The seed for everything that the component draws at random. It is the same at each replay.
    pub seed: u64,
    /// The handle for requests to explode. A component that makes requests during operations keeps
    /// it at mount.
    pub asks: Asks,
    /// The log that gives the calls of this component a place among the events. `None` if it is not
    /// wanted. A component whose calls do not go through [`files`](Below::files) keeps it at mount.
    pub calls: Option<CallLog>,
}

impl Below<'_> {
    /// Calls [`Asks::choose`].
    pub fn choose(&self, options: usize, name: &str) -> usize {
        self.asks.choose(options, name)
    }

    /// Calls [`Asks::check_crashes_now`].
    pub fn check_crashes_now(&self, name: &str) {
        self.asks.check_crashes_now(name);
    }

    /// Returns the files that the first child offers.
    pub fn files(&self) -> Result<Rc<dyn Files>, StepError> {
        match self.children.first() {
            Some(Surface::Files(files)) => Ok(Rc::clone(files)),
            other => Err(StepError::new(format!(
                "needs files below it, and has {}",
                MissingChild(other)
            ))),
        }
    }

    /// Returns the engine that the first child offers.
    pub fn engine<T: Any>(&self) -> Result<Rc<T>, StepError> {
        let engine = match self.children.first() {
            Some(Surface::Engine(engine)) => Rc::clone(engine).downcast().ok(),
            _ => None,
        };
        engine.ok_or_else(|| {
            let found = MissingChild(self.children.first());
            StepError::new(format!("needs another engine below it, and has {found}"))
        })
    }

    /// Returns the simulated disk that child `index` offers.
    pub fn disk(&self, index: usize) -> Result<RamDisk, StepError> {
        match self.children.get(index) {
            Some(Surface::Disk(disk)) => Ok(disk.clone()),
            other => Err(StepError::new(format!(
                "needs a simulated disk as child {index}, and has {}",
                MissingChild(other)
            ))),
        }
    }

    /// Returns the node of the block device that child `index` offers.
    pub fn block(&self, index: usize) -> Result<PathBuf, StepError> {
        match self.children.get(index) {
            Some(Surface::Block(node)) => Ok(node.clone()),
            other => Err(StepError::new(format!(
                "needs a block device as child {index}, and has {}",
                MissingChild(other)
            ))),
        }
    }
}

struct MissingChild<'a>(Option<&'a Surface>);

impl fmt::Display for MissingChild<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(surface) => write!(f, "{surface:?}"),
            None => f.write_str("nothing"),
        }
    }
}

/// One layer of storage (EX-26 to EX-32). Every method has a default.
pub trait Component {
    /// Makes the system for the first time. Its children are mounted.
    fn init(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Makes the system ready for use. Failing on a crash disk is an error of the checked system.
    fn mount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Unmounts the system and drops its state in memory.
    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Repairs the system after a crash, before it is mounted. Its children are mounted. Called at
    /// no other time.
    fn recover(&mut self, _below: &Below<'_>) -> Result<Recovery, StepError> {
        Ok(Recovery::Clean)
    }

    /// Returns the tasks that belong to the mounted system: threads of the kernel and processes.
    fn threads(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Returns the interface that the component offers while it is mounted.
    fn surface(&self) -> Surface {
        Surface::Child
    }

    /// Returns the facts that follow from the component's options. Called when a stack is planned,
    /// and after the first calls of its layers, to see that the facts have not changed.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// Returns what the component can do in its present state. Called for each use.
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }
}
