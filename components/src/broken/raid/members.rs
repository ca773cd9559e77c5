//! The record of the disks that have everything: the members of an array.
//!
//! A new array has a record of zeroes: all disks are members. A disk that does not answer is no
//! member any more. The other disks get a record without it, with a higher generation, before the
//! write that it missed is reported as done. After a crash the record with the highest generation
//! counts. A disk that is back and is no member has old contents: it is not read, and recovery
//! copies everything to it before it is a member again.

use std::cell::{Cell, RefCell};

use explode_ramdisk::{Flags, RamDisk, SECTOR_BYTES};

use super::RaidBug;

/// The sector of the record on each disk, after the [bitmap](super::intent).
const SECTOR: u64 = 1;

#[derive(Debug)]
pub(super) struct Members {
    generation: Cell<u64>,
    /// True for each disk that is a member.
    are: RefCell<Vec<bool>>,
}

impl Members {
    /// Reads the record. With [`RaidBug::StaleWins`] all disks are members.
    pub fn read(disks: &[RamDisk], bug: RaidBug) -> Members {
        let read = |disk: &RamDisk| {
            let mut bytes = [0; SECTOR_BYTES];
            disk.try_read(SECTOR, &mut bytes).ok()?;
            let (generation, removed) = bytes.split_first_chunk()?;
            let are: Vec<bool> = removed.iter().take(disks.len()).map(|is| *is == 0).collect();
            Some((u64::from_le_bytes(*generation), are))
        };
        let newest = disks.iter().filter_map(read).max_by_key(|(generation, _)| *generation);
        let (generation, are) = newest.unwrap_or((0, vec![true; disks.len()]));
        let are = if bug == RaidBug::StaleWins { vec![true; disks.len()] } else { are };
        Members { generation: Cell::new(generation), are: RefCell::new(are) }
    }

    /// Returns true if the disk is a member.
    pub fn has(&self, disk: usize) -> bool {
        self.are.borrow()[disk]
    }

    /// Removes the members that do not answer. If there is any, this is durable when it returns.
    pub fn remove_silent(&self, disks: &[RamDisk]) {
        let still = |(at, disk): (usize, &RamDisk)| self.has(at) && disk.answers();
        let are: Vec<bool> = disks.iter().enumerate().map(still).collect();
        if *self.are.borrow() != are {
            self.set(disks, are);
        }
    }

    /// Makes all disks members that answer.
    pub fn add_all(&self, disks: &[RamDisk]) {
        self.set(disks, disks.iter().map(RamDisk::answers).collect());
    }

    fn set(&self, disks: &[RamDisk], are: Vec<bool>) {
        self.generation.set(self.generation.get() + 1);
        let mut bytes = [0; SECTOR_BYTES];
        bytes[..8].copy_from_slice(&self.generation.get().to_le_bytes());
        bytes[8..].iter_mut().zip(&are).for_each(|(byte, is)| *byte = u8::from(!*is));
        let members = disks.iter().zip(&are).filter(|(_, is)| **is);
        members.for_each(|(disk, _)| disk.write(SECTOR, &bytes, Flags::FUA));
        self.are.replace(are);
    }
}
