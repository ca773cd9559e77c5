//! A storage component: the paper's five methods, what it offers to the layer above, and what its system promises.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{fmt, io};

use explode_ramdisk::{Files, RamDisk};

use super::plain::Plain;
use crate::base::Fault;
use crate::devices::DiskSet;
use crate::faults::background::Between;
use crate::faults::kernel::Failures;
use crate::faults::media::{Media, Medium, Site};
use crate::verdict::Profile;
use crate::writeset::Rules;

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
pub enum Surface {
    /// What its first child offers.
    Child,
    /// A simulated block device.
    Disk(RamDisk),
    /// A block device of the kernel: its node.
    Block(PathBuf),
    /// A file system.
    Files(Rc<dyn Files>),
    /// Something of its own: a database's connection. Whoever uses it knows the type.
    Engine(Rc<dyn Any>),
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
pub struct Paths {
    /// What it offers, if that has a path.
    pub path: Option<PathBuf>,
    /// The block device that it is, or is on by way of first children.
    pub device: Option<PathBuf>,
}

impl Paths {
    /// What they are in a script.
    pub fn in_script() -> Paths {
        Paths { path: Some("$mnt".into()), device: Some("$dev".into()) }
    }
}

/// What a component stands on when one of its methods is called.
#[derive(Debug)]
pub struct Below<'a> {
    /// Each child's surface, in order.
    pub children: &'a [Surface],
    /// Where a shell command finds each child and the device that it is on, in order.
    pub paths: &'a [Paths],
    /// The devices of the stack, for components that are devices.
    pub devices: &'a dyn DiskSet,
    /// The first device of this component, if [`Component::devices`] is not 0.
    pub first_device: u32,
    /// Does what is dirty in the kernel's buffer cache count, for components that are devices? Not where somebody above says that
    /// its [buffers are no places](Component::buffers_are_places).
    pub buffers: bool,
    /// A folder for this component alone, for its mount point and what else needs a path; on a kernel it is there.
    pub place: &'a Path,
    /// The rules of the devices.
    pub rules: Rules,
    /// Seeds whatever the component draws at random; the same at each replay.
    pub seed: u64,
}

impl Below<'_> {
    /// The files that the first child offers.
    pub fn files(&self) -> Result<Rc<dyn Files>, Fault> {
        match self.children.first() {
            Some(Surface::Files(files)) => Ok(Rc::clone(files)),
            other => Err(Fault::new(format!("needs files below it, and has {}", Missing(other)))),
        }
    }

    /// The block device that child `index` offers.
    pub fn disk(&self, index: usize) -> Result<RamDisk, Fault> {
        match self.children.get(index) {
            Some(Surface::Disk(disk)) => Ok(disk.clone()),
            other => Err(Fault::new(format!(
                "needs a simulated disk as child {index}, and has {}",
                Missing(other)
            ))),
        }
    }

    /// The node of the block device that child `index` offers.
    pub fn block(&self, index: usize) -> Result<PathBuf, Fault> {
        match self.children.get(index) {
            Some(Surface::Block(node)) => Ok(node.clone()),
            other => {
                Err(Fault::new(format!("needs a block device as child {index}, and has {}", Missing(other))))
            }
        }
    }
}

struct Missing<'a>(Option<&'a Surface>);

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(surface) => write!(f, "{surface:?}"),
            None => f.write_str("nothing"),
        }
    }
}

/// One check of a crash disk as a plain loop would do it: repair, mount, read everything, unmount, on the block device at this
/// node; for measuring. It is called on a thread of its own, whose sync(2) it may switch off.
pub type Floor = Box<dyn FnMut(&Path) -> io::Result<()> + Send>;

/// One layer of storage (EX-26 to EX-32). Every method may be absent.
pub trait Component {
    /// Makes the system for the first time; its children are mounted.
    fn init(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Makes it ready for use. Failing on a crash disk is an error of the checked system.
    fn mount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Puts it to rest and drops what it has in memory.
    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Repairs it after a crash, before it is mounted; its children are mounted. Not called otherwise.
    fn recover(&mut self, _below: &Below<'_>) -> Result<Recovery, Fault> {
        Ok(Recovery::Clean)
    }

    /// The tasks that belong to it, threads of the kernel and processes, while it is mounted.
    fn threads(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What it offers while it is mounted.
    fn surface(&self) -> Surface {
        Surface::Child
    }

    /// Where what it offers is found by a shell command, while it is mounted; none if that is where its first child is.
    fn path(&self) -> Option<PathBuf> {
        None
    }

    /// Brings what it holds to its devices, as it is: a soft crash follows, which loses nothing.
    fn settle(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Does it hold something outside of this process and of the kernel's disks that only unmount gives up?
    fn must_unmount(&self) -> bool {
        false
    }

    /// How many device numbers it takes for itself; only leaves take any.
    fn devices(&self) -> u32 {
        0
    }

    /// What stands in a sector of its devices, of which the first is 0, in words, if it can tell while it is mounted. Of devices
    /// that cannot tell themselves, whoever stands on them is asked.
    fn whose(&self, _device: u32, _sector: u64) -> Option<String> {
        None
    }

    /// Does it hold files from its start? A checker that grows a tree begins with those then, and not with nothing.
    fn begins_with_files(&self) -> bool {
        false
    }

    /// Does what it does depend on nothing but its devices and its children? Else no check on it can stand for another: what
    /// lies elsewhere (files, a clock, random numbers that are not seeded) may have changed between two.
    fn skipping(&self) -> bool {
        true
    }

    /// The functions of the kernel that may fail in a mutate, as its options say.
    fn failures(&self) -> Failures {
        Failures::default()
    }

    /// What the kernel may do on its own between two calls, as its options say.
    fn between(&self) -> Between {
        Between::default()
    }

    /// What of its devices may go bad before a mutate, as its options say.
    fn media(&self) -> Media {
        Media::default()
    }

    /// The blocks that may go bad, in an order that is the same in every run: those that its contents are in.
    fn media_sites(&self, _medium: &Medium<'_>) -> Vec<Site> {
        Vec::new()
    }

    /// What its system promises, and where that is written.
    fn profile(&self) -> Option<Profile> {
        None
    }

    /// Is what it promises kept only as far as what stands below it keeps it? Then what the profile there excludes is excluded
    /// here, too ([`Profile::on`]).
    fn promises_as_below(&self) -> bool {
        false
    }

    /// The system's name and version, where that decides what happens.
    fn version(&self) -> Option<(&'static str, String)> {
        None
    }

    /// The programs of others that it runs, by path. A guest's image knows of which package they are, and a run tells its version.
    fn programs(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What a check of its system costs without us, if it can be said.
    fn floor(&self) -> Option<Floor> {
        None
    }

    /// What a shell does in its place; none if no shell can.
    fn plain(&self) -> Option<Plain> {
        None
    }

    /// What it keeps where no event shows it, if anything: such changes are in no crash disk (fault-model.md, section 8).
    fn hides(&self) -> Option<&'static str> {
        None
    }

    /// Are the numbers of its buffers their places on the devices below? Else what is dirty in the kernel's buffer cache counts for
    /// nothing there, and [`hides`](Component::hides) has to say so.
    fn buffers_are_places(&self) -> bool {
        true
    }
}
