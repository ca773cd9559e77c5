//! EKM's event log: switched, marked and emptied by ioctl, read by mmap.

use std::cell::{OnceCell, RefCell};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;
use explode_ekm_abi::user;
use explode_ekm_abi::wire::{
    Clock, FLAG_ASKED, FOLLOW_ASK, Follow, KIND_BUFFER, LOG_DATA, LOG_MAGIC, LogHeader, Random,
    RecordHeader, Watch,
};
use nix::errno::Errno;
use tracing::warn;

use super::choices::ChoicePage;
use super::frames;
use super::log::LogRecord;
use super::map::DeviceMapping;
use super::numbers::mask;
use super::probes;
use explode_runtime::base::{Blame, RunError, StepError};
use explode_runtime::choose::Choice;
use explode_runtime::faults::kernel::KernelFaults;

/// Where EKM is.
pub(crate) const PATH: &str = "/dev/ekm";

/// The log, and the switches of EKM.
#[derive(Debug)]
pub(crate) struct Ekm {
    device: File,
    map: DeviceMapping,
    /// Mapped at the first use.
    choices: OnceCell<ChoicePage>,
    /// What may fail of what is probed.
    probed: RefCell<Option<KernelFaults>>,
}

impl Ekm {
    /// Opens it; no other process may have it open.
    pub fn open() -> io::Result<Ekm> {
        let device = OpenOptions::new().read(true).write(true).open(PATH)?;
        user::hello_ekm(device.as_fd()).map_err(io::Error::other)?;
        let head = DeviceMapping::new(&device, 0, LOG_DATA as usize, false)?;
        let header = header(&head);
        if header.magic != LOG_MAGIC || header.record_header as usize != size_of::<RecordHeader>() {
            return Err(io::Error::other("its log has an unknown form"));
        }
        drop(head);
        let map =
            DeviceMapping::new(&device, 0, LOG_DATA as usize + header.capacity as usize, false)?;
        Ok(Ekm { device, map, choices: OnceCell::new(), probed: RefCell::default() })
    }

    /// Takes all records and empties the log.
    ///
    /// # Errors
    /// The log was full: what was lost cannot be told, so the run is broken.
    pub fn drain(&self) -> Result<Vec<LogRecord>, StepError> {
        loop {
            if let Some(records) = self.read()? {
                return Ok(records);
            }
        }
    }

    /// Empties the log if all of its records are answers to [`buffers`](Ekm::buffers) and
    /// `are_known` returns true for them. Nothing is copied. Returns false if the log was left as
    /// it is.
    pub fn discard_buffers(
        &self,
        are_known: impl FnOnce(&mut dyn Iterator<Item = (u64, &[u8])>) -> bool,
    ) -> Result<bool, StepError> {
        let LogHeader { used, lost, .. } = header(&self.map);
        // SAFETY: what is below `used` stays as it is until we empty the log, which is below.
        let log = unsafe { self.map.bytes(LOG_DATA as usize, used as usize) };
        let mut all_buffers = lost == 0;
        let mut at = 0;
        let mut buffers = std::iter::from_fn(|| {
            let (header, data) = log.get(at..).filter(|rest| !rest.is_empty()).and_then(parts)?;
            at += (header.bytes as usize).next_multiple_of(8);
            all_buffers &= header.kind == KIND_BUFFER && header.flags & FLAG_ASKED == 0;
            all_buffers.then_some((header.sector, data))
        });
        let known = are_known(&mut buffers);
        if !(known && all_buffers && at == log.len()) {
            return Ok(false);
        }
        if used == 0 {
            return Ok(true);
        }
        match user::reset_read(self.device.as_fd(), used) {
            Err(Errno::EAGAIN) => Ok(false),
            answer => answer.map(|()| true).map_err(broken),
        }
    }

    /// As [`drain`](Ekm::drain), unless more was logged while it was read.
    fn read(&self) -> Result<Option<Vec<LogRecord>>, StepError> {
        let header = header(&self.map);
        if header.lost > 0 {
            let LogHeader { lost, capacity, .. } = header;
            warn!(lost, capacity, "log full");
            user::reset(self.device.as_fd()).map_err(broken)?;
            return Err(StepError::new(format!(
                "EKM's log of {capacity} bytes was full, and {lost} events found no room; \
                 ask for crash checks after fewer operations"
            ))
            .blame(Blame::Tool));
        }
        if header.used == 0 {
            return Ok(Some(Vec::new()));
        }
        let mut bytes = vec![0; header.used as usize];
        self.map.read(LOG_DATA as usize, &mut bytes);
        match user::reset_read(self.device.as_fd(), header.used) {
            Err(Errno::EAGAIN) => return Ok(None),
            answer => answer.map_err(broken)?,
        }
        let bytes = Bytes::from(bytes);
        let mut records = Vec::with_capacity(header.records as usize);
        let mut at = 0;
        while at < bytes.len() {
            let record = record(&bytes, at)?;
            at += (record.header.bytes as usize).next_multiple_of(8);
            records.push(record);
        }
        Ok(Some(records))
    }

    /// Recording on or off.
    pub fn record(&self, on: bool) -> Result<(), StepError> {
        user::record(self.device.as_fd(), on).map(drop).map_err(broken)
    }

    /// Watches a block device, or ends the watch of a number.
    pub fn watch(&self, watch: Watch) -> Result<(), StepError> {
        user::watch(self.device.as_fd(), watch).map_err(broken)
    }

    /// Follows the calls on a file system, or ends that.
    pub fn follow(&self, follow: Follow) -> Result<(), StepError> {
        user::follow(self.device.as_fd(), follow).map(drop).map_err(broken)
    }

    /// Was every call seen?
    ///
    /// # Errors
    /// Not so: the log is worth nothing.
    pub fn has_seen_all(&self) -> Result<(), StepError> {
        let ask = Follow { what: FOLLOW_ASK, ..Follow::default() };
        match user::follow(self.device.as_fd(), ask).map_err(broken)? {
            0 => Ok(()),
            missed => {
                let text = format!("EKM has not seen {missed} calls: too many went on at once");
                Err(StepError::new(text).blame(Blame::Tool))
            }
        }
    }

    /// Appends a record for each buffer of a device that is dirty now.
    pub fn buffers(&self, device: u32) -> Result<(), StepError> {
        user::buffers(self.device.as_fd(), device).map(drop).map_err(broken)
    }

    /// Stops the file systems' clock at this second.
    pub fn freeze_clock(&self, seconds: u64) -> Result<(), StepError> {
        let clock = Clock { frozen: 1, reserved: 0, seconds };
        user::clock(self.device.as_fd(), clock).map_err(broken)
    }

    /// Has the kernel probe what may fail, if it does not yet.
    ///
    /// # Errors
    /// What this kernel has not.
    pub fn probe(&self, failures: &KernelFaults) -> Result<(), RunError> {
        let mut probed = self.probed.borrow_mut();
        let is_probed = |probed: &KernelFaults| {
            probed.kinds().eq(failures.kinds()) && probed.sites == failures.sites
        };
        if failures.is_none() || probed.as_ref().is_some_and(is_probed) {
            return Ok(());
        }
        *probed = None;
        probes::register(&self.device, failures)?;
        *probed = Some(failures.clone());
        Ok(())
    }

    /// Ends that.
    pub fn probe_nothing(&self) -> Result<(), StepError> {
        *self.probed.borrow_mut() = None;
        user::choices(self.device.as_fd(), 0).map(drop).map_err(broken)
    }

    /// Lets functions of the kernel fail: so many, in calls of this thread; first by the answers of
    /// a script.
    pub fn arm(&self, failures: &KernelFaults, script: &[Choice]) -> Result<(), StepError> {
        self.probe(failures)
            .map_err(|error| StepError::new(error.to_string()).blame(Blame::Tool))?;
        let choices = match self.choices.get() {
            Some(choices) => choices,
            None => {
                let choices = ChoicePage::open(&self.device)?;
                self.choices.get_or_init(|| choices)
            }
        };
        choices.arm(mask(failures.kinds()), failures.max_per_path, script)
    }

    /// Ends that; returns what was chosen.
    pub fn disarm(&self) -> Result<Vec<Choice>, StepError> {
        self.choices.get().map_or(Ok(Vec::new()), |choices| choices.disarm(&self.device))
    }

    /// The file system of this file begins to commit, and is not waited for.
    pub fn start_commit(&self, file: BorrowedFd<'_>) -> Result<(), StepError> {
        user::start_commit(self.device.as_fd(), file).map_err(broken)
    }

    /// The code of the kernel that goes on at this address, for a person.
    pub fn caller(&self, address: u64) -> String {
        match user::symbol(self.device.as_fd(), address) {
            Ok(symbol) => format!("code of the kernel ({})", frames::place(&symbol)),
            Err(_) => "code of the kernel".to_owned(),
        }
    }

    /// Where the kernel's random numbers come from; returns where they came from.
    pub fn random(&self, random: Random) -> Result<Random, StepError> {
        user::random(self.device.as_fd(), random).map_err(broken)
    }
}

/// A call that EKM refused.
fn broken(errno: Errno) -> StepError {
    StepError::new(format!("{PATH}: {}", errno.desc())).blame(Blame::Tool)
}

fn header(map: &DeviceMapping) -> LogHeader {
    let mut bytes = [0; size_of::<LogHeader>()];
    map.read(0, &mut bytes);
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    LogHeader {
        magic: word(0),
        version: half(8),
        record_header: half(12),
        capacity: word(16),
        used: word(24),
        records: word(32),
        lost: word(40),
    }
}

/// The record at a place of a log.
fn record(log: &Bytes, at: usize) -> Result<LogRecord, StepError> {
    let damaged =
        || StepError::new(format!("{PATH}: the record at byte {at} is damaged")).blame(Blame::Tool);
    let (header, data) = log.get(at..).and_then(parts).ok_or_else(damaged)?;
    Ok(LogRecord { header, data: log.slice_ref(data) })
}

/// Header and data of the record that begins here, if it is whole.
fn parts(log: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let head = log.get(..size_of::<RecordHeader>())?;
    let word = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let quarter = |at: usize| u16::from_ne_bytes(head[at..at + 2].try_into().expect("two bytes"));
    let header = RecordHeader {
        bytes: half(0),
        kind: quarter(4),
        flags: quarter(6),
        device: half(8),
        pid: half(12),
        sector: word(16),
        len: word(24),
        request: word(32),
    };
    let data = log.get(size_of::<RecordHeader>()..header.bytes as usize)?;
    Some((header, data))
}
