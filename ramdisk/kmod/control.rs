// SPDX-License-Identifier: GPL-2.0
//! The calls of `/dev/rdd-control`, and the table of disks.
//!
//! There are three locks:
//!
//! - `changes` is held while a disk is made or removed, which may wait for the block layer.
//! - `table` is held only for access to the table. mmap takes it under the lock of the address
//!   space, so code that holds `table` must not touch user memory.
//! - `taking` is held while a list is taken and written to user memory, so only one list is taken
//!   at a time. No other lock is held meanwhile.

use kernel::c_str;
use kernel::prelude::*;
use kernel::sync::{new_mutex, Arc, Mutex};

use crate::bindings;
use crate::common::call::{valid, UserAddress};
use crate::common::control::Control;
use crate::disk::{Disk, State};
use crate::held::Held;
use crate::late::Completer;
use crate::major::Major;
use crate::request::OPERATIONS;
use crate::touched::Touched;
use crate::wire::{self, BlockList, DiskSpec, Ends, FaultSpec, BLOCK, SECTOR};

/// The number of page offset bits below the disk's number.
const PAGE_BITS: u32 = wire::RDD_MMAP_SHIFT - BLOCK.ilog2();

/// The disks. Entry N is disk N.
pub(crate) struct Disks {
    changes: Pin<KBox<Mutex<()>>>,
    /// The disks by number.
    table: Pin<KBox<Mutex<KVec<Option<Arc<Disk>>>>>>,
    taking: Pin<KBox<Mutex<()>>>,
    held: Arc<Held>,
    _completer: Completer,
    /// Declared last, so that it is released after the last disk.
    major: Major,
}

impl Disks {
    /// Makes an empty table.
    pub(crate) fn new() -> Result<Self> {
        let (held, major) = (Held::new()?, Major::register()?);
        Ok(Self {
            _completer: Completer::start(held.clone())?,
            held,
            changes: KBox::pin_init(new_mutex!((), "rdd_changes"), GFP_KERNEL)?,
            table: KBox::pin_init(new_mutex!(KVec::new(), "rdd_table"), GFP_KERNEL)?,
            taking: KBox::pin_init(new_mutex!((), "rdd_taking"), GFP_KERNEL)?,
            major,
        })
    }

    /// Returns the disk with a number. `ENODEV` if there is no such disk.
    fn find(&self, number: u32) -> Result<Arc<Disk>> {
        self.table.lock().get(number as usize).cloned().flatten().ok_or(ENODEV)
    }

    /// Makes a disk ([`wire::RDD_CREATE`]).
    fn create(&self, spec: &mut DiskSpec) -> Result {
        valid(spec.reserved == 0 && spec.sectors != 0 && spec.sectors % (BLOCK / SECTOR) == 0)?;
        valid(spec.sectors <= (1 << wire::RDD_MMAP_SHIFT) / SECTOR)?;
        let _changes = self.changes.lock();
        let slot = {
            let mut table = self.table.lock();
            let free = table.iter().position(Option::is_none);
            match free {
                Some(slot) => slot,
                None => {
                    table.push(None, GFP_KERNEL)?;
                    table.len().saturating_sub(1)
                }
            }
        };
        let number = u32::try_from(slot).map_err(|_| ENOSPC)?;
        let disk = Disk::new(number, spec.sectors, self.held.clone())?;
        disk.start(self.major.number(), &OPERATIONS, spec)?;
        spec.disk = number;
        self.table.lock()[slot] = Some(disk);
        Ok(())
    }

    /// Removes a disk ([`wire::RDD_REMOVE`]).
    fn remove(&self, spec: &mut DiskSpec) -> Result {
        valid(spec.reserved == 0)?;
        let _changes = self.changes.lock();
        let disk = self.find(spec.disk)?;
        {
            let _table = self.table.lock();
            disk.leave()?;
        }
        disk.stop();
        self.table.lock()[spec.disk as usize] = None;
        Ok(())
    }

    /// Takes a list of blocks ([`wire::RDD_BLOCKS`]). The numbers are copied without the disk's
    /// lock: entries of a list stay in place until they are taken, and only one caller takes at a
    /// time. A block that is touched again during the copy is in the list that is taken.
    fn take(&self, list: &mut BlockList) -> Result {
        let which: fn(&mut State) -> &mut Touched = match list.which {
            wire::BLOCKS_CHANGED => |state| &mut state.changed,
            wire::BLOCKS_READ => |state| &mut state.read,
            _ => return Err(EINVAL),
        };
        let disk = self.find(list.disk)?;
        let _taking = self.taking.lock();
        let (blocks, count) = {
            let mut state = disk.state().lock();
            let blocks = which(&mut state).blocks();
            (blocks.as_ptr(), blocks.len())
        };
        list.count = count as u64;
        if list.count > list.capacity {
            return Err(ENOSPC);
        }
        // SAFETY: The list has room for all blocks and never moves; requests only add after the
        // first `count`.
        UserAddress(list.blocks).write(unsafe { core::slice::from_raw_parts(blocks, count) })?;
        which(&mut disk.state().lock()).taken(count);
        Ok(())
    }

    /// Adds or clears faults ([`wire::RDD_FAULT`]).
    fn fault(&self, fault: &FaultSpec) -> Result {
        let disk = self.find(fault.disk)?;
        let mut state = disk.state().lock();
        state.faults.change(fault, disk.area().bytes() as u64 / SECTOR)
    }

    /// Sets when a disk's writes complete ([`wire::RDD_ENDS`]).
    fn ends(&self, ends: &Ends) -> Result {
        valid(ends.when <= wire::ENDS_BY_CHOICE_NOT_YET)?;
        let disk = self.find(ends.disk)?;
        self.held.change(&disk, ends.when);
        Ok(())
    }
}

impl Control for Disks {
    const NAME: &'static CStr = c_str!("rdd-control");
    const HELLO: u32 = wire::RDD_HELLO;

    fn open(&self) -> Result {
        Ok(())
    }

    fn release(&self) {}

    fn call(&self, number: u32, address: UserAddress) -> Result {
        match number {
            wire::RDD_CREATE => address.exchange(|spec| self.create(spec)),
            wire::RDD_REMOVE => address.exchange(|spec| self.remove(spec)),
            wire::RDD_BLOCKS => address.exchange(|list| self.take(list)),
            wire::RDD_FAULT => address.exchange(|fault: &mut FaultSpec| self.fault(fault)),
            wire::RDD_ENDS => address.exchange(|ends: &mut Ends| self.ends(ends)),
            _ => Err(ENOTTY),
        }
    }

    unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        // SAFETY: The caller's promise.
        let page = unsafe { (*vma).vm_pgoff };
        valid(page % (1 << PAGE_BITS) == 0)?;
        let number = u32::try_from(page >> PAGE_BITS).map_err(|_| EINVAL)?;
        let table = self.table.lock();
        let disk = table.get(number as usize).and_then(Option::as_ref).ok_or(ENODEV)?;
        if disk.is_leaving() {
            return Err(ENODEV);
        }
        // SAFETY: The caller's promise.
        unsafe { disk.area().map(vma) }
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        // The module is being unloaded, so no disk is open or mapped.
        for disk in self.table.lock().iter().flatten() {
            disk.stop();
        }
    }
}
