//! What a stack stands on: simulated devices in process, or RAM disks of the kernel.
//!
//! A [`Lab`] makes [`Devices`] that hold a given image, as often as one likes. There are two sets at any time: one under the
//! live stack, one under the stack that is brought up on a crash disk (EX-48). Both kinds give the same two things, so that
//! whatever is above need not know where it runs: the event log, and the image.

mod background;
mod buffers;
mod choices;
mod ekm;
mod elsewhere;
mod issuers;
mod kernel;
mod left;
mod log;
mod machine;
mod map;
mod packages;
mod plain;
mod probes;
mod rdd;
mod threads;
mod turns;
mod write_back;

use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use explode_ramdisk::{Event, Image, Read, ReadFault, Recording, Storage};

use crate::base::{Blame, Fault, Mode, RunError};
use crate::calls::Call;

pub use kernel::{Completes, DiskModel, KernelDisks};
pub use left::remove_left;
pub use machine::{Machine, NOW};
pub use packages::{IMAGE, IMAGE_FILE};
pub use plain::PlainDisk;
pub use threads::find_thread;
pub use turns::let_others_finish;

/// Where devices come from.
#[derive(Clone, Debug)]
pub enum Lab {
    /// Simulated, in this process.
    Mem,
    /// This machine's kernel, which has the modules `rdd` and `ekm`.
    Kernel(Rc<Machine>),
}

/// Which of the two sets of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Under the system that is being driven.
    Live,
    /// Under what is brought up on a crash disk.
    Crash,
}

/// The devices of one stack.
#[derive(Clone, Debug)]
pub enum Devices {
    /// Simulated ones.
    Mem(Storage),
    /// The kernel's.
    Kernel(KernelDisks),
}

impl Lab {
    /// The lab for runs of this mode, in this very process. On the machine's own kernel what the calling thread mounts from then on
    /// is seen by nobody else, and goes with the process.
    ///
    /// # Errors
    /// The modules are missing, or of another version; not root.
    pub fn open(mode: Mode) -> Result<Lab, RunError> {
        match mode {
            Mode::Mem => return Ok(Lab::Mem),
            Mode::Vm => turns::take_turns()
                .map_err(|error| RunError::Missing(format!("a guest of ours, with root: {error}")))?,
            Mode::Here => {}
        }
        let machine = Machine::open(mode == Mode::Vm)?;
        if mode == Mode::Here {
            left::mount_apart().map_err(|error| {
                RunError::Missing(format!("a mount namespace: {error}; --in here needs root"))
            })?;
        }
        Ok(Lab::Kernel(Rc::new(machine)))
    }

    /// A system was mounted, and is about to be driven: what it has started takes turns with whoever drives it. `threads` are
    /// those that it has named, each with the name of its layer (EX-30): they are there, and are among those that take turns.
    ///
    /// # Errors
    /// The kernel refuses; a thread is not there, or goes its own way.
    pub fn settle(&self, threads: &[(&str, u32)]) -> Result<(), Fault> {
        let takes_turns = matches!(self, Lab::Kernel(machine) if machine.takes_turns());
        if takes_turns {
            turns::threads_take_turns()
                .map_err(|error| Fault::new(format!("sched_setscheduler: {error}")).blame(Blame::Tool))?;
            write_back::keep_shares_above()
                .map_err(|error| Fault::new(error.to_string()).blame(Blame::Tool))?;
        }
        threads.iter().try_for_each(|(layer, pid)| {
            let checked = turns::check_thread(*pid, takes_turns);
            checked.map_err(|why| Fault::new(why).blame(Blame::Tool).of(layer))
        })
    }

    /// The versions of what these programs are from, as far as they are known here, and of the guest's image; by name.
    pub(crate) fn versions(&self, programs: &[PathBuf]) -> Vec<(String, String)> {
        match self {
            Lab::Mem => Vec::new(),
            Lab::Kernel(machine) => machine.packages().versions(programs),
        }
    }

    /// Devices that hold `image`, with an empty log. `seed` decides what the kernel's random numbers are.
    pub fn devices(&self, side: Side, image: Image, recording: Recording, seed: u64) -> Devices {
        match self {
            Lab::Mem => Devices::Mem(Storage::new(image, recording)),
            Lab::Kernel(machine) => {
                Devices::Kernel(KernelDisks::new(Rc::clone(machine), side, image, recording, seed))
            }
        }
    }
}

impl Devices {
    /// What the devices hold now.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn image(&self) -> Result<Image, Fault> {
        match self {
            Devices::Mem(storage) => Ok(storage.image()),
            Devices::Kernel(disks) => disks.image(),
        }
    }

    /// The events since the last call, or since the beginning.
    ///
    /// # Errors
    /// The log was full, so that it is worth nothing; or the kernel does not say.
    pub fn take_log(&self) -> Result<Vec<Event>, Fault> {
        match self {
            Devices::Mem(storage) => Ok(storage.take_log()),
            Devices::Kernel(disks) => disks.take_log(),
        }
    }

    /// The calls behind the operations of the log, since the last call; none in process, where the log itself has what they change.
    pub(crate) fn take_calls(&self) -> Vec<Call> {
        match self {
            Devices::Mem(_) => Vec::new(),
            Devices::Kernel(disks) => disks.take_calls(),
        }
    }

    /// The names of the tasks that have caused the last so many events of the live stack, oldest first (EX-74); none for what is
    /// not known, as in process, where there is one thread.
    pub fn issuers(&self, events: usize) -> Vec<Option<String>> {
        match self {
            Devices::Mem(_) => vec![None; events],
            Devices::Kernel(disks) => disks.issuers(events),
        }
    }

    /// From now on it is noted what of the image is read. Of the kernel's disks by requests only: nothing of them may be in a cache.
    pub fn note_reads(&self) {
        match self {
            Devices::Mem(storage) => storage.note_reads(),
            Devices::Kernel(disks) => disks.note_reads(),
        }
    }

    /// What was read since, in order of first reads; none if that may have been anything, or was not noted.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn take_reads(&self) -> Result<Option<Vec<Read>>, Fault> {
        match self {
            Devices::Mem(storage) => Ok(storage.take_reads()),
            Devices::Kernel(disks) => disks.take_reads(),
        }
    }

    /// While crash disks are checked no write of a disk whose writes end late does so; then they go on. Others have none.
    ///
    /// # Errors
    /// The driver does not do it.
    pub fn hold_still(&self, still: bool) -> Result<(), Fault> {
        match self {
            Devices::Mem(_) => Ok(()),
            Devices::Kernel(disks) => disks.hold_still(still),
        }
    }

    /// From now on nothing is logged, and what is written is nobody's business any more.
    pub fn fence(&self) {
        match self {
            Devices::Mem(storage) => storage.fence(),
            Devices::Kernel(disks) => disks.fence(),
        }
    }

    /// Sectors of the medium go bad.
    ///
    /// # Errors
    /// The driver does not do it: it is of an older version, or has too many faults.
    pub fn spoil(&self, dev: u32, sectors: Range<u64>, fault: ReadFault) -> Result<(), Fault> {
        match self {
            Devices::Mem(storage) => storage.spoil(dev, sectors, fault),
            Devices::Kernel(disks) => disks.spoil(dev, sectors, fault)?,
        }
        Ok(())
    }

    /// Simulated devices, for a component that is one.
    ///
    /// # Errors
    /// These are the kernel's.
    pub fn storage(&self) -> Result<&Storage, Fault> {
        match self {
            Devices::Mem(storage) => Ok(storage),
            Devices::Kernel(_) => Err(Fault::new("runs in process only; use --in mem").blame(Blame::Tool)),
        }
    }

    /// Are these the kernel's?
    pub fn kernel(&self) -> Option<&KernelDisks> {
        match self {
            Devices::Mem(_) => None,
            Devices::Kernel(disks) => Some(disks),
        }
    }
}
