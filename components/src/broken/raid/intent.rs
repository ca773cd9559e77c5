//! A write-intent bitmap: where the disks of an array may differ.
//!
//! One sector at the beginning of each disk, a bit for one row or several. A bit is durable before
//! anything is written to its rows, and goes when the disks have been flushed since the last write.
//! After a crash a bit counts that any disk has; if none can be read, all do.

use std::cell::RefCell;

use explode_ramdisk::{Flags, RamDisk, SECTOR_BYTES};

use super::RaidBug;

type Bits = [u8; SECTOR_BYTES];

const BITS: u64 = SECTOR_BYTES as u64 * 8;

#[derive(Debug)]
pub(super) struct Intent {
    disks: Vec<RamDisk>,
    bits: RefCell<Bits>,
    rows: u64,
    rows_per_bit: u64,
    bug: RaidBug,
}

impl Intent {
    /// Writes one that says that the disks may differ anywhere.
    pub(super) fn format(disks: &[RamDisk]) {
        disks.iter().for_each(|disk| disk.write(0, &[u8::MAX; SECTOR_BYTES], Flags::FUA));
    }

    /// The one that is there, of an array with so many rows.
    pub(super) fn read(disks: Vec<RamDisk>, rows: u64, bug: RaidBug) -> Intent {
        let read = |disk: &RamDisk| {
            let mut bits = [0; SECTOR_BYTES];
            disk.try_read(0, &mut bits).ok().map(|()| bits)
        };
        let union = |one: Bits, other: Bits| std::array::from_fn(|at| one[at] | other[at]);
        let bits = disks.iter().filter_map(read).reduce(union).unwrap_or([u8::MAX; SECTOR_BYTES]);
        Intent {
            disks,
            bits: RefCell::new(bits),
            rows,
            rows_per_bit: rows.div_ceil(BITS).max(1),
            bug,
        }
    }

    /// The rows in which the disks may differ, in order.
    pub(super) fn rows(&self) -> Vec<u64> {
        let bits = *self.bits.borrow();
        let set = |row: &u64| {
            let (byte, mask) = self.place(*row);
            bits[byte] & mask != 0
        };
        (0..self.rows).filter(set).collect()
    }

    /// A row is about to be written.
    pub(super) fn announce(&self, row: u64) {
        let (byte, mask) = self.place(row);
        if self.bits.borrow()[byte] & mask == 0 {
            self.bits.borrow_mut()[byte] |= mask;
            self.write(if self.bug == RaidBug::IntentNotDurable {
                Flags::NONE
            } else {
                Flags::FUA
            });
        }
    }

    /// Calls `settle`, which makes the disks agree for good, except in the rows that it returns.
    /// With the bug `cleared_first` the bitmap is cleared too early.
    pub(super) fn settled(&self, settle: impl FnOnce() -> Vec<u64>, cleared_first: RaidBug) {
        let early = self.bug == cleared_first;
        if early {
            self.replace(&[], Flags::FUA);
        }
        let left = settle();
        if !early {
            // A bit that comes back after a crash costs a look at what agrees.
            self.replace(&left, Flags::NONE);
        }
    }

    /// From now on the disks may differ in these rows.
    fn replace(&self, rows: &[u64], flags: Flags) {
        let mut bits = [0; SECTOR_BYTES];
        for (byte, mask) in rows.iter().map(|row| self.place(*row)) {
            bits[byte] |= mask;
        }
        if self.bits.replace(bits) != bits {
            self.write(flags);
        }
    }

    /// The byte and the bit of a row.
    fn place(&self, row: u64) -> (usize, u8) {
        let bit = row / self.rows_per_bit;
        ((bit / 8) as usize, 1 << (bit % 8))
    }

    fn write(&self, flags: Flags) {
        let bits = *self.bits.borrow();
        self.disks.iter().for_each(|disk| disk.write(0, &bits, flags));
    }
}
