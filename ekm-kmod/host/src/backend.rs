//! The kernel of this machine as a backend.

use std::any::Any;
use std::path::PathBuf;
use std::rc::Rc;

use explode_ramdisk::{Image, Recording};
use explode_runtime::base::{Blame, Mode, RunError, StepError};
use explode_runtime::devices::{Backend, Backends, Devices, HostId, InProcess, Side, SoftCrashLog};

use crate::kernel::KernelDisks;
use crate::machine::KernelMachine;
use crate::soft::SoftCrashes;
use crate::{leftovers, scheduling, write_back};

/// The kernel of this machine, which has the modules `rdd` and `ekm` loaded.
#[derive(Clone, Debug)]
pub struct KernelBackend(Rc<KernelMachine>);

impl KernelBackend {
    /// Opens the kernel for runs of a mode in this process. On the machine's own kernel, later
    /// mounts of the calling thread are not visible to other processes, and end with this process.
    ///
    /// # Errors
    /// The modules are missing or have another version, or the process is not root.
    fn open(mode: Mode) -> Result<KernelBackend, RunError> {
        if mode == Mode::Vm {
            scheduling::take_turns().map_err(|error| {
                RunError::Missing(format!(
                    "tasks cannot take turns: {error}; --in vm needs a guest of explode and root"
                ))
            })?;
        }
        let machine = KernelMachine::open(mode == Mode::Vm)?;
        if mode == Mode::Here {
            leftovers::mount_apart().map_err(|error| {
                RunError::Missing(format!("a mount namespace: {error}; --in here needs root"))
            })?;
        }
        Ok(KernelBackend(Rc::new(machine)))
    }

    /// Returns the machine.
    pub fn machine(&self) -> &KernelMachine {
        &self.0
    }
}

impl Backend for KernelBackend {
    fn disks(
        &self,
        host: HostId,
        side: Side,
        image: Image,
        recording: Recording,
        seed: u64,
    ) -> Devices {
        let disks = KernelDisks::new(Rc::clone(&self.0), side, image, recording, seed);
        if host != HostId::default() {
            self.0.give_up(&StepError::new("a kernel holds one host").blame(Blame::Tool));
        }
        Rc::new(disks)
    }

    fn settle(&self, threads: &[(&str, u32)]) -> Result<(), StepError> {
        let takes_turns = self.0.takes_turns();
        if takes_turns {
            self.0.turn_takers().update().map_err(|error| {
                StepError::new(format!("threads cannot take turns: {error}")).blame(Blame::Tool)
            })?;
            write_back::keep_shares_above()
                .map_err(|error| StepError::new(error.to_string()).blame(Blame::Tool))?;
        }
        threads.iter().try_for_each(|(layer, pid)| {
            let checked = scheduling::check_thread(*pid, takes_turns);
            checked.map_err(|why| StepError::new(why).blame(Blame::Tool).of(layer))
        })
    }

    fn versions(&self, programs: &[PathBuf]) -> Vec<(String, String)> {
        self.0.packages().versions(programs)
    }

    fn soft_crashes(&self, base: Image) -> Option<Box<dyn SoftCrashLog>> {
        Some(Box::new(SoftCrashes::new(base)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// All backends of explode: none for `mem`, the kernel of this machine for `vm` and `here`.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllBackends;

impl Backends for AllBackends {
    fn open(&self, mode: Mode) -> Result<Rc<dyn Backend>, RunError> {
        Ok(match mode {
            Mode::Mem => Rc::new(InProcess),
            Mode::Vm | Mode::Here => Rc::new(KernelBackend::open(mode)?),
            other => {
                return Err(RunError::Missing(format!(
                    "this program has no backend for --in {}",
                    other.as_str()
                )));
            }
        })
    }
}
