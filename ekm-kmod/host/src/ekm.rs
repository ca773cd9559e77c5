//! EKM's event log: switched, marked and emptied by ioctl, and read by mmap.

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

/// The path of the device.
pub(crate) const PATH: &str = "/dev/ekm";

/// The log and the switches of EKM.
#[derive(Debug)]
pub(crate) struct Ekm {
    device: File,
    map: DeviceMapping,
    /// The shared memory of choices, mapped at the first use.
    choices: OnceCell<ChoicePage>,
    /// The faults whose functions are probed. `None` if no function is probed.
    probed: RefCell<Option<KernelFaults>>,
}

impl Ekm {
    /// Opens the device. No other process may have it open.
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
    /// The log was full. The lost records are unknown, so the run is broken.
    pub fn drain(&self) -> Result<Vec<LogRecord>, StepError> {
        loop {
            if let Some(records) = self.read()? {
                return Ok(records);
            }
        }
    }

    /// Empties the log if all of its records are results of [`buffers`](Ekm::buffers) and
    /// `are_known` returns true for them. Nothing is copied. Returns false if the log was not
    /// emptied.
    pub fn discard_buffers(
        &self,
        are_known: impl FnOnce(&mut dyn Iterator<Item = (u64, &[u8])>) -> bool,
    ) -> Result<bool, StepError> {
        let LogHeader { used, lost, .. } = header(&self.map);
        // SAFETY: the bytes below `used` do not change until this function empties the log.
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

    /// Takes all records like [`drain`](Ekm::drain). `None` if more was logged meanwhile.
    fn read(&self) -> Result<Option<Vec<LogRecord>>, StepError> {
        let header = header(&self.map);
        if header.lost > 0 {
            let LogHeader { lost, capacity, .. } = header;
            warn!(lost, capacity, "log full");
            user::reset(self.device.as_fd()).map_err(broken)?;
            return Err(StepError::new(format!(
                "EKM's log of {capacity} bytes was full, and {lost} events were lost; request \
                 crash checks after fewer operations"
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

    /// Starts or stops recording.
    pub fn record(&self, on: bool) -> Result<(), StepError> {
        user::record(self.device.as_fd(), on).map(drop).map_err(broken)
    }

    /// Watches a block device, or stops the watch of a number.
    pub fn watch(&self, watch: Watch) -> Result<(), StepError> {
        user::watch(self.device.as_fd(), watch).map_err(broken)
    }

    /// Starts or stops to follow the calls on a file system.
    pub fn follow(&self, follow: Follow) -> Result<(), StepError> {
        user::follow(self.device.as_fd(), follow).map(drop).map_err(broken)
    }

    /// Checks that no call was missed.
    ///
    /// # Errors
    /// Calls were missed, so the log is unusable.
    pub fn has_seen_all(&self) -> Result<(), StepError> {
        let ask = Follow { what: FOLLOW_ASK, ..Follow::default() };
        match user::follow(self.device.as_fd(), ask).map_err(broken)? {
            0 => Ok(()),
            missed => {
                let text = format!("EKM has missed {missed} calls: too many ran at once");
                Err(StepError::new(text).blame(Blame::Tool))
            }
        }
    }

    /// Appends a record for each buffer of a device that is dirty now.
    pub fn buffers(&self, device: u32) -> Result<(), StepError> {
        user::buffers(self.device.as_fd(), device).map(drop).map_err(broken)
    }

    /// Freezes the clock of file systems at this second.
    pub fn freeze_clock(&self, seconds: u64) -> Result<(), StepError> {
        let clock = Clock { frozen: 1, reserved: 0, seconds };
        user::clock(self.device.as_fd(), clock).map_err(broken)
    }

    /// Probes the functions that may fail, unless they are already probed.
    ///
    /// # Errors
    /// The kernel lacks a function or cannot probe it.
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

    /// Removes all probes of functions that may fail.
    pub fn probe_nothing(&self) -> Result<(), StepError> {
        *self.probed.borrow_mut() = None;
        user::choices(self.device.as_fd(), 0).map(drop).map_err(broken)
    }

    /// Arms the failures of kernel functions in calls of this thread. The first choices follow the
    /// script.
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

    /// Disarms the failures. Returns the choices made.
    pub fn disarm(&self) -> Result<Vec<Choice>, StepError> {
        self.choices.get().map_or(Ok(Vec::new()), |choices| choices.disarm(&self.device))
    }

    /// Makes the file system of this file start a commit, without waiting for it.
    pub fn start_commit(&self, file: BorrowedFd<'_>) -> Result<(), StepError> {
        user::start_commit(self.device.as_fd(), file).map_err(broken)
    }

    /// Describes the kernel code at a return address.
    pub fn caller(&self, address: u64) -> String {
        match user::symbol(self.device.as_fd(), address) {
            Ok(symbol) => format!("code of the kernel ({})", frames::place(&symbol)),
            Err(_) => "code of the kernel".to_owned(),
        }
    }

    /// Sets the source of the kernel's random numbers. Returns the previous source.
    pub fn random(&self, random: Random) -> Result<Random, StepError> {
        user::random(self.device.as_fd(), random).map_err(broken)
    }
}

/// Returns the error of a call that EKM rejected.
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

/// Returns the record at an offset of a log.
fn record(log: &Bytes, at: usize) -> Result<LogRecord, StepError> {
    let damaged =
        || StepError::new(format!("{PATH}: the record at byte {at} is damaged")).blame(Blame::Tool);
    let (header, data) = log.get(at..).and_then(parts).ok_or_else(damaged)?;
    Ok(LogRecord { header, data: log.slice_ref(data) })
}

/// Returns the header and data of the record at the start of `log`. `None` if the record is not
/// whole.
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
