//! The backend without a kernel: simulated devices in this process.

use std::any::Any;
use std::fs;
use std::rc::Rc;

use explode_ramdisk::{Damage, Event, Image, ReadRange, Recording, Storage};

use super::backend::{Backend, Backends, HostId};
use super::disk_set::{Devices, DiskSet};
use super::side::Side;
use crate::base::{Blame, Mode, RunError, StepError};

/// A backend of simulated devices in this process, for any number of hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Backend for InProcess {
    fn disks(
        &self,
        _host: HostId,
        _side: Side,
        image: Image,
        recording: Recording,
        _seed: u64,
    ) -> Devices {
        Rc::new(Storage::new(image, recording))
    }

    fn hosts(&self) -> u32 {
        u32::MAX
    }

    /// Checks the tasks, because the tasks of commands exist on this machine.
    fn settle(&self, threads: &[(&str, u32)]) -> Result<(), StepError> {
        threads.iter().try_for_each(|(layer, pid)| {
            task_exists(*pid).map_err(|why| StepError::new(why).blame(Blame::Tool).of(layer))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Checks that a task that a layer has named exists and has not ended.
///
/// # Errors
/// Returns an error if the task does not exist.
pub fn task_exists(pid: u32) -> Result<(), String> {
    // proc(5): the state follows the name, which is in brackets. A task in state Z has ended, and
    // its parent has not waited for it yet.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    match state {
        None | Some('Z' | 'X') => {
            Err(format!("`threads` printed {pid}, and there is no such task"))
        }
        Some(_) => Ok(()),
    }
}

/// Opens only the mode `mem`.
impl Backends for InProcess {
    fn open(&self, mode: Mode) -> Result<Rc<dyn Backend>, RunError> {
        match mode {
            Mode::Mem => Ok(Rc::new(InProcess)),
            Mode::Vm | Mode::Here => {
                Err(RunError::Missing("this worker runs in process only; use --in mem".to_owned()))
            }
        }
    }
}

impl DiskSet for Storage {
    fn image(&self) -> Result<Image, StepError> {
        Ok(Storage::image(self))
    }

    fn take_log(&self) -> Result<Vec<Event>, StepError> {
        Ok(Storage::take_log(self))
    }

    fn put_mark(&self, name: &str) -> Result<(), StepError> {
        Storage::put_mark(self, name);
        Ok(())
    }

    fn note_reads(&self) {
        Storage::note_reads(self);
    }

    fn take_reads(&self) -> Result<Option<Vec<ReadRange>>, StepError> {
        Ok(Storage::take_reads(self))
    }

    fn damage(&self, dev: u32, damage: &Damage) -> Result<(), StepError> {
        Storage::damage(self, dev, damage);
        Ok(())
    }

    fn has_lost_disk(&self) -> bool {
        Storage::has_lost_disk(self)
    }

    fn is_damaged(&self, dev: u32) -> bool {
        Storage::is_damaged(self, dev)
    }

    fn fence(&self) {
        Storage::fence(self);
    }

    fn logged(&self) -> Result<u64, StepError> {
        Ok(self.logged())
    }

    fn memory(&self) -> Option<&Storage> {
        Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
