//! The records of a journal.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::layout::{Pointer, whole_sectors};
use super::tree_log::TreeLog;
use crate::files::inode::InodeNumber;
use crate::{Disk, SECTOR_BYTES};

/// A record of the journal. It has no effect until the pointer or a tag refers to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// One call. It is valid if the pointer is larger than its number among the changes.
    Change(JournalChange),
    /// The contents of a granule. They are valid if its tag has the number of this note.
    Note(Note),
    /// A size without data. It is valid if the size tag has the number of this note.
    Size {
        /// The file.
        file: InodeNumber,
        /// The size in bytes.
        size: u64,
        /// The number of a note. The size needs a valid note of the file with this number or a
        /// later one. `None` if it needs none.
        needs: Option<u64>,
        /// The number of valid changes that the size needs, if no log tree has the file.
        after: u64,
    },
    /// After a crash only this part of the records before was valid. The next change and the next
    /// log tree take the numbers.
    Void(Pointer),
    /// A log tree. It is valid if the pointer has more log trees than its number among them.
    Log(TreeLog),
}

/// A change of names, modes, attributes, or of the size by a truncation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalChange {
    /// The new contents of sectors, in the order in which they were written.
    pub sectors: Vec<SectorChange>,
    /// The ranges of files that become zeroes.
    pub cuts: Vec<Cut>,
}

/// The new contents of sectors of an inode's device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectorChange {
    /// The inode.
    pub inode: InodeNumber,
    /// The first sector.
    pub sector: u64,
    /// The bytes: whole sectors.
    pub bytes: Bytes,
}

/// A range of a file that becomes zeroes. Its whole granules get new places, as freed blocks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The file.
    pub file: InodeNumber,
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

/// The contents of a granule of a file, as a write leaves them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The file.
    pub file: InodeNumber,
    /// The number of the granule.
    pub granule: u64,
    /// The generation of its place.
    pub generation: u64,
    /// The bytes, whole sectors.
    pub bytes: Bytes,
    /// The file has at least this size if it has the contents.
    pub size: u64,
    /// The number of valid changes that the note needs, if no log tree has the file.
    pub after: u64,
}

const LENGTH: usize = size_of::<u32>();

impl Record {
    /// Returns the record as whole sectors: its length, four bytes, little endian; its bytes in the
    /// format of the crate postcard; zeroes.
    pub fn encode(&self) -> Bytes {
        let body = postcard::to_stdvec(self).expect("a record can be written to memory");
        let length = u32::try_from(body.len()).expect("a call changes less than 4 GiB");
        whole_sectors([&length.to_le_bytes()[..], &body].concat())
    }

    /// Returns the record at a sector of the journal, and the sector after it. `None` if there is
    /// none.
    pub fn decode(journal: &Disk, sector: u64) -> Option<(Record, u64)> {
        let first = journal.sector(sector);
        let length = u32::from_le_bytes(first[..LENGTH].try_into().ok()?) as usize;
        if length == 0 {
            return None;
        }
        let mut body = vec![0; length];
        journal.read(sector * SECTOR_BYTES as u64 + LENGTH as u64, &mut body);
        let record = postcard::from_bytes(&body).ok()?;
        Some((record, sector + (LENGTH + length).div_ceil(SECTOR_BYTES) as u64))
    }
}
