// SPDX-License-Identifier: GPL-2.0
//! Which buffers of a device are dirty now: the answer to `EKM_BUFFERS`.
//!
//! Those are the dirty buffers in the page cache of the device, and in those of the files of the
//! file system that is mounted on it, as far as they have a block on the device. File systems that
//! keep file data without buffer heads (xfs, btrfs, f2fs) show but what they keep in the device's
//! page cache.

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

/// How block devices are found by number. `bdev_file_open_by_dev` would do too, but closing it
/// again can write the device's page cache out.
pub(crate) struct Devices {
    get: unsafe extern "C" fn(bindings::dev_t) -> *mut block_device,
}

/// A block device that is there, and whose module stays, as long as this does. It is not open.
struct Device(*mut block_device);

impl Devices {
    /// Finds `blkdev_get_no_open`, which is not exported.
    pub(crate) fn new() -> Result<Self> {
        let get = kprobe::address_of(kernel::c_str!("blkdev_get_no_open"))?;
        // SAFETY: That is the function's type in 6.12.
        Ok(Self { get: unsafe { core::mem::transmute::<*const c_void, _>(get) } })
    }

    /// The device of that number, if there is one.
    fn get(&self, number: DeviceNumber) -> Option<Device> {
        // SAFETY: Any number may be asked for. The device is held by the reference; `fops` is its
        // driver's.
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

    /// Whether there is a device of that number.
    pub(crate) fn has(&self, number: DeviceNumber) -> bool {
        self.get(number).is_some()
    }

    /// Logs a BUFFER record for each dirty buffer of the device `number`, which the log calls
    /// `device`, in order of sector, and says how many. `ENODEV` if it is not there any more. The
    /// records have these flags.
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
            // More became dirty since they were counted.
        }
        Ok(copies.log(device, flags))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: From `Devices::get`, which took both references. The device is not used any more.
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
        // SAFETY: The device is there. Who releases its holder takes `bd_holder_lock`, so the super
        // block is there as long as we have it. An inode in its list is there as long as we have
        // the list's lock.
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

/// Calls `visit` with the block of each dirty buffer in the files of a file system, as far as it is
/// on `device`.
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
    // SAFETY: The caller's promise. `i_data` is the inode's own page cache, also of an inode that
    // stands for a device; inodes of a super block have their blocks on its device.
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

/// How much room the copies need.
#[derive(Default)]
struct Wanted {
    blocks: usize,
    bytes: usize,
}

/// Dirty blocks, copied while locks are held under which nothing can be allocated.
struct Copies {
    blocks: KVVec<Copied>,
    bytes: KVVec<u8>,
}

/// A block, and where its copy is in the bytes of all.
#[derive(Clone, Copy)]
struct Copied {
    sector: u64,
    start: usize,
    end: usize,
}

/// Compares two [`Copied`] (`cmp_func_t`).
unsafe extern "C" fn by_sector(left: *const c_void, right: *const c_void) -> c_int {
    // SAFETY: `sort` gives elements of the slice that it sorts.
    unsafe { (*left.cast::<Copied>()).sector.cmp(&(*right.cast::<Copied>()).sector) as c_int }
}

impl Copies {
    /// Empties it, and makes room.
    fn make_room(&mut self, wanted: &Wanted) -> Result {
        self.blocks = KVVec::with_capacity(wanted.blocks, GFP_KERNEL)?;
        self.bytes = KVVec::with_capacity(wanted.bytes, GFP_KERNEL)?;
        Ok(())
    }

    /// Copies one, and says whether there was room.
    fn add(&mut self, block: Block) -> bool {
        let start = self.bytes.len();
        let end = start.saturating_add(block.len);
        if end > self.bytes.capacity() || self.blocks.len() >= self.blocks.capacity() {
            return false;
        }
        // SAFETY: The buffer is that long, and there is room for it.
        unsafe {
            self.bytes
                .as_mut_ptr()
                .wrapping_add(start)
                .copy_from_nonoverlapping(block.data, block.len);
            self.bytes.set_len(end);
        }
        self.blocks.push(Copied { sector: block.sector, start, end }, GFP_ATOMIC).is_ok()
    }

    /// Logs them in order of sector, and says how many found room.
    fn log(mut self, device: u32, flags: u16) -> u32 {
        // The kernel's own sort: that of `core` needs much stack.
        // SAFETY: The elements are plain numbers, and `by_sector` compares such.
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
            // SAFETY: The log has room for as many bytes as it is given, elsewhere.
            let fill =
                |to: *mut u8| unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            if LOG.append(&event, bytes.len(), fill) {
                count = count.saturating_add(1);
            }
        }
        count
    }
}
