//! The devices of one stack.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use explode_ramdisk::{Damage, Event, Image, ReadRange, Storage};

use super::kernel_side::KernelSide;
use crate::base::{Blame, StepError};

/// The devices of one stack. Clones share the devices.
pub type Devices = Rc<dyn DiskSet>;

/// A set of devices with an event log.
pub trait DiskSet: fmt::Debug {
    /// Returns the current contents of the devices.
    ///
    /// # Errors
    /// Returns an error if the kernel does not supply them.
    fn image(&self) -> Result<Image, StepError>;

    /// Returns the events since the last call, or since the beginning.
    ///
    /// # Errors
    /// Returns an error if the log was full and has lost events, or if the kernel does not supply
    /// it.
    fn take_log(&self) -> Result<Vec<Event>, StepError>;

    /// Puts a mark into the log, after the events so far.
    ///
    /// # Errors
    /// Returns an error if the log has no such marks.
    fn put_mark(&self, name: &str) -> Result<(), StepError>;

    /// Starts to record the ranges of the image that are read. A kernel's disks record requests
    /// only, so their data must not be in a cache.
    fn note_reads(&self);

    /// Returns the ranges read since [`note_reads`](DiskSet::note_reads), in the order of first
    /// reads. `None` if they are unknown, or were not recorded.
    ///
    /// # Errors
    /// Returns an error if the kernel does not supply them.
    fn take_reads(&self) -> Result<Option<Vec<ReadRange>>, StepError>;

    /// Damages the medium of a device.
    ///
    /// # Errors
    /// Returns an error if the driver is too old or has too many faults.
    fn damage(&self, dev: u32, damage: &Damage) -> Result<(), StepError>;

    /// Returns true if a device had failed as a whole, or was away, when the stack was built.
    fn has_lost_disk(&self) -> bool;

    /// Returns true if the device, or a sector of it, had a fault when the stack was built.
    fn is_damaged(&self, dev: u32) -> bool;

    /// Stops late writes from completing while crash disks are checked (`still`), or lets them
    /// continue. Does nothing on disks without late writes.
    ///
    /// # Errors
    /// Returns an error if the driver refuses.
    fn hold_still(&self, _still: bool) -> Result<(), StepError> {
        Ok(())
    }

    /// Ends the log. Later writes belong to no run.
    fn fence(&self);

    /// Returns the names of the tasks that caused the last `events` events of the live stack,
    /// oldest first (EX-74). `None` for an unknown task, as in process, where there is one thread.
    fn event_tasks(&self, events: usize) -> Vec<Option<String>> {
        vec![None; events]
    }

    /// Returns the number of events that the live stack has logged since its start, without marks.
    /// It is 0 if the events are derived from the logged calls (soft crashes on a kernel).
    ///
    /// # Errors
    /// Returns an error if the kernel does not supply it.
    fn logged(&self) -> Result<u64, StepError>;

    /// Returns the simulated devices. `None` if these are a kernel's.
    fn memory(&self) -> Option<&Storage> {
        None
    }

    /// Returns the abilities of a kernel's devices. `None` if these are simulated.
    fn kernel(&self) -> Option<&dyn KernelSide> {
        None
    }

    /// Returns the set itself, for components that know its type.
    fn as_any(&self) -> &dyn Any;
}

impl dyn DiskSet + '_ {
    /// Returns the simulated devices, for a component that runs in process.
    ///
    /// # Errors
    /// Returns an error if these are the kernel's.
    pub fn storage(&self) -> Result<&Storage, StepError> {
        self.memory()
            .ok_or_else(|| StepError::new("runs in process only; use --in mem").blame(Blame::Tool))
    }

    /// Returns these devices as a type of a backend. `None` if they have another type.
    pub fn of_type<T: 'static>(&self) -> Option<&T> {
        self.as_any().downcast_ref()
    }
}
