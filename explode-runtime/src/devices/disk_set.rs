//! The devices of one stack.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use explode_ramdisk::{Event, Image, ReadFault, ReadRange, Storage};

use super::kernel_side::KernelSide;
use crate::base::{Blame, StepError};

/// The devices of one stack; clones are the same devices.
pub type Devices = Rc<dyn DiskSet>;

/// A set of devices with an event log.
pub trait DiskSet: fmt::Debug {
    /// What the devices hold now.
    ///
    /// # Errors
    /// The kernel does not say.
    fn image(&self) -> Result<Image, StepError>;

    /// The events since the last call, or since the beginning.
    ///
    /// # Errors
    /// The log was full, so that it is worth nothing; or the kernel does not say.
    fn take_log(&self) -> Result<Vec<Event>, StepError>;

    /// Puts a mark into the log, at this place.
    ///
    /// # Errors
    /// The log has no such marks.
    fn put_mark(&self, name: &str) -> Result<(), StepError>;

    /// Notes from now on what of the image is read. A kernel's disks note requests only: nothing of
    /// them may be in a cache.
    fn note_reads(&self);

    /// What was read since [`note_reads`](DiskSet::note_reads), in order of first reads. `None` if
    /// that may have been anything, or was not noted.
    ///
    /// # Errors
    /// The kernel does not say.
    fn take_reads(&self) -> Result<Option<Vec<ReadRange>>, StepError>;

    /// Makes sectors of the medium go bad.
    ///
    /// # Errors
    /// The driver does not do it: it is of an older version, or has too many faults.
    fn damage(&self, dev: u32, sectors: Range<u64>, fault: ReadFault) -> Result<(), StepError>;

    /// Stops late writes from ending while crash disks are checked (`still`), or lets them go on.
    /// Other disks have none.
    ///
    /// # Errors
    /// The driver does not do it.
    fn hold_still(&self, _still: bool) -> Result<(), StepError> {
        Ok(())
    }

    /// Ends the log. What is written from now on belongs to no run.
    fn fence(&self);

    /// The names of the tasks that have caused the last `events` events of the live stack, oldest
    /// first (EX-74). `None` for what is not known, as in process, where there is one thread.
    fn issuers(&self, events: usize) -> Vec<Option<String>> {
        vec![None; events]
    }

    /// How many events the live stack has logged since it was started. Marks are not counted. 0
    /// where the calls are followed and the events are made up from them (soft crashes on a
    /// kernel).
    ///
    /// # Errors
    /// The kernel does not say.
    fn logged(&self) -> Result<u64, StepError>;

    /// The simulated devices, if they are simulated.
    fn memory(&self) -> Option<&Storage> {
        None
    }

    /// What only a kernel's devices can do, if these are a kernel's.
    fn kernel(&self) -> Option<&dyn KernelSide> {
        None
    }

    /// The set itself, for components that know its type.
    fn as_any(&self) -> &dyn Any;
}

impl dyn DiskSet + '_ {
    /// Simulated devices, for a component that is one.
    ///
    /// # Errors
    /// These are the kernel's.
    pub fn storage(&self) -> Result<&Storage, StepError> {
        self.memory()
            .ok_or_else(|| StepError::new("runs in process only; use --in mem").blame(Blame::Tool))
    }

    /// These devices as a type of a backend, if they are of it.
    pub fn of_type<T: 'static>(&self) -> Option<&T> {
        self.as_any().downcast_ref()
    }
}
