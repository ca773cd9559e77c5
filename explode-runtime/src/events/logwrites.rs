//! Logs of the kernel's dm-log-writes target. QEMU's blklogwrites driver writes the same format.
//!
//! Format (drivers/md/dm-log-writes.c): a superblock sector, then for each entry a header sector
//! and its data. All numbers are little endian. Sectors have the log's own size. The log has no
//! submit times, so an entry becomes a submit and its completion, and its FLUSH flag becomes a
//! PREFLUSH.

use std::io::{Read, Write};

use bytes::Bytes;
use explode_ramdisk::{Event, Flags, Payload, SECTOR_BYTES};

use super::limits::{Counted, LogLimits};
use super::read_error::ReadError;

/// The first eight bytes of a log, read as a little-endian number.
pub const LOG_WRITES_MAGIC: u64 = 0x006a_7366_7773_6872;

const VERSION: u64 = 1;
const SUPER_BYTES: usize = 28;
const ENTRY_BYTES: usize = 32;
const FLUSH: u64 = 1 << 0;
const FUA: u64 = 1 << 1;
const DISCARD: u64 = 1 << 2;
const MARK: u64 = 1 << 3;
const METADATA: u64 = 1 << 4;
/// The largest length of a request, in bytes. A larger one means that the log is damaged.
const MOST_BYTES: u64 = 1 << 32;

/// Reads a dm-log-writes log as events of device 0, each with the number of its entry (from 1).
///
/// # Errors
/// Returns an error with the byte offset for an invalid log, and an error for a log above the
/// default limits.
pub fn read_logwrites(input: impl Read) -> Result<Vec<(usize, Event)>, ReadError> {
    read_logwrites_within(input, LogLimits::default())
}

/// Reads a dm-log-writes log with the given limits.
///
/// # Errors
/// Returns the errors of [`read_logwrites`].
pub fn read_logwrites_within(
    input: impl Read,
    limits: LogLimits,
) -> Result<Vec<(usize, Event)>, ReadError> {
    let mut input = Counted::new(input, limits);
    let (sector_bytes, entries) = read_superblock(&mut input)?;
    let mut offset = sector_bytes as u64;
    let mut header = vec![0; sector_bytes];
    let mut events = Vec::new();
    for entry in 1..=entries {
        fill(&mut input, &mut header, offset)?;
        let [at, count, flags, data_len] = [0, 8, 16, 24].map(|field| word(&header, field));
        if flags & !(FLUSH | FUA | DISCARD | MARK | METADATA) != 0 {
            return Err(bad(offset + 16, format!("entry {entry} has unknown flags {flags:#x}")));
        }
        let scale = sector_bytes as u64;
        let end = at.checked_add(count).and_then(|end| end.checked_mul(scale));
        let Some((_, len)) = end.zip(count.checked_mul(scale).filter(|len| *len <= MOST_BYTES))
        else {
            return Err(bad(
                offset,
                format!("entry {entry} reaches from sector {at} over {count} sectors"),
            ));
        };
        limits.check_events(events.len())?;
        let number = entry as usize;
        offset += scale;
        if flags & MARK != 0 {
            let name = ENTRY_BYTES..ENTRY_BYTES.saturating_add(data_len as usize).min(sector_bytes);
            let name = String::from_utf8_lossy(&header[name]).trim_end_matches('\0').to_owned();
            events.push((number, Event::Mark { name }));
            continue;
        }
        let payload = if flags & DISCARD != 0 {
            Payload::Discard(len)
        } else {
            let Some(data) = input.data(len)? else {
                return Err(bad(
                    offset,
                    format!("the log ends inside the {len} bytes of entry {entry}"),
                ));
            };
            offset += len;
            Payload::Data(Bytes::from(data))
        };
        let flags = Flags { fua: flags & FUA != 0, preflush: flags & FLUSH != 0 };
        let sector = at * (scale / SECTOR_BYTES as u64);
        events.push((number, Event::Submit { id: entry, dev: 0, sector, payload, flags }));
        events.push((number, Event::Complete { id: entry, error: false }));
    }
    Ok(events)
}

fn bad(offset: u64, message: String) -> ReadError {
    ReadError::Byte { offset, message }
}

/// Reads the superblock. Returns the size of a sector in bytes and the number of entries.
fn read_superblock(input: &mut Counted<impl Read>) -> Result<(usize, u64), ReadError> {
    let mut sector = vec![0; SECTOR_BYTES];
    fill(input, &mut sector, 0)?;
    let (magic, version, entries) = (word(&sector, 0), word(&sector, 8), word(&sector, 16));
    let sector_bytes =
        u32::from_le_bytes(sector[24..SUPER_BYTES].try_into().expect("four bytes")) as usize;
    if magic != LOG_WRITES_MAGIC {
        return Err(bad(0, "not a dm-log-writes log".to_owned()));
    }
    if version != VERSION {
        return Err(bad(
            8,
            format!("a log of version {version}; this explode reads version {VERSION}"),
        ));
    }
    if !sector_bytes.is_power_of_two() || !(SECTOR_BYTES..=65536).contains(&sector_bytes) {
        let text = format!(
            "a sector size of {sector_bytes} bytes; it is a power of two from 512 to 65536"
        );
        return Err(bad(24, text));
    }
    fill(input, &mut vec![0; sector_bytes - SECTOR_BYTES], SECTOR_BYTES as u64)?;
    Ok((sector_bytes, entries))
}

/// Writes a log whose replay writes these sectors in order and then flushes.
///
/// # Errors
/// Returns the errors of `output`.
pub fn write_logwrites(mut output: impl Write, writes: &[(u64, Bytes)]) -> std::io::Result<()> {
    let mut sector = [0; SECTOR_BYTES];
    sector[0..8].copy_from_slice(&LOG_WRITES_MAGIC.to_le_bytes());
    sector[8..16].copy_from_slice(&VERSION.to_le_bytes());
    sector[16..24].copy_from_slice(&(writes.len() as u64 + 1).to_le_bytes());
    sector[24..SUPER_BYTES].copy_from_slice(&(SECTOR_BYTES as u32).to_le_bytes());
    output.write_all(&sector)?;
    let entry = |at: u64, count: u64, flags: u64| {
        let mut header = [0; SECTOR_BYTES];
        for (field, value) in [at, count, flags, 0].into_iter().enumerate() {
            header[field * 8..field * 8 + 8].copy_from_slice(&value.to_le_bytes());
        }
        header
    };
    for (at, data) in writes {
        output.write_all(&entry(*at, (data.len() / SECTOR_BYTES) as u64, 0))?;
        output.write_all(data)?;
    }
    output.write_all(&entry(0, 0, FLUSH))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn fill(input: &mut Counted<impl Read>, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
    match input.fill(buf)? {
        true => Ok(()),
        false => {
            Err(ReadError::Byte { offset, message: "the log ends here, too early".to_owned() })
        }
    }
}
