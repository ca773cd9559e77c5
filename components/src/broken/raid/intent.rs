//! A write-intent bitmap: the rows in which the disks of an array may differ.
//!
//! The bitmap is one sector at the beginning of each disk. A bit covers one row or several. A bit
//! is durable before anything is written to its rows, and is cleared when the disks have been
//! flushed after the last write. After a crash a bit counts if any disk has it. If no disk's bitmap
//! can be read, all bits count.

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
    /// Writes a bitmap with all bits set.
    pub(super) fn format(disks: &[RamDisk]) {
        disks.iter().for_each(|disk| disk.write(0, &[u8::MAX; SECTOR_BYTES], Flags::FUA));
    }

    /// Reads the bitmap of an array with `rows` rows.
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

    /// Returns the rows in which the disks may differ, in order.
    pub(super) fn rows(&self) -> Vec<u64> {
        let bits = *self.bits.borrow();
        let set = |row: &u64| {
            let (byte, mask) = self.place(*row);
            bits[byte] & mask != 0
        };
        (0..self.rows).filter(set).collect()
    }

    /// Sets the bit of a row before the row is written.
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

    /// Calls `settle`, which makes the disks agree durably except in the rows that it returns, and
    /// clears the other bits. With the bug `cleared_first` the bitmap is cleared before `settle`.
    pub(super) fn settled(&self, settle: impl FnOnce() -> Vec<u64>, cleared_first: RaidBug) {
        let early = self.bug == cleared_first;
        if early {
            self.replace(&[], Flags::FUA);
        }
        let left = settle();
        if !early {
            // A bit that returns after a crash only causes a resync of rows that agree.
            self.replace(&left, Flags::NONE);
        }
    }

    /// Sets the bits of these rows and clears all others.
    fn replace(&self, rows: &[u64], flags: Flags) {
        let mut bits = [0; SECTOR_BYTES];
        for (byte, mask) in rows.iter().map(|row| self.place(*row)) {
            bits[byte] |= mask;
        }
        if self.bits.replace(bits) != bits {
            self.write(flags);
        }
    }

    /// Returns the byte and the bit mask of a row.
    fn place(&self, row: u64) -> (usize, u8) {
        let bit = row / self.rows_per_bit;
        ((bit / 8) as usize, 1 << (bit % 8))
    }

    fn write(&self, flags: Flags) {
        let bits = *self.bits.borrow();
        self.disks.iter().for_each(|disk| disk.write(0, &bits, flags));
    }
}
