// SPDX-License-Identifier: GPL-2.0
//! Faults of the medium: ranges of sectors that fail or hold garbage, and a disk that fails.

use kernel::prelude::*;

use crate::common::call::valid;
use crate::common::mix::mix;
use crate::wire::{self, FaultSpec};

/// The faults of one disk.
pub(crate) struct Faults(KVec<FaultSpec>);

/// The effect of the faults on a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meets {
    /// No fault that affects the request.
    Nothing,
    /// The request fails.
    Error,
    /// A part of the sectors that the request reads is garbage.
    Garbage,
}

impl Faults {
    /// Makes an empty list with room for [`wire::FAULTS_MAX`] faults.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(KVec::with_capacity(wire::FAULTS_MAX, GFP_KERNEL)?))
    }

    /// Adds a fault, or clears all faults. `sectors` is the size of the disk.
    pub(crate) fn change(&mut self, fault: &FaultSpec, sectors: u64) -> Result {
        if fault.kind == wire::FAULT_CLEAR {
            valid(fault.sectors == 0)?;
            // SAFETY: The list is empty. Its entries need no drop.
            unsafe { self.0.set_len(0) };
            return Ok(());
        }
        valid(matches!(
            fault.kind,
            wire::FAULT_READ_ERROR
                | wire::FAULT_WRITE_ERROR
                | wire::FAULT_READ_GARBAGE
                | wire::FAULT_UNREADABLE
                | wire::FAULT_GONE
        ))?;
        let is_whole = fault.sector == 0 && fault.sectors == sectors;
        valid(fault.kind != wire::FAULT_GONE || is_whole)?;
        valid(fault.sectors != 0)?;
        valid(fault.sector.checked_add(fault.sectors).is_some_and(|end| end <= sectors))?;
        let room = wire::FAULTS_MAX.saturating_sub(self.0.len()) as u64;
        if fault.kind != wire::FAULT_UNREADABLE {
            return if room > 0 { Ok(self.0.push(*fault, GFP_ATOMIC)?) } else { Err(ENOSPC) };
        }
        if fault.sectors > room {
            return Err(ENOSPC);
        }
        for sector in fault.sector..fault.sector.saturating_add(fault.sectors) {
            self.0.push(FaultSpec { sector, sectors: 1, ..*fault }, GFP_ATOMIC)?;
        }
        Ok(())
    }

    /// Makes the unreadable sectors of a written range readable again.
    pub(crate) fn heal(&mut self, sector: u64, sectors: u64) {
        let mut kept = 0usize;
        for at in 0..self.0.len() {
            let fault = self.0[at];
            if fault.kind != wire::FAULT_UNREADABLE || !overlaps(&fault, sector, sectors) {
                self.0[kept] = fault;
                kept = kept.wrapping_add(1);
            }
        }
        // SAFETY: The list is no longer than before. Its entries need no drop.
        unsafe { self.0.set_len(kept) };
    }

    /// Returns true if the disk fails every request.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.iter().any(|fault| fault.kind == wire::FAULT_GONE)
    }

    /// Returns the effect on a read, or a write if `reads` is false, of `sectors` from `sector` on.
    pub(crate) fn meet(&self, reads: bool, sector: u64, sectors: u64) -> Meets {
        let mut meets = Meets::Nothing;
        for fault in self.0.iter().filter(|fault| overlaps(fault, sector, sectors)) {
            match fault.kind {
                wire::FAULT_GONE => return Meets::Error,
                wire::FAULT_READ_ERROR | wire::FAULT_UNREADABLE if reads => return Meets::Error,
                wire::FAULT_WRITE_ERROR if !reads => return Meets::Error,
                wire::FAULT_READ_GARBAGE if reads => meets = Meets::Garbage,
                _ => {}
            }
        }
        meets
    }

    /// Overwrites the bytes that were read from byte `offset` of the disk on with garbage where the
    /// medium has a fault. If two faults overlap, the later one counts.
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

/// Returns true if the fault overlaps the range.
fn overlaps(fault: &FaultSpec, sector: u64, sectors: u64) -> bool {
    fault.sector < sector.saturating_add(sectors)
        && sector < fault.sector.saturating_add(fault.sectors)
}

/// Returns the garbage at byte `at` of the disk.
fn garbage_at(seed: u64, at: u64) -> u8 {
    mix(seed, at / 8).to_le_bytes()[(at % 8) as usize]
}
