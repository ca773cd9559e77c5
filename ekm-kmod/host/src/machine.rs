//! The kernel of this machine with explode's two modules: RAM disks, their event log, a frozen
//! clock, and repeatable random numbers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use explode_ekm_abi::wire::{
    FLAG_PROGRAM, FOLLOW_BEGIN, FOLLOW_END, FOLLOWED_MAX, Follow, KIND_ASKED, KIND_BUFFER,
    KIND_CALL, Random, WATCH_BUFFERS, WATCH_REQUESTS, WATCHES_MAX, Watch,
};
use explode_ramdisk::{Damage, Disk, Event, Flushes};

use super::disk_model::{CompletionTiming, DiskModel};
use super::ekm::{self, Ekm};
use super::leftovers::Leftovers;
use super::log::{LogRecord, RecordReader};
use super::marks;
use super::packages::{IMAGE_FILE, Packages};
use super::rdd::{CONTROL, RddDisk, open_control};
use super::requests::Requests;
use super::scheduling::TurnTakers;
use super::side_disks::{SideDisks, is_of_request};
use super::tasks::EventTasks;
use super::write_back;
use crate::calls::{KernelCall, MappedFiles};
use explode_runtime::base::{Blame, BrokenKind, RunError, StepError};
use explode_runtime::choose::Choice;
use explode_runtime::devices::{NOW, Side, TICK};
use explode_runtime::events::request_mark;
use explode_runtime::faults::kernel::KernelFaults;

/// The largest number of devices of a side.
const DEVICES: u32 = WATCHES_MAX as u32 / 2;

/// The kernel of a run. A process has at most one, because EKM serves one process at a time.
#[derive(Debug)]
pub struct KernelMachine {
    control: File,
    ekm: Ekm,
    live: RefCell<SideDisks>,
    crash: RefCell<SideDisks>,
    /// The requests of kernel code and of programs for crash checks.
    requests: Requests,
    /// The time of the file systems since [`NOW`], in seconds.
    passed: Cell<u64>,
    /// True if the tasks take turns. The run then has the machine for itself.
    turns: bool,
    turn_takers: TurnTakers,
    /// The disks to remove from the kernel. `None` in a guest, which is thrown away.
    left: Option<RefCell<Leftovers>>,
    /// The packages of the machine's programs.
    packages: Packages,
    /// The folders of crash stacks that exist.
    folders: RefCell<BTreeSet<OsString>>,
    /// The reason why this machine cannot be used for further runs, such as a failed unmount.
    /// `None` if it can.
    stuck: RefCell<Option<String>>,
}

impl KernelMachine {
    /// Opens the devices of both modules, and freezes the clock of file systems.
    ///
    /// # Errors
    /// A module or permission is missing, or the device is in use. The text says what to do.
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
        let packages = Packages::of_this_machine().map_err(|error| {
            BrokenKind::Tool.of(format_args!("{IMAGE_FILE} cannot be read: {error}"))
        })?;
        let left = if turns { None } else { Some(RefCell::new(cleared(&control)?)) };
        Ok(KernelMachine {
            control,
            ekm,
            live: RefCell::default(),
            crash: RefCell::default(),
            requests: Requests::default(),
            passed: Cell::new(0),
            turns,
            turn_takers: TurnTakers::default(),
            left,
            packages,
            folders: RefCell::default(),
            stuck: RefCell::default(),
        })
    }

    /// Returns true if the tasks take turns.
    pub(crate) fn takes_turns(&self) -> bool {
        self.turns
    }

    /// Returns the threads of the kernel that take turns.
    pub(crate) fn turn_takers(&self) -> &TurnTakers {
        &self.turn_takers
    }

    /// Returns the packages of the machine's programs.
    pub(crate) fn packages(&self) -> &Packages {
        &self.packages
    }

    /// Returns true if the folder exists. The live side checks the folder. The crash side checks
    /// only the folders that it has made, because a component makes a missing folder again.
    pub(crate) fn has_folder(&self, side: Side, folder: &Path) -> bool {
        match side {
            Side::Live => folder.is_dir(),
            Side::Crash => self.folders.borrow().contains(folder.as_os_str()),
        }
    }

    /// Records that the folder of a stack exists.
    pub(crate) fn made_folder(&self, folder: &Path) {
        self.folders.borrow_mut().insert(folder.into());
    }

    /// Marks the machine as unusable, because something could not be stopped. Its disks must not be
    /// used any more.
    pub fn give_up(&self, why: &StepError) {
        self.stuck.borrow_mut().get_or_insert_with(|| why.to_string());
    }

    /// Resets the state of a side's log at the start of a stack.
    pub(crate) fn begin(&self, side: Side) {
        if side == Side::Live && self.passed.replace(0) > 0 {
            let set_back = self.ekm.freeze_clock(NOW);
            set_back.unwrap_or_else(|fault| self.give_up(&fault));
        }
        // The records that are still in the log belong to the previous stack.
        self.pull();
        let mut side_disks = self.side_disks(side).borrow_mut();
        (side_disks.reader, side_disks.events, side_disks.spoiled) =
            (RecordReader::default(), Vec::new(), None);
        side_disks.dirty.clear();
        (side_disks.event_tasks, side_disks.logged) = (EventTasks::default(), 0);
        (side_disks.calls, side_disks.stores) = (Vec::new(), MappedFiles::default());
        self.requests.stack_begins(side);
    }

    /// Sets the clock of file systems forward.
    pub(crate) fn pass_time(&self) -> Result<(), StepError> {
        self.passed.set(self.passed.get() + TICK);
        self.ekm.freeze_clock(NOW + self.passed.get())
    }

    /// Records that the stack of a side has ended.
    pub(crate) fn end(&self, side: Side) {
        self.pull();
        self.requests.stack_ended(side);
    }

    /// Records that a mutate of the live side begins (`on`) or has ended. Requests for crash checks
    /// are valid in between.
    pub(crate) fn listen(&self, on: bool) {
        self.pull();
        self.requests.listen(on);
    }

    /// Returns true if crash checks were requested since the mutate began.
    pub(crate) fn has_requests(&self) -> bool {
        self.requests.has_accepted()
    }

    /// Returns the first invalid request for crash checks on a side. `None` if there was none.
    pub(crate) fn refused(&self, side: Side) -> Option<StepError> {
        self.pull();
        self.requests.refused(side)
    }

    /// Returns true if a side has a disk `dev` with this size.
    pub(crate) fn has(&self, side: Side, dev: u32, sectors: u64) -> bool {
        self.side_disks(side)
            .borrow()
            .disks
            .get(&dev)
            .is_some_and(|disk| disk.spec().sectors == sectors)
    }

    /// Makes disk `dev` of a side have this size and hold `wanted`. Returns its node.
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
        let failed = |action: &str| {
            let action = action.to_owned();
            move |errno: nix::errno::Errno| tool(format!("{CONTROL}: {action}: {}", errno.desc()))
        };
        let mut side_disks = self.side_disks(side).borrow_mut();
        if side_disks.disks.get(&dev).is_some_and(|disk| disk.spec().sectors != sectors) {
            let disk = side_disks.disks.remove(&dev).expect("it was just there");
            self.remove(disk).map_err(failed("a disk cannot be removed"))?;
        }
        let disk = match side_disks.disks.entry(dev) {
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
        drop(side_disks);
        // An empty disk means the first start of a stack. mkfs.btrfs reads all disks and rejects a
        // UUID that is still on the crash disk of another stack, so that disk is emptied as well.
        if side == Side::Live && !wanted.holds_something() {
            let mut side_disks = self.side_disks(Side::Crash).borrow_mut();
            let emptied =
                side_disks.disks.get_mut(&dev).map(|disk| disk.restore(&self.control, wanted));
            emptied.transpose().map_err(failed("a disk cannot be emptied"))?;
        }
        Ok(node)
    }

    /// Removes a disk from the kernel.
    fn remove(&self, disk: RddDisk) -> Result<(), nix::errno::Errno> {
        let number = disk.spec().disk;
        disk.remove(&self.control)?;
        if let Some(left) = &self.left {
            // A listed disk that does not exist is skipped.
            left.borrow_mut().forget(number).ok();
        }
        Ok(())
    }

    /// Sets when the writes of an attached disk complete.
    pub(crate) fn end_writes(
        &self,
        side: Side,
        dev: u32,
        completes: CompletionTiming,
    ) -> Result<(), StepError> {
        let late = completes != CompletionTiming::AtOnce;
        if late && !self.turns {
            return Err(tool(
                "late completion is only for guests (--in vm), where tasks take turns on one \
                 processor"
                    .to_owned(),
            ));
        }
        if late {
            // A task that waits while crash disks are checked may wait long and is not hung.
            let set = std::fs::write("/proc/sys/kernel/hung_task_timeout_secs", "0");
            set.map_err(|error| tool(format!("hung_task_timeout_secs: {error}")))?;
        }
        self.change_disk(side, dev, |disk| disk.end_writes(&self.control, completes))
    }

    /// Holds back all completions of a disk whose writes complete late (`still`), or lets them go
    /// on.
    pub(crate) fn hold_still(&self, side: Side, dev: u32, still: bool) -> Result<(), StepError> {
        self.change_disk(side, dev, |disk| disk.hold_still(&self.control, still))
    }

    fn change_disk(
        &self,
        side: Side,
        dev: u32,
        change: impl FnOnce(&mut RddDisk) -> Result<(), nix::errno::Errno>,
    ) -> Result<(), StepError> {
        let mut side_disks = self.side_disks(side).borrow_mut();
        let disk = side_disks
            .disks
            .get_mut(&dev)
            .ok_or_else(|| tool(format!("disk {dev} is not attached")))?;
        change(disk).map_err(|errno| tool(format!("{CONTROL}: {}", errno.desc())))
    }

    /// Damages an attached disk.
    pub(crate) fn damage(&self, side: Side, dev: u32, damage: &Damage) -> Result<(), StepError> {
        self.change_disk(side, dev, |disk| disk.damage(&self.control, damage))
    }

    /// Returns what `ask` says of a disk. `None` if it is not attached.
    pub(crate) fn restored<T>(&self, side: Side, dev: u32, ask: fn(&RddDisk) -> T) -> Option<T> {
        self.side_disks(side).borrow().disks.get(&dev).map(ask)
    }

    /// Starts logging a disk's events.
    pub(crate) fn watch(&self, side: Side, dev: u32, model: DiskModel) -> Result<(), StepError> {
        let mut side_disks = self.side_disks(side).borrow_mut();
        if model.flushes == Flushes::Dropped {
            side_disks.reader.drop_flushes(dev);
        }
        let spec = side_disks.disks[&dev].spec();
        let (major, minor) = (spec.major, spec.minor);
        side_disks.unseen.retain(|unseen| *unseen != dev);
        if !model.buffers {
            side_disks.unseen.push(dev);
        }
        let wanted = WATCH_REQUESTS | if model.buffers { WATCH_BUFFERS } else { 0 };
        self.ekm.watch(Watch { device: number(side, dev), major, minor, what: wanted })
    }

    /// Stops logging a disk's events.
    pub(crate) fn unwatch(&self, side: Side, dev: u32) -> Result<(), StepError> {
        self.ekm.watch(Watch { device: number(side, dev), ..Watch::default() })
    }

    /// Returns the current contents of a disk.
    pub(crate) fn contents(&self, side: Side, dev: u32) -> Result<Disk, StepError> {
        let mut side_disks = self.side_disks(side).borrow_mut();
        let disk = side_disks.disks.get_mut(&dev).expect("only attached disks are asked for");
        let contents = disk.contents(&self.control);
        contents.cloned().map_err(|errno| tool(format!("{CONTROL}: {}", errno.desc())))
    }

    /// Returns the blocks of a disk that requests have read since the last call, in order of the
    /// first read.
    pub(crate) fn take_reads(&self, side: Side, dev: u32) -> Result<Vec<u32>, StepError> {
        let side_disks = self.side_disks(side).borrow();
        let reads = side_disks.disks[&dev].take_reads(&self.control);
        reads.map_err(|errno| tool(format!("{CONTROL}: {}", errno.desc())))
    }

    /// Returns the events of a side's watched disks since the last call.
    pub(crate) fn take_log(
        &self,
        side: Side,
        watched: impl Iterator<Item = u32>,
    ) -> Result<Vec<Event>, StepError> {
        self.pull();
        let unseen = self.side_disks(side).borrow().unseen.clone();
        for dev in watched.filter(|dev| !unseen.contains(dev)) {
            self.ekm.buffers(number(side, dev))?;
            // Usually the log already has all dirty buffers.
            let agrees = |now: &mut dyn Iterator<Item = (u64, &[u8])>| {
                self.side_disks(side).borrow().reader.agrees(dev, now)
            };
            if self.ekm.discard_buffers(agrees)? {
                continue;
            }
            let (now, events): (Vec<LogRecord>, Vec<LogRecord>) =
                self.ekm.drain()?.into_iter().partition(|record| {
                    record.header.kind == KIND_BUFFER && !is_of_request(record)
                });
            self.sort(events);
            let mut side_disks = self.side_disks(side).borrow_mut();
            let missed = side_disks.reader.reconcile(dev, now);
            side_disks.logged += missed.len() as u64;
            if side == Side::Live {
                missed.iter().for_each(|_| side_disks.event_tasks.note(None));
            }
            side_disks.events.extend(missed);
        }
        let mut side_disks = self.side_disks(side).borrow_mut();
        let events = std::mem::take(&mut side_disks.events);
        side_disks.spoiled.clone().map_or(Ok(events), Err)
    }

    /// Puts a mark into the log of a side, after all events so far.
    pub(crate) fn put_mark(
        &self,
        side: Side,
        watched: impl Iterator<Item = u32>,
        name: &str,
    ) -> Result<(), StepError> {
        let mut events = self.take_log(side, watched)?;
        events.push(Event::Mark { name: name.to_owned() });
        let mut side_disks = self.side_disks(side).borrow_mut();
        side_disks.events = events;
        if side == Side::Live {
            side_disks.event_tasks.note(None);
        }
        Ok(())
    }

    /// Follows the calls that change the file system mounted at `at`, as number `system`.
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

    /// Stops following a file system. Logged calls can still be taken.
    pub(crate) fn unfollow(&self, system: u32) -> Result<(), StepError> {
        self.ekm.follow(Follow { system, what: FOLLOW_END, ..Follow::default() })
    }

    /// Returns the marks of the operations on the live side since the last call.
    /// [`take_calls`](KernelMachine::take_calls) returns the calls. `roots` are the mount points of
    /// the file systems.
    pub(crate) fn take_operations(
        &self,
        roots: &[Option<PathBuf>],
    ) -> Result<Vec<Event>, StepError> {
        self.pull();
        self.ekm.has_seen_all()?;
        let mut side_disks = self.live.borrow_mut();
        let stored = side_disks.stores.look(roots)?;
        stored.into_iter().for_each(|call| side_disks.note(call));
        let events = std::mem::take(&mut side_disks.events);
        side_disks.spoiled.clone().map_or(Ok(events), Err)
    }

    /// Returns the calls on the live side since the last time.
    pub(crate) fn take_calls(&self) -> Vec<KernelCall> {
        std::mem::take(&mut self.live.borrow_mut().calls)
    }

    /// Returns the names of the tasks that have caused the last `events` events of the live side.
    pub(crate) fn event_tasks(&self, events: usize) -> Vec<Option<String>> {
        self.side_disks(Side::Live).borrow().event_tasks.of_last(events)
    }

    /// Returns the number of events on the live side since its stack began, without marks.
    pub(crate) fn logged(&self) -> Result<u64, StepError> {
        self.pull();
        let side_disks = self.side_disks(Side::Live).borrow();
        side_disks.spoiled.clone().map_or(Ok(side_disks.logged), Err)
    }

    /// Takes all records of the log and distributes them to the sides.
    fn pull(&self) {
        match self.ekm.drain() {
            Ok(records) => self.sort(records),
            Err(fault) => {
                for side in [Side::Live, Side::Crash] {
                    self.side_disks(side).borrow_mut().spoiled.get_or_insert_with(|| fault.clone());
                }
            }
        }
    }

    /// Sets the source of the kernel's random numbers. Returns the previous source.
    pub(crate) fn random(&self, random: Random) -> Result<Random, StepError> {
        self.ekm.random(random)
    }

    /// Starts or stops recording.
    pub fn record(&self, on: bool) -> Result<(), StepError> {
        self.ekm.record(on)
    }

    /// Removes all probes of functions that may fail.
    pub fn probe_nothing(&self) -> Result<(), StepError> {
        self.ekm.probe_nothing()
    }

    /// Probes the functions that may fail, as
    /// [`KernelSide::probe`](explode_runtime::devices::KernelSide::probe).
    pub fn probe(&self, failures: &KernelFaults) -> Result<(), RunError> {
        self.ekm.probe(failures)
    }

    /// Arms the failures of kernel functions in system calls of this thread. The first choices
    /// follow the script, which has only choices of the kernel.
    pub fn arm(&self, failures: &KernelFaults, script: &[Choice]) -> Result<(), StepError> {
        self.ekm.arm(failures, script)
    }

    /// Disarms the failures. Returns the choices made.
    pub fn disarm(&self) -> Result<Vec<Choice>, StepError> {
        self.ekm.disarm()
    }

    /// Makes the file system of this file start a commit, without waiting for it.
    pub(crate) fn start_commit(&self, file: BorrowedFd<'_>) -> Result<(), StepError> {
        self.ekm.start_commit(file)
    }

    /// Passes each record to its side.
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
            self.side_disks(side).borrow_mut().note_record(side, device % DEVICES, record);
        }
    }

    /// Turns an accepted request for crash checks into a mark of the live side.
    fn note_request(&self, record: &LogRecord) {
        let is_of_program = record.header.flags & FLAG_PROGRAM != 0;
        let by = || match is_of_program {
            true => "a program".to_owned(),
            false => self.ekm.caller(record.header.request),
        };
        let mut side_disks = self.live.borrow_mut();
        let mut dirty = None;
        if is_of_program {
            dirty = Some(std::mem::take(&mut side_disks.dirty));
            self.crash.borrow_mut().dirty.clear();
        }
        let Some(name) = self.requests.take(&record.data, by) else { return };
        if let Some(dirty) = dirty {
            side_disks.reconcile(dirty);
        }
        side_disks.events.push(Event::Mark { name: request_mark(name) });
        side_disks.event_tasks.note(Some(record.header.pid));
    }

    fn side_disks(&self, side: Side) -> &RefCell<SideDisks> {
        match side {
            Side::Live => &self.live,
            Side::Crash => &self.crash,
        }
    }
}

/// Removes the disks, which would otherwise stay in the kernel's memory. A disk that a process has
/// open stays until the next run.
impl Drop for KernelMachine {
    fn drop(&mut self) {
        if self.left.is_none() {
            return;
        }
        for side in [Side::Live, Side::Crash] {
            let disks = std::mem::take(&mut self.side_disks(side).borrow_mut().disks);
            for disk in disks.into_values() {
                self.remove(disk).ok();
            }
        }
    }
}

/// Removes the disks that an earlier run has left. Returns the list of disks.
fn cleared(control: &File) -> Result<Leftovers, RunError> {
    let cleared = Leftovers::read().and_then(|mut left| left.remove(control).map(|()| left));
    cleared.map_err(|error| {
        BrokenKind::Tool.of(format_args!("disks that an earlier run has left: {error}")).into()
    })
}

/// Returns the number of a disk in EKM's log.
fn number(side: Side, dev: u32) -> u32 {
    match side {
        Side::Live => dev,
        Side::Crash => DEVICES + dev,
    }
}

fn tool(message: String) -> StepError {
    StepError::new(message).blame(Blame::Tool)
}
