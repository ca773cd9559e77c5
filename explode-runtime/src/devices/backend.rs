//! Where devices come from.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

use explode_ramdisk::{Image, Recording};

use super::disk_set::Devices;
use super::side::Side;
use super::soft_crash::SoftCrashLog;
use crate::base::{Mode, RunError, StepError};

/// Where the file systems' clock stands: the first second of 2026.
pub const NOW: u64 = 1_767_225_600;
/// The name of a guest's image among the versions of a run.
pub const IMAGE: &str = "image";

/// A host of a run. A run of one stack has the host 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// As choices name it in their labels.
impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}

/// Makes the devices of stacks.
pub trait Backend: fmt::Debug {
    /// Devices of a host that hold `image`, with an empty log. `seed` decides what a kernel's
    /// random numbers are. Each host has devices, a log and a fence of its own.
    fn disks(
        &self,
        host: HostId,
        side: Side,
        image: Image,
        recording: Recording,
        seed: u64,
    ) -> Devices;

    /// How many hosts it can hold at a time.
    fn hosts(&self) -> u32 {
        1
    }

    /// Called when a system was mounted and is about to be driven: what it has started takes turns
    /// with its driver. `threads` are those that the layers have named, each with the name of its
    /// layer (EX-30).
    ///
    /// # Errors
    /// The kernel refuses; a thread does not exist or does not take turns.
    fn settle(&self, _threads: &[(&str, u32)]) -> Result<(), StepError> {
        Ok(())
    }

    /// The versions of the packages that these programs are from, as far as the backend knows them,
    /// and of the guest's image; by name.
    fn versions(&self, _programs: &[PathBuf]) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The log of the calls that soft crashes repeat, for a live stack that begins with `base`.
    /// `None` where the event log itself has what each operation changes.
    fn soft_crashes(&self, _base: Image) -> Option<Box<dyn SoftCrashLog>> {
        None
    }

    /// The backend itself, for code that knows its type.
    fn as_any(&self) -> &dyn Any;
}

/// Opens the backend of a mode.
pub trait Backends {
    /// The backend for runs of this mode, in this very process.
    ///
    /// # Errors
    /// What it needs is missing.
    fn open(&self, mode: Mode) -> Result<Rc<dyn Backend>, RunError>;
}
