//! Logs of the kernel's dm-log-writes target, byte by byte (drivers/md/dm-log-writes.c).
//!
//! A superblock of one sector: le64 magic, le64 version, le64 nr_entries, le32 sectorsize. Then per
//! entry a sector with le64 sector, le64 nr_sectors, le64 flags, le64 data_len, and the name for a
//! mark; after it the data of a write. A discard has none.

pub const FLUSH: u64 = 1 << 0;
pub const FUA: u64 = 1 << 1;
pub const DISCARD: u64 = 1 << 2;
pub const MARK: u64 = 1 << 3;

const MAGIC: u64 = 0x6a_7366_7773_6872;

/// A log that is being written.
pub struct LogWrites {
    sector_bytes: usize,
    entries: u64,
    bytes: Vec<u8>,
}

impl LogWrites {
    /// Returns an empty log, in sectors of this size.
    pub fn new(sector_bytes: usize) -> LogWrites {
        LogWrites { sector_bytes, entries: 0, bytes: Vec::new() }
    }

    /// Adds a write. Its data must be whole sectors.
    pub fn write(self, sector: u64, flags: u64, data: &[u8]) -> LogWrites {
        let sectors = data.len() / self.sector_bytes;
        assert_eq!(sectors * self.sector_bytes, data.len());
        let mut log = self.entry([sector, sectors as u64, flags, 0], &[]);
        log.bytes.extend(data);
        log
    }

    /// Adds a discard.
    pub fn discard(self, sector: u64, sectors: u64) -> LogWrites {
        self.entry([sector, sectors, DISCARD, 0], &[])
    }

    /// Adds a mark.
    pub fn mark(self, name: &str) -> LogWrites {
        self.entry([0, 0, MARK, name.len() as u64], name.as_bytes())
    }

    /// Adds the sector of any entry.
    pub fn entry(mut self, fields: [u64; 4], name: &[u8]) -> LogWrites {
        let mut sector: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        sector.extend(name);
        sector.resize(self.sector_bytes, 0);
        self.bytes.extend(sector);
        self.entries += 1;
        self
    }

    /// Returns the contents of the file.
    pub fn finish(&self) -> Vec<u8> {
        self.finish_as(1, self.entries, self.sector_bytes as u32)
    }

    /// Returns the contents of the file with another superblock.
    pub fn finish_as(&self, version: u64, entries: u64, sector_bytes: u32) -> Vec<u8> {
        let mut file: Vec<u8> =
            [MAGIC, version, entries].iter().flat_map(|field| field.to_le_bytes()).collect();
        file.extend(sector_bytes.to_le_bytes());
        file.resize(self.sector_bytes, 0);
        file.extend(&self.bytes);
        file
    }
}

/// Replays a log over an image, as xfstests' `replay-log` does. The log's sectors have 512 bytes.
/// Returns the offset of the end of its last entry.
pub fn replay(log: &[u8], image: &mut [u8]) -> usize {
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap()) as usize;
    assert_eq!((word(0) as u64, word(8), &log[24..28]), (MAGIC, 1, &512u32.to_le_bytes()[..]));
    let mut at = 512;
    for _ in 0..word(16) {
        let (to, len, flags) = (word(at) * 512, word(at + 8) * 512, word(at + 16) as u64);
        at += 512;
        match flags {
            DISCARD => image[to..to + len].fill(0),
            MARK => {}
            _ => {
                image[to..to + len].copy_from_slice(&log[at..at + len]);
                at += len;
            }
        }
    }
    at
}
