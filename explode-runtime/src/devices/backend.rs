//! Backends, which make the devices of stacks.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

use explode_ramdisk::{Image, Recording};

use super::disk_set::Devices;
use super::side::Side;
use super::soft_crash::SoftCrashLog;
use crate::base::{Mode, RunError, StepError};

/// The start of the file systems' clock, as Unix time: the first second of 2026.
pub const NOW: u64 = 1_767_225_600;
/// The name of a guest's image among the versions of a run.
pub const IMAGE: &str = "image";

/// A host of a run. A run of one stack has only host 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// Shows the host as choices name it in their labels.
impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}

/// A maker of the devices of stacks.
pub trait Backend: fmt::Debug {
    /// Returns devices of a host that hold `image`, with an empty log. `seed` seeds a kernel's
    /// random numbers. Each host has its own devices, log and fence.
    fn disks(
        &self,
        host: HostId,
        side: Side,
        image: Image,
        recording: Recording,
        seed: u64,
    ) -> Devices;

    /// Returns the largest number of hosts at a time.
    fn hosts(&self) -> u32 {
        1
    }

    /// Prepares a mounted system for its driver. The tasks that it has started take turns with the
    /// driver from now on. `threads` are the tasks that the layers have named, each with the name
    /// of its layer (EX-30).
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, or if a thread does not exist or does not take
    /// turns.
    fn settle(&self, _threads: &[(&str, u32)]) -> Result<(), StepError> {
        Ok(())
    }

    /// Returns the versions of the guest's image and of the packages that contain these programs,
    /// by name, if the backend knows them.
    fn versions(&self, _programs: &[PathBuf]) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Returns the log of the calls that soft crashes repeat, for a live stack that begins with
    /// `base`. `None` if the event log itself contains the changes of each operation.
    fn soft_crashes(&self, _base: Image) -> Option<Box<dyn SoftCrashLog>> {
        None
    }

    /// Returns the backend itself, for code that knows its type.
    fn as_any(&self) -> &dyn Any;
}

/// The backends of the modes.
pub trait Backends {
    /// Returns the backend for runs of this mode, in this process.
    ///
    /// # Errors
    /// Returns an error if a requirement of the backend is missing.
    fn open(&self, mode: Mode) -> Result<Rc<dyn Backend>, RunError>;
}
