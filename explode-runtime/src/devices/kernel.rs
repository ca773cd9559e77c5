//! The kernel's disks of one stack.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::create_dir_all;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ekm_abi::wire::Random;
use explode_ramdisk::{Disk, Event, Flushes, Image, Read, ReadFault, Recording};

use super::Side;
use super::elsewhere::Handed;
use super::machine::Machine;
use super::threads::OwnThreads;
use crate::base::{Blame, Fault, RunError};
use crate::calls::Call;
use crate::failures::Failures;

/// What of a disk's life is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskModel {
    /// Does it do what a flush asks for?
    pub flushes: Flushes,
    /// Does what is dirty in the buffer cache count as something that may be on disk? Without it only requests do.
    pub buffers: bool,
    /// When does a write of the live side end?
    pub completes: Completes,
}

/// When a write ends (`docs/fault-model.md`, late completion). Guests only, but for the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completes {
    /// When it is submitted.
    #[default]
    AtOnce,
    /// When nothing else can go on.
    Late,
    /// Of each write it is chosen.
    Choice,
}

impl Default for DiskModel {
    fn default() -> DiskModel {
        DiskModel { flushes: Flushes::Kept, buffers: true, completes: Completes::AtOnce }
    }
}

/// What is known of what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noting {
    /// Nobody wants to know.
    No,
    /// All since a disk was attached.
    Yes,
    /// Everything may have been: the image was asked for.
    Lost,
}

/// RAM disks that hold an image, once a component has attached them; clones are the same ones.
#[derive(Clone, Debug)]
pub struct KernelDisks(pub(super) Rc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) machine: Rc<Machine>,
    pub(super) side: Side,
    image: Image,
    /// The nodes of the disks that are attached.
    attached: RefCell<BTreeMap<u32, PathBuf>>,
    recording: Cell<Recording>,
    /// Where the file systems on them are whose operations are noted; none that is about to be unmounted.
    followed: RefCell<Vec<Option<PathBuf>>>,
    /// Is it noted what is read?
    noting: Cell<Noting>,
    /// Where random numbers came from before.
    random: Option<Random>,
    /// The choices that are made below us, while it is not our turn.
    pub(super) handed: RefCell<Option<Handed>>,
    /// The threads that are held back.
    pub(super) threads: RefCell<OwnThreads>,
}

impl KernelDisks {
    pub(super) fn new(
        machine: Rc<Machine>,
        side: Side,
        image: Image,
        recording: Recording,
        seed: u64,
    ) -> KernelDisks {
        machine.begin(side);
        // A stack on a crash disk draws numbers of its own: how many must not change what the live one draws next.
        let seed = match side {
            Side::Live => seed,
            Side::Crash => !seed,
        };
        let random = machine.random(Random { seeded: 1, reserved: 0, seed, drawn: 0 });
        let random = random.inspect_err(|fault| machine.give_up(fault)).ok();
        let (attached, recording) = (RefCell::default(), Cell::new(recording));
        let noting = Cell::new(Noting::No);
        let (handed, threads) = (RefCell::default(), RefCell::default());
        let followed = RefCell::default();
        KernelDisks(Rc::new(Inner {
            machine,
            side,
            image,
            attached,
            recording,
            followed,
            noting,
            random,
            handed,
            threads,
        }))
    }

    /// Disk `dev`, `sectors` large, as a node in `/dev`; the first time it is given what the image says.
    ///
    /// # Errors
    /// The driver has no room for it, or the machine is in no state to go on.
    pub fn attach(&self, dev: u32, sectors: u64, model: DiskModel) -> Result<PathBuf, Fault> {
        let Inner { machine, side, image, attached, recording, noting, .. } = &*self.0;
        if let Some(node) = attached.borrow().get(&dev) {
            return Ok(node.clone());
        }
        let empty = Disk::new();
        let disk = image.disk(dev).unwrap_or(&empty);
        let node = self.uncounted(|| machine.attach(*side, dev, sectors, disk))?;
        let completes = if *side == Side::Live { model.completes } else { Completes::AtOnce };
        machine.end_writes(*side, dev, completes)?;
        if noting.get() == Noting::Yes {
            // Those of the user before, its unmount included.
            machine.take_reads(*side, dev)?;
        }
        if recording.get() == Recording::On {
            machine.watch(*side, dev, model)?;
        }
        attached.borrow_mut().insert(dev, node.clone());
        Ok(node)
    }

    /// The folders of a stack's components, which are there from now on.
    pub(crate) fn make_folders<'p>(&self, mut places: impl Iterator<Item = &'p PathBuf>) {
        let make = |at: &PathBuf| create_dir_all(at).map_err(|error| format!("{}: {error}", at.display()));
        let made = self
            .uncounted(|| places.try_for_each(make).map_err(|error| Fault::new(error).blame(Blame::Tool)));
        made.unwrap_or_else(|fault| self.give_up(&fault));
    }

    /// Does what only the first stack of a machine has to do: no number of the row is drawn by it, so the row is the same for all. (The
    /// kernel draws one for each inode of a tmpfs, nodes of disks included: `__shmem_get_inode`.)
    fn uncounted<T>(&self, make: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        let counted = self.0.machine.random(Random::default())?;
        let made = make();
        self.0.machine.random(counted)?;
        made
    }

    /// Are operations wanted, and not what goes to the disks?
    pub(crate) fn notes_operations(&self) -> bool {
        self.0.recording.get() == Recording::Operations
    }

    /// From here on the operations are noted of the file system that is mounted at this place.
    pub(crate) fn follow(&self, at: &Path) -> Result<(), Fault> {
        let Inner { machine, followed, .. } = &*self.0;
        machine.follow(self.followed(), at)?;
        followed.borrow_mut().push(Some(at.to_owned()));
        Ok(())
    }

    /// Of how many file systems they are, or were, noted.
    pub(crate) fn followed(&self) -> u32 {
        self.0.followed.borrow().len() as u32
    }

    /// Ends that for one of them, which is about to be unmounted.
    pub(crate) fn unfollow(&self, system: u32) -> Result<(), Fault> {
        let Inner { machine, followed, .. } = &*self.0;
        if let Some(place) = followed.borrow_mut().get_mut(system as usize) {
            place.take();
        }
        machine.unfollow(system)
    }

    /// The calls that were operations, in their order.
    pub(crate) fn take_calls(&self) -> Vec<Call> {
        self.0.machine.take_calls()
    }

    /// Which of the two sets these are.
    pub fn side(&self) -> Side {
        self.0.side
    }

    /// Something on them could not be put to rest: nobody may use the machine any more.
    pub fn give_up(&self, why: &Fault) {
        self.0.machine.give_up(why);
    }

    /// Has the kernel probe the functions that may fail.
    ///
    /// # Errors
    /// What this kernel has not, or what must not be probed.
    pub(crate) fn probe(&self, failures: &Failures) -> Result<(), RunError> {
        self.0.machine.probe(failures)
    }

    pub(super) fn spoil(&self, dev: u32, sectors: Range<u64>, fault: ReadFault) -> Result<(), Fault> {
        let Inner { machine, side, .. } = &*self.0;
        machine.spoil(*side, dev, sectors, fault)
    }

    /// No write that has not ended does so, or they go on.
    pub(super) fn hold_still(&self, still: bool) -> Result<(), Fault> {
        let Inner { machine, side, attached, .. } = &*self.0;
        attached.borrow().keys().try_for_each(|dev| machine.hold_still(*side, *dev, still))
    }

    pub(super) fn image(&self) -> Result<Image, Fault> {
        let Inner { machine, side, image, attached, noting, .. } = &*self.0;
        if noting.get() == Noting::Yes {
            noting.set(Noting::Lost);
        }
        let mut image = image.clone();
        for dev in attached.borrow().keys() {
            *image.disk_mut(*dev) = machine.contents(*side, *dev)?;
        }
        Ok(image)
    }

    pub(super) fn take_log(&self) -> Result<Vec<Event>, Fault> {
        let Inner { machine, side, attached, recording, followed, .. } = &*self.0;
        match recording.get() {
            Recording::Off => Ok(Vec::new()),
            Recording::Operations => machine.take_operations(&followed.borrow()),
            Recording::On => machine.take_log(*side, attached.borrow().keys().copied()),
        }
    }

    pub(super) fn issuers(&self, events: usize) -> Vec<Option<String>> {
        // Of soft crashes the log is made up of what the calls have changed when they were repeated.
        if self.notes_operations() { vec![None; events] } else { self.0.machine.issuers(events) }
    }

    /// Before the first disk is attached.
    pub(super) fn note_reads(&self) {
        self.0.noting.set(Noting::Yes);
    }

    pub(super) fn take_reads(&self) -> Result<Option<Vec<Read>>, Fault> {
        let Inner { machine, side, attached, noting, .. } = &*self.0;
        if noting.replace(Noting::No) != Noting::Yes {
            return Ok(None);
        }
        let mut reads = Vec::new();
        for dev in attached.borrow().keys().copied() {
            let blocks = machine.take_reads(*side, dev)?.into_iter().map(u64::from);
            reads.extend(blocks.map(|block| Read::Sectors { dev, block, sectors: u8::MAX }));
        }
        Ok(Some(reads))
    }

    pub(super) fn fence(&self) {
        let Inner { machine, side, attached, recording, .. } = &*self.0;
        let ended = match recording.replace(Recording::Off) {
            Recording::Off => Ok(()),
            Recording::On => attached.borrow().keys().try_for_each(|dev| machine.unwatch(*side, *dev)),
            Recording::Operations => (0..self.followed()).try_for_each(|system| self.unfollow(system)),
        };
        ended.unwrap_or_else(|fault| machine.give_up(&fault));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(random) = self.random {
            let back = self.machine.random(random);
            back.map_or_else(|fault| self.machine.give_up(&fault), drop);
        }
    }
}
