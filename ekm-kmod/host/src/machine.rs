//! The kernel of this machine, with our two modules: RAM disks, their event log, a clock that
//! stands still, random numbers that repeat.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use explode_ekm_abi::wire::{
    FLAG_PROGRAM, FOLLOW_BEGIN, FOLLOW_END, FOLLOWED_MAX, Follow, KIND_ASKED, KIND_BUFFER,
    KIND_CALL, Random, WATCH_BUFFERS, WATCH_REQUESTS, WATCHES_MAX, Watch,
};
use explode_ramdisk::{Disk, Event, Flushes, ReadFault};

use super::disk_model::{CompletionTiming, DiskModel};
use super::ekm::{self, Ekm};
use super::leftovers::Leftovers;
use super::log::{LogRecord, RecordReader};
use super::marks;
use super::packages::{IMAGE_FILE, Packages};
use super::rdd::{CONTROL, RddDisk, open_control};
use super::requests::Requests;
use super::side_disks::{SideDisks, is_asked};
use super::tasks::EventTasks;
use super::write_back;
use crate::calls::{KernelCall, MappedFiles};
use explode_runtime::base::{Blame, BrokenKind, RunError, StepError};
use explode_runtime::choose::Choice;
use explode_runtime::devices::{NOW, Side};
use explode_runtime::events::asked;
use explode_runtime::faults::kernel::KernelFaults;

/// Devices of a side.
const DEVICES: u32 = WATCHES_MAX as u32 / 2;

/// The kernel's side of a run. There is one a process: EKM serves one at a time.
#[derive(Debug)]
pub struct KernelMachine {
    control: File,
    ekm: Ekm,
    live: RefCell<SideDisks>,
    crash: RefCell<SideDisks>,
    /// What code of the kernel and programs have asked for.
    requests: Requests,
    /// Do its tasks take turns? It is ours alone then.
    turns: bool,
    /// The disks that are to be taken out of the kernel; none in a guest, which is thrown away.
    left: Option<RefCell<Leftovers>>,
    /// What its programs are from.
    packages: Packages,
    /// The folders of crash stacks that are there.
    folders: RefCell<BTreeSet<OsString>>,
    /// What makes this machine unfit for further runs: something that could not be unmounted.
    stuck: RefCell<Option<String>>,
}

impl KernelMachine {
    /// Opens both modules' devices, and stops the file systems' clock.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub(crate) fn open(turns: bool) -> Result<KernelMachine, RunError> {
        let missing = |path: &str, error: io::Error| {
            RunError::Missing(match error.kind() {
                io::ErrorKind::NotFound => {
                    format!(
                        "{path} is not there; load the modules rdd and ekm (explode vm build \
                         makes them), or use --in vm"
                    )
                }
                io::ErrorKind::PermissionDenied => format!("{path}: {error}; --in here needs root"),
                io::ErrorKind::ResourceBusy => {
                    format!("{path} is in use; wait until the other run has ended")
                }
                _ => format!("{path}: {error}"),
            })
        };
        let control = open_control().map_err(|error| missing(CONTROL, error))?;
        let ekm = Ekm::open().map_err(|error| missing(ekm::PATH, error))?;
        let set_up = ekm.freeze_clock(NOW).and_then(|()| ekm.record(true));
        set_up.map_err(|fault| RunError::from(fault.blame(Blame::Tool)))?;
        marks::install().map_err(|error| {
            let why = format!("explode-mark cannot be put into {}: {error}", marks::TOOLS);
            BrokenKind::Tool.of(why)
        })?;
        let packages = Packages::here().map_err(|error| {
            BrokenKind::Tool.of(format_args!("{IMAGE_FILE} cannot be read: {error}"))
        })?;
        let left = if turns { None } else { Some(RefCell::new(cleared(&control)?)) };
        Ok(KernelMachine {
            control,
            ekm,
            live: RefCell::default(),
            crash: RefCell::default(),
            requests: Requests::default(),
            turns,
            left,
            packages,
            folders: RefCell::default(),
            stuck: RefCell::default(),
        })
    }

    /// Do its tasks take turns?
    pub(crate) fn takes_turns(&self) -> bool {
        self.turns
    }

    /// What its programs are from.
    pub(crate) fn packages(&self) -> &Packages {
        &self.packages
    }

    /// Returns true if the folder need not be made. The live side looks at the folder. The crash
    /// side goes by what it has made: a component that finds its folder gone makes it again.
    pub(crate) fn has_folder(&self, side: Side, folder: &Path) -> bool {
        match side {
            Side::Live => folder.is_dir(),
            Side::Crash => self.folders.borrow().contains(folder.as_os_str()),
        }
    }

    /// The folder of a stack is there now.
    pub(crate) fn made_folder(&self, folder: &Path) {
        self.folders.borrow_mut().insert(folder.into());
    }

    /// Something could not be put to rest: its disks must not be touched any more.
    pub fn give_up(&self, why: &StepError) {
        self.stuck.borrow_mut().get_or_insert_with(|| why.to_string());
    }

    /// Forgets what a side's log said.
    pub(crate) fn begin(&self, side: Side) {
        // What is still in the log came before.
        self.pull();
        let mut bench = self.bench(side).borrow_mut();
        (bench.reader, bench.events, bench.spoiled) = (RecordReader::default(), Vec::new(), None);
        bench.dirty.clear();
        (bench.issuers, bench.logged) = (EventTasks::default(), 0);
        (bench.calls, bench.stores) = (Vec::new(), MappedFiles::default());
        self.requests.stack_begins(side);
    }

    /// The stack of a side has ended.
    pub(crate) fn end(&self, side: Side) {
        self.pull();
        self.requests.stack_ended(side);
    }

    /// A mutate begins on the live side (`on`), or has ended: code of the kernel may ask for crash
    /// checks in between.
    pub(crate) fn listen(&self, on: bool) {
        self.pull();
        self.requests.listen(on);
    }

    /// Has code of the kernel asked for crash checks since the mutate began?
    pub(crate) fn has_asked(&self) -> bool {
        self.requests.have_been_heard()
    }

    /// What code of the kernel must not have asked on a side.
    pub(crate) fn refused(&self, side: Side) -> Option<StepError> {
        self.pull();
        self.requests.refused(side)
    }

    /// Is there a disk `dev` of a side, of this size?
    pub(crate) fn has(&self, side: Side, dev: u32, sectors: u64) -> bool {
        self.bench(side).borrow().disks.get(&dev).is_some_and(|disk| disk.spec().sectors == sectors)
    }

    /// Disk `dev` of a side, of this size, holding `wanted`; returns its node.
    pub(crate) fn attach(
        &self,
        side: Side,
        dev: u32,
        sectors: u64,
        wanted: &Disk,
    ) -> Result<PathBuf, StepError> {
        if let Some(why) = &*self.stuck.borrow() {
            return Err(tool(format!("the machine cannot be used any more: {why}")));
        }
        if dev >= DEVICES {
            return Err(tool(format!("a stack has at most {DEVICES} disks in the kernel")));
        }
        let failed = |what: &str| {
            let what = what.to_owned();
            move |errno: nix::errno::Errno| tool(format!("{CONTROL}: {what}: {}", errno.desc()))
        };
        let mut bench = self.bench(side).borrow_mut();
        if bench.disks.get(&dev).is_some_and(|disk| disk.spec().sectors != sectors) {
            let disk = bench.disks.remove(&dev).expect("it was just there");
            self.remove(disk).map_err(failed("a disk cannot be removed"))?;
        }
        let disk = match bench.disks.entry(dev) {
            Entry::Occupied(disk) => disk.into_mut(),
            Entry::Vacant(place) => {
                let disk = RddDisk::create(&self.control, sectors);
                let disk =
                    disk.map_err(failed(&format!("no disk of {sectors} sectors can be made")))?;
                let number = disk.spec().disk;
                let disk = place.insert(disk);
                if let Some(left) = &self.left {
                    let listed = left.borrow_mut().add(number);
                    listed
                        .map_err(|error| tool(format!("the list of disks to remove: {error}")))?;
                }
                write_back::keep_share(disk.name()).map_err(|error| tool(error.to_string()))?;
                disk
            }
        };
        disk.restore(&self.control, wanted).map_err(failed("a disk cannot be restored"))?;
        if side == Side::Live {
            disk.forget_errors()
                .map_err(|error| tool(format!("{}: {error}", disk.path().display())))?;
        }
        let node = disk.path().to_owned();
        drop(bench);
        // The first start of a stack: mkfs.btrfs looks at all disks, and refuses the UUID that is
        // still on another stack's crash disk.
        if side == Side::Live && !wanted.holds_something() {
            let mut bench = self.bench(Side::Crash).borrow_mut();
            let emptied = bench.disks.get_mut(&dev).map(|disk| disk.restore(&self.control, wanted));
            emptied.transpose().map_err(failed("a disk cannot be emptied"))?;
        }
        Ok(node)
    }

    /// Takes a disk out of the kernel.
    fn remove(&self, disk: RddDisk) -> Result<(), nix::errno::Errno> {
        let number = disk.spec().disk;
        disk.remove(&self.control)?;
        if let Some(left) = &self.left {
            // One that is listed and is not there is passed over.
            left.borrow_mut().forget(number).ok();
        }
        Ok(())
    }

    /// When the writes of an attached disk end.
    pub(crate) fn end_writes(
        &self,
        side: Side,
        dev: u32,
        completes: CompletionTiming,
    ) -> Result<(), StepError> {
        let late = completes != CompletionTiming::AtOnce;
        if late && !self.turns {
            return Err(tool(
                "late completion is for guests (--in vm): it counts on one processor and tasks \
                 that take turns"
                    .to_owned(),
            ));
        }
        if late {
            // A task that waits while crash disks are checked may wait for long, and does not hang.
            let set = std::fs::write("/proc/sys/kernel/hung_task_timeout_secs", "0");
            set.map_err(|error| tool(format!("hung_task_timeout_secs: {error}")))?;
        }
        self.change_disk(side, dev, |disk| disk.end_writes(&self.control, completes))
    }

    /// No write of such a disk ends, or they go on.
    pub(crate) fn hold_still(&self, side: Side, dev: u32, still: bool) -> Result<(), StepError> {
        self.change_disk(side, dev, |disk| disk.hold_still(&self.control, still))
    }

    fn change_disk(
        &self,
        side: Side,
        dev: u32,
        change: impl FnOnce(&mut RddDisk) -> Result<(), nix::errno::Errno>,
    ) -> Result<(), StepError> {
        let mut bench = self.bench(side).borrow_mut();
        let disk =
            bench.disks.get_mut(&dev).ok_or_else(|| tool(format!("disk {dev} is not attached")))?;
        change(disk).map_err(|errno| tool(format!("{CONTROL}: {}", errno.desc())))
    }

    /// Sectors of an attached disk go bad.
    pub(crate) fn damage(
        &self,
        side: Side,
        dev: u32,
        sectors: Range<u64>,
        fault: ReadFault,
    ) -> Result<(), StepError> {
        let mut bench = self.bench(side).borrow_mut();
        let disk =
            bench.disks.get_mut(&dev).ok_or_else(|| tool(format!("disk {dev} is not attached")))?;
        let spoilt = disk.damage(&self.control, sectors, fault);
        spoilt.map_err(|errno| tool(format!("{CONTROL}: a disk takes no fault: {}", errno.desc())))
    }

    /// Begins to log a disk's events.
    pub(crate) fn watch(&self, side: Side, dev: u32, model: DiskModel) -> Result<(), StepError> {
        let mut bench = self.bench(side).borrow_mut();
        if model.flushes == Flushes::Dropped {
            bench.reader.drop_flushes(dev);
        }
        let spec = bench.disks[&dev].spec();
        let (major, minor) = (spec.major, spec.minor);
        bench.unseen.retain(|unseen| *unseen != dev);
        if !model.buffers {
            bench.unseen.push(dev);
        }
        let what = WATCH_REQUESTS | if model.buffers { WATCH_BUFFERS } else { 0 };
        self.ekm.watch(Watch { device: number(side, dev), major, minor, what })
    }

    /// Ends that, and drops what was not taken.
    pub(crate) fn unwatch(&self, side: Side, dev: u32) -> Result<(), StepError> {
        self.ekm.watch(Watch { device: number(side, dev), ..Watch::default() })
    }

    /// What a disk holds now.
    pub(crate) fn contents(&self, side: Side, dev: u32) -> Result<Disk, StepError> {
        let mut bench = self.bench(side).borrow_mut();
        let disk = bench.disks.get_mut(&dev).expect("only attached disks are asked for");
        let contents = disk.contents(&self.control);
        contents.cloned().map_err(|errno| tool(format!("{CONTROL}: {}", errno.desc())))
    }

    /// The blocks of a disk that were read by requests since the last call, in order of first
    /// reads.
    pub(crate) fn take_reads(&self, side: Side, dev: u32) -> Result<Vec<u32>, StepError> {
        let bench = self.bench(side).borrow();
        let reads = bench.disks[&dev].take_reads(&self.control);
        reads.map_err(|errno| tool(format!("{CONTROL}: {}", errno.desc())))
    }

    /// The events of a side's watched disks since the last call.
    pub(crate) fn take_log(
        &self,
        side: Side,
        watched: impl Iterator<Item = u32>,
    ) -> Result<Vec<Event>, StepError> {
        self.pull();
        let unseen = self.bench(side).borrow().unseen.clone();
        for dev in watched.filter(|dev| !unseen.contains(dev)) {
            self.ekm.buffers(number(side, dev))?;
            // Most often nothing is dirty that the log does not have.
            let agrees = |now: &mut dyn Iterator<Item = (u64, &[u8])>| {
                self.bench(side).borrow().reader.agrees(dev, now)
            };
            if self.ekm.discard_buffers(agrees)? {
                continue;
            }
            let (now, events): (Vec<LogRecord>, Vec<LogRecord>) = self
                .ekm
                .drain()?
                .into_iter()
                .partition(|record| record.header.kind == KIND_BUFFER && !is_asked(record));
            self.sort(events);
            let mut bench = self.bench(side).borrow_mut();
            let missed = bench.reader.reconcile(dev, now);
            bench.logged += missed.len() as u64;
            if side == Side::Live {
                missed.iter().for_each(|_| bench.issuers.note(None));
            }
            bench.events.extend(missed);
        }
        let mut bench = self.bench(side).borrow_mut();
        let events = std::mem::take(&mut bench.events);
        bench.spoiled.clone().map_or(Ok(events), Err)
    }

    /// Puts a mark into the log of a side, at this place.
    pub(crate) fn put_mark(
        &self,
        side: Side,
        watched: impl Iterator<Item = u32>,
        name: &str,
    ) -> Result<(), StepError> {
        let mut events = self.take_log(side, watched)?;
        events.push(Event::Mark { name: name.to_owned() });
        let mut bench = self.bench(side).borrow_mut();
        bench.events = events;
        if side == Side::Live {
            bench.issuers.note(None);
        }
        Ok(())
    }

    /// Follows the calls that change the file system that is mounted here, as number `system`.
    pub(crate) fn follow(&self, system: u32, at: &Path) -> Result<(), StepError> {
        if system as usize >= FOLLOWED_MAX {
            return Err(tool(format!(
                "soft crashes follow at most {FOLLOWED_MAX} file systems of a stack"
            )));
        }
        let file = File::open(at).map_err(|error| tool(format!("{}: {error}", at.display())))?;
        let file = file.as_raw_fd() as u32;
        self.ekm.follow(Follow { file, system, what: FOLLOW_BEGIN, missed: 0 })
    }

    /// Ends that. What was logged is still there to be taken.
    pub(crate) fn unfollow(&self, system: u32) -> Result<(), StepError> {
        self.ekm.follow(Follow { system, what: FOLLOW_END, ..Follow::default() })
    }

    /// The marks of the operations on the live side since the last call; the calls themselves wait
    /// to be taken. File systems are mounted at `roots`.
    pub(crate) fn take_operations(
        &self,
        roots: &[Option<PathBuf>],
    ) -> Result<Vec<Event>, StepError> {
        self.pull();
        self.ekm.has_seen_all()?;
        let mut bench = self.live.borrow_mut();
        let stored = bench.stores.look(roots)?;
        stored.into_iter().for_each(|call| bench.note(call));
        let events = std::mem::take(&mut bench.events);
        bench.spoiled.clone().map_or(Ok(events), Err)
    }

    /// The calls on the live side since the last call of this.
    pub(crate) fn take_calls(&self) -> Vec<KernelCall> {
        std::mem::take(&mut self.live.borrow_mut().calls)
    }

    /// Who has caused the last so many events of the live side.
    pub(crate) fn issuers(&self, events: usize) -> Vec<Option<String>> {
        self.bench(Side::Live).borrow().issuers.of_last(events)
    }

    /// How many events the live side has logged since its stack began. Marks are not counted.
    pub(crate) fn logged(&self) -> Result<u64, StepError> {
        self.pull();
        let bench = self.bench(Side::Live).borrow();
        bench.spoiled.clone().map_or(Ok(bench.logged), Err)
    }

    /// Takes what is in the log, and gives it to whom it belongs.
    fn pull(&self) {
        match self.ekm.drain() {
            Ok(records) => self.sort(records),
            Err(fault) => {
                for side in [Side::Live, Side::Crash] {
                    self.bench(side).borrow_mut().spoiled.get_or_insert_with(|| fault.clone());
                }
            }
        }
    }

    /// Where the kernel's random numbers come from; returns where they came from.
    pub(crate) fn random(&self, random: Random) -> Result<Random, StepError> {
        self.ekm.random(random)
    }

    /// Events are logged, or not.
    pub fn record(&self, on: bool) -> Result<(), StepError> {
        self.ekm.record(on)
    }

    /// No function that may fail is probed any more.
    pub fn probe_nothing(&self) -> Result<(), StepError> {
        self.ekm.probe_nothing()
    }

    /// As [`KernelSide::probe`](explode_runtime::devices::KernelSide::probe).
    pub fn probe(&self, failures: &KernelFaults) -> Result<(), RunError> {
        self.ekm.probe(failures)
    }

    /// Functions of the kernel may fail, as many as it says, in system calls of this thread: first
    /// by the answers of a script, all of them the kernel's, then none.
    pub fn arm(&self, failures: &KernelFaults, script: &[Choice]) -> Result<(), StepError> {
        self.ekm.arm(failures, script)
    }

    /// Ends that; returns what was chosen.
    pub fn disarm(&self) -> Result<Vec<Choice>, StepError> {
        self.ekm.disarm()
    }

    /// The file system of this file begins to commit, and is not waited for.
    pub(crate) fn start_commit(&self, file: BorrowedFd<'_>) -> Result<(), StepError> {
        self.ekm.start_commit(file)
    }

    /// Gives each record to its side.
    fn sort(&self, records: Vec<LogRecord>) {
        for record in records {
            if record.header.kind == KIND_CALL {
                // Only the live side's file systems are followed.
                self.live.borrow_mut().note_call(&record);
                continue;
            }
            if record.header.kind == KIND_ASKED {
                self.note_request(&record);
                continue;
            }
            let device = record.header.device;
            let side = if device < DEVICES { Side::Live } else { Side::Crash };
            self.bench(side).borrow_mut().note_record(side, device % DEVICES, record);
        }
    }

    /// A request that is heard becomes a mark of the live side.
    fn note_request(&self, record: &LogRecord) {
        let is_of_program = record.header.flags & FLAG_PROGRAM != 0;
        let by = || match is_of_program {
            true => "a program".to_owned(),
            false => self.ekm.caller(record.header.request),
        };
        let mut bench = self.live.borrow_mut();
        let mut dirty = None;
        if is_of_program {
            dirty = Some(std::mem::take(&mut bench.dirty));
            self.crash.borrow_mut().dirty.clear();
        }
        let Some(name) = self.requests.take(&record.data, by) else { return };
        if let Some(dirty) = dirty {
            bench.reconcile(dirty);
        }
        bench.events.push(Event::Mark { name: asked(name) });
        bench.issuers.note(Some(record.header.pid));
    }

    fn bench(&self, side: Side) -> &RefCell<SideDisks> {
        match side {
            Side::Live => &self.live,
            Side::Crash => &self.crash,
        }
    }
}

/// Disks would stay in the kernel's memory. One that a process still has open stays until the next
/// run.
impl Drop for KernelMachine {
    fn drop(&mut self) {
        if self.left.is_none() {
            return;
        }
        for side in [Side::Live, Side::Crash] {
            let disks = std::mem::take(&mut self.bench(side).borrow_mut().disks);
            for disk in disks.into_values() {
                self.remove(disk).ok();
            }
        }
    }
}

/// The list of disks to remove, once those are removed that an earlier run has left.
fn cleared(control: &File) -> Result<Leftovers, RunError> {
    let cleared = Leftovers::read().and_then(|mut left| left.remove(control).map(|()| left));
    cleared.map_err(|error| {
        BrokenKind::Tool.of(format_args!("disks that an earlier run has left: {error}")).into()
    })
}

/// The number by which EKM's log knows a disk.
fn number(side: Side, dev: u32) -> u32 {
    match side {
        Side::Live => dev,
        Side::Crash => DEVICES + dev,
    }
}

fn tool(message: String) -> StepError {
    StepError::new(message).blame(Blame::Tool)
}
