// SPDX-License-Identifier: GPL-2.0
//! Faults of the medium: ranges of sectors that fail, or give garbage.

use kernel::prelude::*;

use crate::common::call::valid;
use crate::common::mix::mix;
use crate::wire::{self, FaultSpec};

/// The faults of one disk.
pub(crate) struct Faults(KVec<FaultSpec>);

/// What a request meets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meets {
    /// No fault, or none that is for its kind.
    Nothing,
    /// It fails.
    Error,
    /// It reads, and part of what it reads is garbage.
    Garbage,
}

impl Faults {
    /// None, with room for all there may be.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(KVec::with_capacity(wire::FAULTS_MAX, GFP_KERNEL)?))
    }

    /// Adds one, or clears all. `sectors` is the disk's size.
    pub(crate) fn change(&mut self, fault: &FaultSpec, sectors: u64) -> Result {
        if fault.kind == wire::FAULT_CLEAR {
            valid(fault.sectors == 0)?;
            // SAFETY: None are left; they need no drop.
            unsafe { self.0.set_len(0) };
            return Ok(());
        }
        valid(matches!(
            fault.kind,
            wire::FAULT_READ_ERROR | wire::FAULT_WRITE_ERROR | wire::FAULT_READ_GARBAGE
        ))?;
        valid(fault.sectors != 0)?;
        valid(fault.sector.checked_add(fault.sectors).is_some_and(|end| end <= sectors))?;
        if self.0.len() >= wire::FAULTS_MAX {
            return Err(ENOSPC);
        }
        Ok(self.0.push(*fault, GFP_ATOMIC)?)
    }

    /// What a read (or, unless `reads`, a write) of `sectors` from `sector` on meets.
    pub(crate) fn meet(&self, reads: bool, sector: u64, sectors: u64) -> Meets {
        let mut meets = Meets::Nothing;
        for fault in self.0.iter().filter(|fault| overlaps(fault, sector, sectors)) {
            match fault.kind {
                wire::FAULT_READ_ERROR if reads => return Meets::Error,
                wire::FAULT_WRITE_ERROR if !reads => return Meets::Error,
                wire::FAULT_READ_GARBAGE if reads => meets = Meets::Garbage,
                _ => {}
            }
        }
        meets
    }

    /// Spoils what was read from byte `offset` of the disk on. Of two faults of a sector the later one has it.
    pub(crate) fn spoil(&self, offset: u64, bytes: &mut [u8]) {
        let garbage = self.0.iter().filter(|fault| fault.kind == wire::FAULT_READ_GARBAGE);
        for fault in garbage {
            let from = fault.sector.saturating_mul(wire::SECTOR);
            let to = from.saturating_add(fault.sectors.saturating_mul(wire::SECTOR));
            for (byte, at) in bytes.iter_mut().zip(offset..to) {
                if at >= from {
                    *byte = garbage_at(fault.seed, at);
                }
            }
        }
    }
}

/// Whether the fault is in the range.
fn overlaps(fault: &FaultSpec, sector: u64, sectors: u64) -> bool {
    fault.sector < sector.saturating_add(sectors) && sector < fault.sector.saturating_add(fault.sectors)
}

/// The garbage at byte `at` of the disk.
fn garbage_at(seed: u64, at: u64) -> u8 {
    mix(seed, at / 8).to_le_bytes()[(at % 8) as usize]
}
