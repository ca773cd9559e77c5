//! A journal of one write, which closes the write hole. After a crash the divided write is made
//! again.
//!
//! A record holds the writes to the disks of one row. It is durable on each disk before the first
//! of these writes begins, and the writes are durable before the next record replaces it. So at
//! most the newest record's write is divided, and repeating it is always correct.

use std::cell::Cell;

use bytes::Bytes;
use explode_ramdisk::{Flags, RamDisk, SECTOR_BYTES, SECTORS_PER_BLOCK};

use super::RaidBug;
use crate::broken::record::{Frame, frame};

/// The number of blocks of the journal on each disk, after the bitmap.
pub(super) const BLOCKS: u64 = 3;
const BYTES: usize = BLOCKS as usize * SECTORS_PER_BLOCK as usize * SECTOR_BYTES;

#[derive(Debug)]
pub(super) struct Journal {
    disks: Vec<RamDisk>,
    /// The sequence number of the newest record.
    sequence: Cell<u64>,
    bug: RaidBug,
}

/// A disk's index and the bytes to write to it.
pub(super) type Write = (usize, Bytes);

impl Journal {
    /// Opens the journal on the disks. Zeroes are an empty journal.
    pub(super) fn open(disks: Vec<RamDisk>, bug: RaidBug) -> Journal {
        let journal = Journal { disks, sequence: Cell::new(0), bug };
        journal.sequence.set(journal.newest().map_or(0, |(sequence, _)| sequence));
        journal
    }

    /// Records these writes of equal length before they are made, all at this sector.
    pub(super) fn record(&self, sector: u64, writes: &[Write]) {
        let mut body = [sector, writes.len() as u64].map(u64::to_le_bytes).concat();
        for (disk, bytes) in writes {
            body.extend((*disk as u64).to_le_bytes());
            body.extend(bytes);
        }
        self.sequence.set(self.sequence.get() + 1);
        let mut record = frame(self.sequence.get(), &body);
        record.resize(BYTES, 0);
        self.disks.iter().for_each(|disk| disk.write(SECTORS_PER_BLOCK, &record, Flags::FUA));
    }

    /// Returns the newest record: its sequence number, the sector of its writes, and the writes.
    fn newest(&self) -> Option<(u64, (u64, Vec<Write>))> {
        let read = |disk: &RamDisk| {
            let mut bytes = vec![0; BYTES];
            disk.try_read(SECTORS_PER_BLOCK, &mut bytes).ok()?;
            let frame = Frame::read(&bytes)
                .filter(|frame| frame.sound || self.bug == RaidBug::TornRecord)?;
            Some((frame.sequence, decode(frame.body)?))
        };
        self.disks.iter().filter_map(read).max_by_key(|(sequence, _)| *sequence)
    }

    /// Repeats the writes of the newest record. The caller flushes. Returns true if one of them was
    /// missing.
    pub(super) fn redo(&self) -> bool {
        let Some((_, (sector, writes))) = self.newest() else { return false };
        let mut divided = false;
        for (disk, bytes) in writes {
            let mut found = vec![0; bytes.len()];
            if self.disks[disk].try_read(sector, &mut found).is_err() || found != bytes {
                self.disks[disk].write(sector, &bytes, Flags::NONE);
                divided = true;
            }
        }
        divided
    }
}

fn decode(body: &[u8]) -> Option<(u64, Vec<Write>)> {
    let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
    let (sector, count) = (number(body)?, number(body.get(8..)?)?);
    let rest = body.get(16..)?;
    let each = rest.len().checked_div(count as usize)?;
    let write =
        |bytes: &[u8]| Some((number(bytes)? as usize, Bytes::copy_from_slice(bytes.get(8..)?)));
    Some((sector, rest.chunks_exact(each).map(write).collect::<Option<_>>()?))
}
