//! A storage component: the paper's five methods, what it offers to the layer above, and what is
//! known of it.

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

/// What recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing to do.
    Clean,
    /// Something to repair, and it was.
    Repaired,
}

/// What a component offers to the layer above it and to the checker.
#[derive(Clone)]
#[non_exhaustive]
pub enum Surface {
    /// What its first child offers.
    Child,
    /// A simulated block device.
    Disk(RamDisk),
    /// A block device of the kernel: its node.
    Block(PathBuf),
    /// A file system.
    Files(Rc<dyn Files>),
    /// Something of its own: a database's connection. Its user knows the type.
    Engine(Rc<dyn Any>),
}

impl Surface {
    /// The same; the calls that the component of this name makes on its files get places among the
    /// events.
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

/// Where shell commands find a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerPaths {
    /// What it offers, if that has a path.
    pub path: Option<PathBuf>,
    /// The block device that it is, or is on by way of first children.
    pub device: Option<PathBuf>,
}

impl LayerPaths {
    /// What they are in a script.
    pub fn in_script() -> LayerPaths {
        LayerPaths { path: Some("$mnt".into()), device: Some("$dev".into()) }
    }
}

/// The paths of some layers, which are looked up when they are first asked for: few components do.
pub type LazyLayerPaths<'a> = LazyCell<Vec<LayerPaths>, &'a dyn Fn() -> Vec<LayerPaths>>;

/// What a component stands on when one of its methods is called.
#[derive(Debug)]
pub struct Below<'a> {
    /// Each child's surface, in order.
    pub children: &'a [Surface],
    /// Where a shell command finds each child and the device that it is on, in order.
    pub paths: &'a LazyLayerPaths<'a>,
    /// The devices of the stack, for components that are devices.
    pub devices: &'a dyn DiskSet,
    /// The first device of this component, if [`Facts::devices`] is not 0.
    pub first_device: u32,
    /// True if what is dirty in the kernel's buffer cache counts, for components that are devices.
    /// False if a component above says that its [buffers are no places](Facts::buffers_are_places).
    pub buffers: bool,
    /// A folder for this component alone, for its mount point and what else needs a path; on a
    /// kernel it is there.
    pub place: &'a Path,
    /// The rules of the devices.
    pub rules: DeviceRules,
    /// Seeds whatever the component draws at random; the same at each replay.
    pub seed: u64,
    /// By this the component asks explode. It is kept at the mount by those who ask in their
    /// operations.
    pub asks: Asks,
}

impl Below<'_> {
    /// As [`Asks::choose`].
    pub fn choose(&self, options: usize, name: &str) -> usize {
        self.asks.choose(options, name)
    }

    /// As [`Asks::check_crashes_now`].
    pub fn check_crashes_now(&self, name: &str) {
        self.asks.check_crashes_now(name);
    }

    /// The files that the first child offers.
    pub fn files(&self) -> Result<Rc<dyn Files>, StepError> {
        match self.children.first() {
            Some(Surface::Files(files)) => Ok(Rc::clone(files)),
            other => Err(StepError::new(format!(
                "needs files below it, and has {}",
                MissingChild(other)
            ))),
        }
    }

    /// The block device that child `index` offers.
    pub fn disk(&self, index: usize) -> Result<RamDisk, StepError> {
        match self.children.get(index) {
            Some(Surface::Disk(disk)) => Ok(disk.clone()),
            other => Err(StepError::new(format!(
                "needs a simulated disk as child {index}, and has {}",
                MissingChild(other)
            ))),
        }
    }

    /// The node of the block device that child `index` offers.
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
    /// Makes the system for the first time. The children are mounted.
    fn init(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Makes the system ready for use. Failing on a crash disk is an error of the checked system.
    fn mount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Puts the system to rest and drops what it has in memory.
    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Repairs the system after a crash, before it is mounted. The children are mounted. It is not
    /// called at any other time.
    fn recover(&mut self, _below: &Below<'_>) -> Result<Recovery, StepError> {
        Ok(Recovery::Clean)
    }

    /// The tasks that belong to the system while it is mounted: threads of the kernel and
    /// processes.
    fn threads(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What the component offers while it is mounted.
    fn surface(&self) -> Surface {
        Surface::Child
    }

    /// What is known of the component by its options. It is asked for once per built stack.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// What the component can do now. It is asked for each time.
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }
}
