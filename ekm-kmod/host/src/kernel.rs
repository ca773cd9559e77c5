//! The disks of one stack in the kernel.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use explode_ekm_abi::wire::Random;
use explode_ramdisk::{Condition, Damage, Disk, Event, Image, ReadRange, Recording};

use super::machine::KernelMachine;
use super::scheduling::yield_to_others;
use super::threads::HeldThreads;
use crate::calls::KernelCall;
use crate::disk_model::{CompletionTiming, DiskModel};
use crate::handed_over::HandedOverChoices;
use crate::rdd::RddDisk;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::{DiskSet, KernelSide, Side};

/// The state of the record of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadTracking {
    /// Reads are not recorded.
    No,
    /// All reads since a disk was attached are recorded.
    Yes,
    /// The image was requested, so everything may have been read.
    Lost,
}

/// RAM disks with the contents of an image, once a component has attached them. Clones refer to the
/// same disks.
#[derive(Clone, Debug)]
pub struct KernelDisks(pub(crate) Rc<KernelDiskState>);

#[derive(Debug)]
pub(crate) struct KernelDiskState {
    pub(crate) machine: Rc<KernelMachine>,
    pub(crate) side: Side,
    image: Image,
    /// The nodes of the attached disks.
    attached: RefCell<BTreeMap<u32, PathBuf>>,
    recording: Cell<Recording>,
    /// The mount points of the file systems whose operations are recorded. `None` for one that is
    /// about to be unmounted.
    pub(crate) followed: RefCell<Vec<Option<PathBuf>>>,
    /// The state of the record of reads.
    noting: Cell<ReadTracking>,
    /// True if a disk has failed under the stack. Threads of the layers above then react by
    /// themselves.
    has_failed_disk: Cell<bool>,
    /// The previous source of random numbers.
    random: Option<Random>,
    /// The sequence of choices, while it is handed over to the kernel.
    pub(crate) handed: RefCell<Option<HandedOverChoices>>,
    /// The threads that are held back.
    pub(crate) threads: RefCell<HeldThreads>,
}

impl KernelDisks {
    /// Waits until the layers above have reacted to a disk that has failed: until no other task can
    /// run and no event was logged for some ticks. Such a layer may wait for a grace period of RCU
    /// before it writes its superblock again. A layer that never rests is not waited for; the crash
    /// checks then report that the system did not stand still.
    fn wait_for_reaction(&self) -> Result<(), StepError> {
        const QUIET: u32 = 2;
        const MOST: u32 = 200;
        const PAUSE: Duration = Duration::from_millis(6);
        let machine = &self.0.machine;
        let (mut logged, mut quiet) = (machine.logged()?, 0);
        for _ in 0..MOST {
            if quiet == QUIET {
                break;
            }
            yield_to_others().map_err(|error| {
                StepError::new(format!("sched_setscheduler: {error}")).blame(Blame::Tool)
            })?;
            thread::sleep(PAUSE);
            let now = machine.logged()?;
            quiet = if now == logged { quiet + 1 } else { 0 };
            logged = now;
        }
        Ok(())
    }

    pub(crate) fn new(
        machine: Rc<KernelMachine>,
        side: Side,
        image: Image,
        recording: Recording,
        seed: u64,
    ) -> KernelDisks {
        machine.begin(side);
        // A stack on a crash disk draws from a separate sequence, so that it does not change the
        // next numbers of the live stack.
        let seed = match side {
            Side::Live => seed,
            Side::Crash => !seed,
        };
        let random = machine.random(Random { seeded: 1, reserved: 0, seed, drawn: 0 });
        let random = random.inspect_err(|fault| machine.give_up(fault)).ok();
        let (attached, recording) = (RefCell::default(), Cell::new(recording));
        let noting = Cell::new(ReadTracking::No);
        let has_failed_disk = Cell::new(false);
        let (handed, threads) = (RefCell::default(), RefCell::default());
        let followed = RefCell::default();
        KernelDisks(Rc::new(KernelDiskState {
            machine,
            side,
            image,
            attached,
            recording,
            followed,
            noting,
            has_failed_disk,
            random,
            handed,
            threads,
        }))
    }

    /// Returns the node in `/dev` of disk `dev`, with `sectors` sectors. The first call gives the
    /// disk the contents of the image.
    ///
    /// # Errors
    /// The driver has no room for the disk, or the machine is unusable.
    pub fn attach(&self, dev: u32, sectors: u64, model: DiskModel) -> Result<PathBuf, StepError> {
        let KernelDiskState { machine, side, image, attached, recording, noting, .. } = &*self.0;
        if let Some(node) = attached.borrow().get(&dev) {
            return Ok(node.clone());
        }
        let empty = Disk::new();
        let disk = image.disk(dev).unwrap_or(&empty);
        let attach = || machine.attach(*side, dev, sectors, disk);
        // Random numbers are drawn only if the disk is made.
        let is_attached = *side == Side::Crash && machine.has(*side, dev, sectors);
        let node = if is_attached { attach() } else { self.uncounted(attach) }?;
        let completes =
            if *side == Side::Live { model.completes } else { CompletionTiming::AtOnce };
        machine.end_writes(*side, dev, completes)?;
        if noting.get() == ReadTracking::Yes {
            // Discards the reads of the previous user, including its unmount.
            machine.take_reads(*side, dev)?;
        }
        if recording.get() == Recording::On {
            machine.watch(*side, dev, model)?;
        }
        attached.borrow_mut().insert(dev, node.clone());
        Ok(node)
    }

    /// Does work that only the first stack of a machine does, without a draw from the sequence of
    /// random numbers, so that the sequence is the same for all stacks. (The kernel draws a number
    /// for each inode of a tmpfs, including nodes of disks: `__shmem_get_inode`.)
    pub(crate) fn uncounted<T>(
        &self,
        make: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let counted = self.0.machine.random(Random::default())?;
        let made = make();
        self.0.machine.random(counted)?;
        made
    }

    /// Returns true if operations are recorded instead of requests to the disks.
    pub(crate) fn notes_operations(&self) -> bool {
        self.0.recording.get() == Recording::Operations
    }

    /// Returns the number of file systems whose operations are or were recorded.
    pub(crate) fn followed(&self) -> u32 {
        self.0.followed.borrow().len() as u32
    }

    /// Returns the calls that were operations, in order.
    pub(crate) fn take_calls(&self) -> Vec<KernelCall> {
        self.0.machine.take_calls()
    }

    /// Returns the side of the disks.
    pub fn side(&self) -> Side {
        self.0.side
    }

    /// Marks the machine as unusable, because something on the disks could not be stopped.
    pub fn give_up(&self, why: &StepError) {
        self.0.machine.give_up(why);
    }
}

impl DiskSet for KernelDisks {
    fn image(&self) -> Result<Image, StepError> {
        let KernelDiskState { machine, side, image, attached, noting, .. } = &*self.0;
        if noting.get() == ReadTracking::Yes {
            noting.set(ReadTracking::Lost);
        }
        let mut image = image.clone();
        for dev in attached.borrow().keys() {
            *image.disk_mut(*dev) = machine.contents(*side, *dev)?;
        }
        Ok(image)
    }

    fn take_log(&self) -> Result<Vec<Event>, StepError> {
        let KernelDiskState { machine, side, attached, recording, followed, .. } = &*self.0;
        if self.0.has_failed_disk.get() {
            self.wait_for_reaction()?;
        }
        match recording.get() {
            Recording::Off => Ok(Vec::new()),
            Recording::Operations => machine.take_operations(&followed.borrow()),
            Recording::On => machine.take_log(*side, attached.borrow().keys().copied()),
        }
    }

    fn put_mark(&self, name: &str) -> Result<(), StepError> {
        let KernelDiskState { machine, side, attached, recording, .. } = &*self.0;
        match recording.get() {
            Recording::Off => Ok(()),
            Recording::Operations => Err(StepError::new(
                "crash checks that a component requests do not work together with soft crashes on \
                 a kernel",
            )),
            Recording::On => machine.put_mark(*side, attached.borrow().keys().copied(), name),
        }
    }

    fn event_tasks(&self, events: usize) -> Vec<Option<String>> {
        // For soft crashes the log is built from the changes of the repeated calls.
        if self.notes_operations() {
            vec![None; events]
        } else {
            self.0.machine.event_tasks(events)
        }
    }

    fn logged(&self) -> Result<u64, StepError> {
        if self.notes_operations() { Ok(0) } else { self.0.machine.logged() }
    }

    fn note_reads(&self) {
        self.0.noting.set(ReadTracking::Yes);
    }

    fn take_reads(&self) -> Result<Option<Vec<ReadRange>>, StepError> {
        let KernelDiskState { machine, side, attached, noting, .. } = &*self.0;
        if noting.replace(ReadTracking::No) != ReadTracking::Yes {
            return Ok(None);
        }
        let mut reads = Vec::new();
        for dev in attached.borrow().keys().copied() {
            let blocks = machine.take_reads(*side, dev)?.into_iter().map(u64::from);
            reads.extend(blocks.map(|block| ReadRange::Sectors { dev, block, sectors: u8::MAX }));
        }
        Ok(Some(reads))
    }

    fn damage(&self, dev: u32, damage: &Damage) -> Result<(), StepError> {
        let KernelDiskState { machine, side, .. } = &*self.0;
        self.0.has_failed_disk.set(self.0.has_failed_disk.get() || damage.is_of_disk());
        machine.damage(*side, dev, damage)
    }

    fn has_lost_disk(&self) -> bool {
        let KernelDiskState { machine, side, attached, .. } = &*self.0;
        let condition = |dev: &u32| machine.restored(*side, *dev, RddDisk::condition);
        attached.borrow().keys().filter_map(condition).any(|is| is != Condition::Sound)
    }

    fn is_damaged(&self, dev: u32) -> bool {
        let KernelDiskState { machine, side, .. } = &*self.0;
        machine.restored(*side, dev, RddDisk::is_damaged).unwrap_or_default()
    }

    fn hold_still(&self, still: bool) -> Result<(), StepError> {
        let KernelDiskState { machine, side, attached, .. } = &*self.0;
        attached.borrow().keys().try_for_each(|dev| machine.hold_still(*side, *dev, still))
    }

    fn fence(&self) {
        let KernelDiskState { machine, side, attached, recording, .. } = &*self.0;
        let ended = match recording.replace(Recording::Off) {
            Recording::Off => Ok(()),
            Recording::On => {
                attached.borrow().keys().try_for_each(|dev| machine.unwatch(*side, *dev))
            }
            Recording::Operations => {
                (0..self.followed()).try_for_each(|system| KernelSide::unfollow(self, system))
            }
        };
        ended.unwrap_or_else(|fault| machine.give_up(&fault));
    }

    fn kernel(&self) -> Option<&dyn KernelSide> {
        Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for KernelDiskState {
    fn drop(&mut self) {
        if let Some(random) = self.random {
            let back = self.machine.random(random);
            back.map_or_else(|fault| self.machine.give_up(&fault), drop);
        }
        self.machine.end(self.side);
    }
}
