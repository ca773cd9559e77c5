// SPDX-License-Identifier: GPL-2.0
//! The list of the buffers of a device that are dirty now, for `EKM_BUFFERS`.
//!
//! Listed are the dirty buffers in the page cache of the device, and those with a block on the
//! device in the page caches of the files of the file system that is mounted on it. File systems
//! that keep file data without buffer heads (xfs, btrfs, f2fs) show only what they keep in the page
//! cache of the device.

use core::mem::size_of;
use core::ptr;
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;

use crate::bindings::{self, block_device, inode, super_block};
use crate::buffer::Block;
use crate::kprobe;
use crate::log::{Event, LOG};
use crate::pages;
use crate::watch::DeviceNumber;
use crate::wire;

/// Finds block devices by number. `bdev_file_open_by_dev` would also work, but its close can write
/// back the page cache of the device.
pub(crate) struct Devices {
    get: unsafe extern "C" fn(bindings::dev_t) -> *mut block_device,
}

/// A reference to a block device and to its module. The device is not open.
struct Device(*mut block_device);

impl Devices {
    /// Finds `blkdev_get_no_open`, which is not exported.
    pub(crate) fn new() -> Result<Self> {
        let get = kprobe::address_of(kernel::c_str!("blkdev_get_no_open"))?;
        // SAFETY: This is the type of the function in 6.12.
        Ok(Self { get: unsafe { core::mem::transmute::<*const c_void, _>(get) } })
    }

    /// Returns the device with a number. `None` if there is no such device.
    fn get(&self, number: DeviceNumber) -> Option<Device> {
        // SAFETY: Any number is a valid argument. The returned reference keeps the device. `fops`
        // belongs to its driver.
        unsafe {
            let device = (self.get)(number);
            if device.is_null() {
                return None;
            }
            let owner = (*(*(*device).bd_disk).fops).owner;
            if !bindings::try_module_get(owner) {
                bindings::put_device(&raw mut (*device).bd_device);
                return None;
            }
            Some(Device(device))
        }
    }

    /// Returns true if there is a device with this number.
    pub(crate) fn has(&self, number: DeviceNumber) -> bool {
        self.get(number).is_some()
    }

    /// Logs a BUFFER record with these flags for each dirty buffer of the device `number`, in order
    /// of sectors. The records have the device `device`. Returns the number of records. `ENODEV` if
    /// the device no longer exists.
    pub(crate) fn log_dirty(&self, device: u32, number: DeviceNumber, flags: u16) -> Result<u32> {
        let found = self.get(number).ok_or(ENODEV)?;
        let mut copies = Copies { blocks: KVVec::new(), bytes: KVVec::new() };
        loop {
            let mut wanted = Wanted::default();
            found.each_dirty(&mut |block| {
                wanted.blocks = wanted.blocks.saturating_add(1);
                wanted.bytes = wanted.bytes.saturating_add(block.len);
            });
            if wanted.blocks == 0 {
                return Ok(0);
            }
            copies.make_room(&wanted)?;
            let mut all = true;
            found.each_dirty(&mut |block| all = copies.add(block) && all);
            if all {
                break;
            }
            // More buffers became dirty since they were counted.
        }
        Ok(copies.log(device, flags))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: `Devices::get` took both references. The device is no longer used.
        unsafe {
            let owner = (*(*(*self.0).bd_disk).fops).owner;
            bindings::put_device(&raw mut (*self.0).bd_device);
            bindings::module_put(owner);
        }
    }
}

impl Device {
    /// Calls `visit`, which must not sleep, with the block of each dirty buffer.
    fn each_dirty(&self, visit: &mut dyn FnMut(Block)) {
        let device = self.0;
        // SAFETY: The device exists. `bd_holder_lock` must be held to release its holder, so the
        // super block exists as long as this code holds it. An inode in its list exists as long as
        // this code holds the lock of the list.
        unsafe {
            pages::each_dirty((*device).bd_mapping, 0..=usize::MAX, visit);
            let lock: *mut bindings::mutex = &raw mut (*device).bd_holder_lock;
            kernel::bindings::mutex_lock(lock.cast());
            if ptr::eq((*device).bd_holder_ops, &raw const bindings::fs_holder_ops) {
                each_dirty_of_files((*device).bd_holder.cast(), device, visit);
            }
            bindings::mutex_unlock(lock);
        }
    }
}

/// Calls `visit` with the block of each dirty buffer that the files of a file system have on
/// `device`.
///
/// # Safety
///
/// `super_block` is valid, or null.
unsafe fn each_dirty_of_files(
    super_block: *mut super_block,
    device: *mut block_device,
    visit: &mut dyn FnMut(Block),
) {
    if super_block.is_null() {
        return;
    }
    // SAFETY: The caller's promise. `i_data` is the inode's own page cache, even if the inode
    // represents a device. Inodes of a super block have their blocks on its device.
    unsafe {
        if !ptr::eq((*super_block).s_bdev, device) {
            return;
        }
        let lock: *mut kernel::bindings::spinlock_t =
            (&raw mut (*super_block).s_inode_list_lock).cast();
        kernel::bindings::spin_lock(lock);
        let head = &raw mut (*super_block).s_inodes;
        let mut link = (*head).next;
        while !ptr::eq(link, head) {
            let inode: *mut inode = kernel::container_of!(link, inode, i_sb_list).cast_mut();
            pages::each_dirty(&raw mut (*inode).i_data, 0..=usize::MAX, visit);
            link = (*link).next;
        }
        kernel::bindings::spin_unlock(lock);
    }
}

/// The room that the copies need.
#[derive(Default)]
struct Wanted {
    blocks: usize,
    bytes: usize,
}

/// Copies of dirty blocks. They are made under locks that forbid allocation.
struct Copies {
    blocks: KVVec<Copied>,
    bytes: KVVec<u8>,
}

/// A block, with the range of its copy in the bytes of all copies.
#[derive(Clone, Copy)]
struct Copied {
    sector: u64,
    start: usize,
    end: usize,
}

/// Compares two [`Copied`] (`cmp_func_t`).
unsafe extern "C" fn by_sector(left: *const c_void, right: *const c_void) -> c_int {
    // SAFETY: `sort` passes elements of the slice that it sorts.
    unsafe { (*left.cast::<Copied>()).sector.cmp(&(*right.cast::<Copied>()).sector) as c_int }
}

impl Copies {
    /// Empties the copies and makes room.
    fn make_room(&mut self, wanted: &Wanted) -> Result {
        self.blocks = KVVec::with_capacity(wanted.blocks, GFP_KERNEL)?;
        self.bytes = KVVec::with_capacity(wanted.bytes, GFP_KERNEL)?;
        Ok(())
    }

    /// Copies a block. Returns false if there is no room.
    fn add(&mut self, block: Block) -> bool {
        let start = self.bytes.len();
        let end = start.saturating_add(block.len);
        if end > self.bytes.capacity() || self.blocks.len() >= self.blocks.capacity() {
            return false;
        }
        // SAFETY: The buffer has this length, and there is room for it.
        unsafe {
            self.bytes
                .as_mut_ptr()
                .wrapping_add(start)
                .copy_from_nonoverlapping(block.data, block.len);
            self.bytes.set_len(end);
        }
        self.blocks.push(Copied { sector: block.sector, start, end }, GFP_ATOMIC).is_ok()
    }

    /// Logs the copies in order of sectors. Returns the number of records that the log had room
    /// for.
    fn log(mut self, device: u32, flags: u16) -> u32 {
        // Uses the kernel's sort, because that of `core` needs much stack.
        // SAFETY: The elements are plain numbers, and `by_sector` compares elements of this type.
        unsafe {
            let (base, len) = (self.blocks.as_mut_ptr(), self.blocks.len());
            bindings::sort(base.cast(), len, size_of::<Copied>(), Some(by_sector), None);
        }
        let mut count = 0u32;
        for &Copied { sector, start, end } in self.blocks.iter() {
            let bytes = &self.bytes[start..end];
            let len = bytes.len() as u64;
            let event =
                Event { kind: wire::KIND_BUFFER, flags, device, sector, len, ..Default::default() };
            // SAFETY: The log reserves `bytes.len()` bytes, which do not overlap these.
            let fill =
                |to: *mut u8| unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            if LOG.append(&event, bytes.len(), fill) {
                count = count.saturating_add(1);
            }
        }
        count
    }
}
