//! The input of `explode crash-disks`: the log, the images before it, the interval. Reading it
//! finds every error in it.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use explode_ramdisk::{Event, Image, SECTOR_BYTES};
use explode_runtime::base::Exit;
use explode_runtime::events::{
    LOG_WRITES_MAGIC, LogLimits, ReadError, read_jsonl_within, read_logwrites_within,
};
use explode_runtime::plan::check_samples;

use super::base::{self, MOST_BASE};
use crate::cli::CrashDisksArgs;

/// The most devices that a log may name.
const MOST_DEVICES: u32 = 4096;
/// The most bytes of a request.
const MOST_BYTES: u64 = 1 << 32;
/// The largest device, in bytes: the largest offset of a file, rounded down to whole sectors.
const MOST_SIZE: u64 = i64::MAX as u64 / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;

/// The reason why there are no disks: the exit code and a message.
pub(super) type Refusal = (Exit, String);

/// The checked input.
pub(super) struct Input {
    log: PathBuf,
    /// The unit in which the log is counted: `line`, or `entry` in a log of dm-log-writes.
    unit: &'static str,
    events: Vec<Event>,
    /// The number of the line or entry of each event.
    numbers: Vec<usize>,
    from: usize,
    to: usize,
    /// The number of devices.
    pub devices: u32,
    /// The contents of the devices before the log.
    pub base: Image,
}

impl Input {
    /// Reads and checks the input.
    pub fn read(args: &CrashDisksArgs) -> Result<Input, Refusal> {
        check_numbers(args)?;
        let limits = LogLimits { bytes: args.log_bytes, events: args.log_events };
        let (unit, log) = read(&args.log, limits).map_err(|error| {
            let advice = match error {
                ReadError::TooLong { .. } => "; cut it, or raise the limit with --log-bytes",
                ReadError::TooManyEvents { .. } => "; cut it, or raise the limit with --log-events",
                _ => "",
            };
            in_file(&args.log, format!("{error}{advice}"))
        })?;
        let (numbers, events) = log.into_iter().unzip();
        let mut input = Input {
            log: args.log.clone(),
            unit,
            events,
            numbers,
            from: 0,
            to: 0,
            devices: 1.max(args.base.len() as u32),
            base: Image::new(),
        };
        for index in 0..input.events.len() {
            let dev = check_range(&input.events[index], args.size);
            let dev = dev.map_err(|wrong| input.refuse(index, wrong))?;
            input.devices = input.devices.max(dev.map_or(0, |dev| dev + 1));
        }
        input.base = read_base(args)?;
        let from = args.from.as_ref().map(|name| input.mark(name, 0, "--from")).transpose()?;
        let after = from.map_or(0, |from| from + 1);
        let to = args.to.as_ref().map(|name| input.mark(name, after, "--to")).transpose()?;
        (input.from, input.to) = (from.unwrap_or(0), to.unwrap_or(input.events.len()));
        Ok(input)
    }

    /// The events before the interval.
    pub fn before(&self) -> &[Event] {
        &self.events[..self.from]
    }

    /// The events of the interval.
    pub fn interval(&self) -> &[Event] {
        &self.events[self.from..self.to]
    }

    /// Returns the events after the interval. They give no disks but must be valid.
    pub fn after(&self) -> &[Event] {
        &self.events[self.to..]
    }

    /// Returns the refusal of the event with this index.
    pub fn refuse(&self, index: usize, wrong: impl Display) -> Refusal {
        in_file(&self.log, format!("{} {}: {wrong}", self.unit, self.numbers[index]))
    }

    /// Returns the refusal of the log as a whole.
    pub fn refuse_all(&self, wrong: impl Display) -> Refusal {
        in_file(&self.log, wrong)
    }

    /// Returns the index of the first mark of this name from an index on.
    fn mark(&self, wanted: &str, after: usize, option: &str) -> Result<usize, Refusal> {
        let is_it = |event: &Event| matches!(event, Event::Mark { name } if name == wanted);
        let found = self.events[after..].iter().position(is_it).map(|at| at + after);
        let place = if after == 0 { "in the log" } else { "after the mark of --from" };
        found.ok_or_else(|| {
            in_file(&self.log, format!("{option} {wanted}: there is no such mark {place}"))
        })
    }
}

fn usage(message: String) -> Refusal {
    (Exit::Usage, message)
}

fn in_file(path: &Path, wrong: impl Display) -> Refusal {
    usage(format!("{}: {wrong}", path.display()))
}

fn check_numbers(args: &CrashDisksArgs) -> Result<(), Refusal> {
    let (size, block) = (args.size, args.device.block);
    if size == 0 || !size.is_multiple_of(SECTOR_BYTES as u64) {
        return Err(usage(format!(
            "--size {size}: a device is whole sectors of {SECTOR_BYTES} bytes"
        )));
    }
    if size > MOST_SIZE {
        let text = format!(
            "--size {size}: use {MOST_SIZE} or less, the largest offset that a file can have"
        );
        return Err(usage(text));
    }
    if block == 0 || !block.is_multiple_of(SECTOR_BYTES as u32) {
        return Err(usage(format!(
            "--block {block}: a block is whole sectors of {SECTOR_BYTES} bytes"
        )));
    }
    if args.samples < 2 {
        let text = "--samples: at least 2, the empty and the full disk are always among them";
        return Err(usage(text.to_owned()));
    }
    check_samples(args.limit, args.samples).map_err(|error| usage(error.to_string()))
}

/// Events, each with the number of its line or entry.
type Numbered = Vec<(usize, Event)>;

/// Reads the events. Returns also whether their numbers count lines or entries.
fn read(path: &Path, limits: LogLimits) -> Result<(&'static str, Numbered), ReadError> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(8).read_to_end(&mut magic)?;
    let is_log_writes = magic == LOG_WRITES_MAGIC.to_le_bytes();
    // No seek, because the log may come through a pipe.
    let input = BufReader::new(magic.chain(file));
    if is_log_writes {
        Ok(("entry", read_logwrites_within(input, limits)?))
    } else {
        Ok(("line", read_jsonl_within(input, limits)?))
    }
}

/// Checks that an event lies within its device. Returns the device if the event names one.
fn check_range(event: &Event, size: u64) -> Result<Option<u32>, String> {
    let (dev, sector, len) = match event {
        Event::Dirty { dev, sector, data } | Event::Append { dev, sector, data } => {
            (*dev, *sector, data.len() as u64)
        }
        Event::Clean { dev, sector, len }
        | Event::Lock { dev, sector, len }
        | Event::Unlock { dev, sector, len } => (*dev, *sector, *len),
        Event::Submit { dev, sector, payload, .. } => (*dev, *sector, payload.len()),
        Event::Flush { dev, .. } => (*dev, 0, 0),
        Event::Complete { .. } | Event::Mark { .. } => return Ok(None),
    };
    if dev >= MOST_DEVICES {
        return Err(format!("device {dev}; crash-disks takes {MOST_DEVICES} devices at most"));
    }
    let end = sector.checked_mul(SECTOR_BYTES as u64).and_then(|start| start.checked_add(len));
    if end.is_none_or(|end| end > size) {
        return Err(format!(
            "sector {sector} and {len} bytes reach beyond the {size} bytes of the device (--size)"
        ));
    }
    if matches!(event, Event::Submit { .. }) && len > MOST_BYTES {
        return Err(format!("a request of {len} bytes; cut it into some of {MOST_BYTES} at most"));
    }
    Ok(Some(dev))
}

fn read_base(args: &CrashDisksArgs) -> Result<Image, Refusal> {
    let mut left = MOST_BASE;
    let disk = |(dev, path): (u32, &PathBuf)| {
        let disk = base::read(path, args.size, &mut left).map_err(|wrong| in_file(path, wrong))?;
        Ok((dev, disk))
    };
    (0..).zip(&args.base).map(disk).collect()
}
