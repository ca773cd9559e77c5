//! A crash that a trace has recorded: the disks before the run, its event log, and the crash disk.
//! A replay builds the crash disk from it, and the system does not run.

use std::io::{self, BufReader, Read as _, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use explode_ramdisk::{BLOCK_BYTES, Event, Image, SECTORS_PER_BLOCK};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::crash_disk::CrashDiskRecord;
use crate::crash::Instants;
use crate::events::{read_jsonl, write_jsonl};
use crate::judge::RecordedLog;

/// The largest packed size of a recorded crash, in bytes of base64.
const MOST_BYTES: usize = 1 << 24;
/// The largest run of blocks of a base that one event has.
const MOST_BLOCKS: u64 = 256;

/// A crash with everything that builds its disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCrash {
    /// The disks before the first event, as a log of `append` events.
    pub base: PackedLog,
    /// All events up to the request for crash checks.
    pub events: PackedLog,
    /// The number of events before the instants of the request.
    pub settled: u64,
    /// The number of events from there to the last instant.
    pub interval: u64,
    /// The instants of the request.
    pub when: Instants,
    /// The state of the checker, as its own JSON.
    pub checker: String,
    /// The hash of these events on this base, in 32 hexadecimal digits.
    pub log: String,
    /// The disk that the crash left.
    pub crash_disk: CrashDiskRecord,
    /// The disks that crashes during recovery left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<CrashDiskRecord>,
}

/// An event log in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedLog {
    /// The number of events.
    pub count: u64,
    /// The length of the JSON lines, in bytes.
    pub bytes: u64,
    /// The JSON lines, compressed by gzip, as base64.
    pub gzip: String,
}

impl PackedLog {
    /// Packs events into at most `most` bytes of base64.
    ///
    /// # Errors
    /// They need more.
    fn pack(events: &[Event], most: usize) -> io::Result<PackedLog> {
        let bounded = Bounded { bytes: Vec::new(), most: most / 4 * 3 };
        let mut lines = Lines { packed: GzEncoder::new(bounded, Compression::fast()), bytes: 0 };
        write_jsonl(&mut lines, events)?;
        let gzip = BASE64.encode(lines.packed.finish()?.bytes);
        Ok(PackedLog { count: events.len() as u64, bytes: lines.bytes, gzip })
    }

    fn unpack(&self) -> Result<Vec<Event>, String> {
        let packed = BASE64.decode(&self.gzip).map_err(|error| error.to_string())?;
        let lines = BufReader::new(GzDecoder::new(&packed[..]).take(self.bytes));
        let events = read_jsonl(lines).map_err(|error| error.to_string())?;
        Ok(events.into_iter().map(|(_, event)| event).collect())
    }
}

/// Lines on their way to be packed, counted.
struct Lines {
    packed: GzEncoder<Bounded>,
    bytes: u64,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.packed.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Packed bytes, with a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordedCrash {
    /// Returns the recorded form of a crash. `None` if it is too large for a trace.
    pub(crate) fn of(
        recorded: &RecordedLog,
        log_hash: u128,
        checker: String,
        disk: CrashDiskRecord,
        recovery: Vec<CrashDiskRecord>,
    ) -> Option<RecordedCrash> {
        let RecordedLog { base, events, settled, interval, when } = recorded;
        let events = PackedLog::pack(events, MOST_BYTES).ok()?;
        let base = PackedLog::pack(&contents(base), MOST_BYTES - events.gzip.len()).ok()?;
        Some(RecordedCrash {
            base,
            events,
            settled: *settled as u64,
            interval: *interval as u64,
            when: *when,
            checker,
            log: format!("{log_hash:032x}"),
            crash_disk: disk,
            recovery,
        })
    }

    /// Returns the recorded log.
    ///
    /// # Errors
    /// A text about the part that cannot be read.
    pub(crate) fn log(&self) -> Result<RecordedLog, String> {
        let mut base = Image::new();
        for event in self.base.unpack().map_err(|error| format!("its base: {error}"))? {
            let Event::Append { dev, sector, data } = event else {
                return Err("its base has an event other than append".to_owned());
            };
            base.disk_mut(dev).write(sector, &data);
        }
        let events = self.events.unpack().map_err(|error| format!("its events: {error}"))?;
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (settled, interval) = (number(self.settled), number(self.interval));
        if settled.checked_add(interval).is_none_or(|end| end > events.len()) {
            return Err(format!("it has {} events", events.len()));
        }
        Ok(RecordedLog { base, events, settled, interval, when: self.when })
    }
}

/// Returns the contents of disks as `append` events, without blocks of zeroes.
fn contents(image: &Image) -> Vec<Event> {
    let mut events = Vec::new();
    for dev in image.devices() {
        let Some(disk) = image.disk(dev) else { continue };
        let mut used = disk.blocks().filter(|block| disk.block(*block) != &[0; BLOCK_BYTES]);
        let mut next = used.next();
        while let Some(first) = next {
            let mut data = Vec::new();
            let mut end = first;
            while next == Some(end) && end - first < MOST_BLOCKS {
                data.extend_from_slice(disk.block(end));
                end += 1;
                next = used.next();
            }
            let (sector, data) = (first * SECTORS_PER_BLOCK, data.into());
            events.push(Event::Append { dev, sector, data });
        }
    }
    events
}
