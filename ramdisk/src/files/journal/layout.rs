//! The places of a journal on the devices of simulated files.
//!
//! | device | sector | contents |
//! | --- | --- | --- |
//! | journal | 0 | the number of valid changes, and the bytes of a granule |
//! | journal | 1 | the number of valid log trees, and whether they hold all that they may |
//! | journal | 8 - | the records |
//! | a file | [`SIZE_TAG`] | the number of the note of the newest size, plus one |
//! | a file | [`TAGS`] - | for each granule and generation the same of its newest note |
//!
//! The journal is the last device of the files.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::files::granule::Granule;
use crate::files::inode::{INODES, InodeNumber, SIZE_SECTOR};
use crate::{Disk, SECTOR_BYTES, ZERO_SECTOR};

/// The number of the journal's device, as if it were an inode.
pub const JOURNAL: InodeNumber = INODES - 1;
/// The sector of the pointer.
pub const POINTER: u64 = 0;
/// The sector of the pointer to log trees.
pub const LOG_POINTER: u64 = 1;
/// The sector of the first record.
pub const FIRST_RECORD: u64 = 8;
/// The sector of a file's device with the tag of its size.
pub const SIZE_TAG: u64 = TAGS - 1;
/// The first sector of the tags of granules.
pub const TAGS: u64 = SIZE_SECTOR << 3;
/// The sector behind the last one with a tag.
pub const MOST_SECTORS: u64 = 1 << 55;
/// The number of granules that have tags in one generation.
const GRANULES: u64 = 1 << 34;

const MAGIC: [u8; 8] = *b"journal\n";

/// Returns the sector of the tag of a granule. `None` if it has none.
pub fn tag_sector(generation: u64, granule: u64) -> Option<u64> {
    if granule >= GRANULES {
        return None;
    }
    generation.checked_mul(GRANULES)?.checked_add(TAGS + granule).filter(|at| *at < MOST_SECTORS)
}

/// Returns the number of the granule that a sector is the tag of.
pub fn granule_of(sector: u64) -> u64 {
    (sector - TAGS) % GRANULES
}

/// The part of a journal that is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The number of valid changes.
    pub changes: u64,
    /// The number of valid log trees.
    pub logs: u64,
    /// True if the log trees hold also the names that they may leave out.
    pub also: bool,
}

/// Returns a sector with the number of valid changes.
pub fn pointer(changes: u64, granule: Granule) -> Bytes {
    let mut sector = ZERO_SECTOR;
    sector[..8].copy_from_slice(&MAGIC);
    sector[8..16].copy_from_slice(&changes.to_le_bytes());
    sector[16..24].copy_from_slice(&u64::from(granule.0).to_le_bytes());
    Bytes::copy_from_slice(&sector)
}

/// Returns a sector with the number of valid log trees.
pub fn log_pointer(logs: u64, also: bool) -> Bytes {
    let mut sector = ZERO_SECTOR;
    sector[..8].copy_from_slice(&logs.to_le_bytes());
    sector[8] = u8::from(also);
    Bytes::copy_from_slice(&sector)
}

/// Returns the pointer and the granule. `None` if the disk has no pointer.
pub fn pointed_to(journal: &Disk) -> Option<(Pointer, Granule)> {
    let sector = journal.sector(POINTER);
    let granule = u32::try_from(number(&sector[16..])).ok()?;
    let of_logs = journal.sector(LOG_POINTER);
    let (changes, logs) = (number(&sector[8..]), number(of_logs));
    let pointer = Pointer { changes, logs, also: of_logs[8] != 0 };
    sector.starts_with(&MAGIC).then_some((pointer, Granule(granule)))
}

/// Returns a sector with the number of a note.
pub fn tag(note: u64) -> Bytes {
    let mut sector = ZERO_SECTOR;
    sector[..8].copy_from_slice(&(note + 1).to_le_bytes());
    Bytes::copy_from_slice(&sector)
}

/// Returns the number of the note in a sector. `None` if it has none.
pub fn tagged(file: Option<&Disk>, sector: u64) -> Option<u64> {
    number(file?.sector(sector)).checked_sub(1)
}

fn number(bytes: &[u8]) -> u64 {
    bytes[..8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the bytes, filled up with zeroes to whole sectors.
pub fn whole_sectors(mut bytes: Vec<u8>) -> Bytes {
    bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
    bytes.into()
}
