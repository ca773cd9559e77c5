// SPDX-License-Identifier: GPL-2.0
//! A disk: its memory, its gendisk and its recorded state.
//!
//! Invariants: [`Disk::start`] is called once. The gendisk that it makes is removed
//! ([`Disk::stop`]) before the disk is dropped. `leaving` becomes true only while the disk is
//! neither open nor mapped, and from then on it can no longer be opened or mapped.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use kernel::str::CString;
use kernel::sync::{new_spinlock, Arc, SpinLock};
use kernel::types::Opaque;
use kernel::{fmt, prelude::*};

use crate::common::area::Area;
use crate::fault::Faults;
use crate::held::Held;
use crate::touched::Touched;
use crate::wire::{DiskSpec, BLOCK, SECTOR};
use crate::{bindings, wire};

/// The state that requests change, besides the contents.
pub(crate) struct State {
    pub(crate) changed: Touched,
    pub(crate) read: Touched,
    pub(crate) faults: Faults,
}

/// A RAM disk.
#[pin_data]
pub(crate) struct Disk {
    /// The number N of `/dev/rdd<N>`.
    number: u32,
    area: Area,
    leaving: AtomicBool,
    /// The time at which writes complete (`wire::ENDS_*`). It changes only under the lock of
    /// `held`.
    ends: AtomicU32,
    /// The writes of all disks that are not completed yet.
    held: Arc<Held>,
    /// Null before `start` and after `stop`.
    gendisk: AtomicPtr<bindings::gendisk>,
    /// The lock of requests. It guards the contents as well.
    #[pin]
    state: SpinLock<State>,
}

impl Disk {
    /// Makes a disk of zeroes that is not visible yet. The caller has checked the size: whole
    /// blocks, at most 2^32 of them.
    pub(crate) fn new(number: u32, sectors: u64, held: Arc<Held>) -> Result<Arc<Self>> {
        let bytes =
            usize::try_from(sectors.checked_mul(SECTOR).ok_or(EINVAL)?).map_err(|_| EINVAL)?;
        let blocks = usize::try_from(bytes as u64 / BLOCK).map_err(|_| EINVAL)?;
        let area = Area::new(bytes)?;
        let (changed, read) = (Touched::new(blocks)?, Touched::new(blocks)?);
        let state = State { changed, read, faults: Faults::new()? };
        Arc::pin_init(
            pin_init!(Self {
                number,
                area,
                leaving: AtomicBool::new(false),
                ends: AtomicU32::new(wire::ENDS_AT_ONCE),
                held,
                gendisk: AtomicPtr::new(ptr::null_mut()),
                state <- new_spinlock!(state, "rdd_disk"),
            }),
            GFP_KERNEL,
        )
    }

    /// Makes `/dev/rdd<N>` with this major number (`device_add_disk`), and stores its device number
    /// in `spec`.
    pub(crate) fn start(
        &self,
        major: u32,
        operations: &'static Operations,
        spec: &mut DiskSpec,
    ) -> Result {
        const MOST: u32 = u32::MAX >> 9;
        let mut limits = bindings::queue_limits {
            features: bindings::K_BLK_FEAT_WRITE_CACHE
                | bindings::K_BLK_FEAT_FUA
                | bindings::K_BLK_FEAT_NOWAIT,
            logical_block_size: SECTOR as u32,
            physical_block_size: SECTOR as u32,
            max_hw_discard_sectors: MOST,
            max_secure_erase_sectors: MOST,
            max_write_zeroes_sectors: MOST,
            discard_granularity: SECTOR as u32,
            ..Default::default()
        };
        let name = CString::try_from_fmt(fmt!("rdd{}", self.number))?;
        // SAFETY: The limits are only read, and the key is static.
        let gendisk =
            unsafe { bindings::__blk_alloc_disk(&mut limits, NO_NODE, LOCK_CLASS.0.get().cast()) };
        let gendisk = kernel::error::from_err_ptr(gendisk)?;
        // SAFETY: No other code has the gendisk until `device_add_disk`. This disk stays until
        // `stop` has removed the gendisk.
        let result = unsafe {
            (*gendisk).fops = &operations.0;
            (*gendisk).major = major as _;
            (*gendisk).first_minor = self.number as _;
            (*gendisk).minors = 1;
            (*gendisk).private_data = ptr::from_ref(self).cast_mut().cast();
            (*gendisk).flags = bindings::GENHD_FL_NO_PART as _;
            for (to, &byte) in (*gendisk).disk_name.iter_mut().zip(name.as_bytes_with_nul()) {
                *to = byte as _;
            }
            bindings::set_capacity(gendisk, self.area.bytes() as u64 / SECTOR);
            kernel::error::to_result(bindings::device_add_disk(
                ptr::null_mut(),
                gendisk,
                ptr::null_mut(),
            ))
        };
        if let Err(error) = result {
            // SAFETY: No other code has the gendisk, and it was not added.
            unsafe { bindings::put_disk(gendisk) };
            return Err(error);
        }
        self.gendisk.store(gendisk, Ordering::Release);
        // SAFETY: The gendisk was just added, and only `stop` removes it.
        let dev = unsafe { (*(*gendisk).part0).bd_dev };
        // MAJOR() and MINOR().
        (spec.major, spec.minor) = (dev >> 20, dev & 0xf_ffff);
        Ok(())
    }

    /// Starts the removal of the disk. Returns `EBUSY` if it is open or mapped. Otherwise it can no
    /// longer be opened or mapped.
    ///
    /// The caller holds the lock under which disks are mapped.
    pub(crate) fn leave(&self) -> Result {
        let gendisk = self.gendisk.load(Ordering::Acquire);
        if gendisk.is_null() || self.area.is_mapped() {
            return Err(EBUSY);
        }
        // SAFETY: The gendisk stays until `stop`. The block layer opens disks under `open_mutex`,
        // see `Operations`.
        unsafe {
            kernel::bindings::mutex_lock(ptr::addr_of_mut!((*gendisk).open_mutex).cast());
            let openers: *const AtomicI32 = ptr::addr_of!((*(*gendisk).part0).bd_openers).cast();
            let open = (*openers).load(Ordering::Acquire) != 0;
            if !open {
                self.leaving.store(true, Ordering::Release);
            }
            bindings::mutex_unlock(ptr::addr_of_mut!((*gendisk).open_mutex));
            if open {
                Err(EBUSY)
            } else {
                Ok(())
            }
        }
    }

    /// Removes the gendisk if there is one (`del_gendisk`).
    pub(crate) fn stop(&self) {
        let gendisk = self.gendisk.swap(ptr::null_mut(), Ordering::AcqRel);
        if !gendisk.is_null() {
            // SAFETY: The gendisk was added, and only the caller that gets the pointer from the
            // swap removes it. `del_gendisk` waits for requests, and none arrives after it.
            unsafe {
                bindings::del_gendisk(gendisk);
                bindings::put_disk(gendisk);
            }
        }
    }

    /// Returns true if the disk is being removed.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// Returns the contents.
    pub(crate) fn area(&self) -> &Area {
        &self.area
    }

    /// Returns when writes complete (`wire::ENDS_*`).
    pub(crate) fn ends(&self) -> u32 {
        self.ends.load(Ordering::Acquire)
    }

    /// Sets when writes complete. Only `Held::change` calls it.
    pub(crate) fn set_ends(&self, ends: u32) {
        self.ends.store(ends, Ordering::Release);
    }

    /// Returns the writes of all disks that are not completed yet.
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Returns the state, with the lock of requests.
    pub(crate) fn state(&self) -> &SpinLock<State> {
        &self.state
    }

    /// Returns the address of a range. `None` if the range is not inside the disk.
    pub(crate) fn range(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        (end <= self.area.bytes() as u64).then(|| self.area.base().wrapping_add(offset as usize))
    }
}

/// The functions that the block layer calls (`block_device_operations`). An open disk keeps the
/// module loaded.
pub(crate) struct Operations(pub(crate) bindings::block_device_operations);

// SAFETY: Functions, and a pointer to the module. The kernel reads them from any thread.
unsafe impl Sync for Operations {}

/// Returns the disk of a bio.
///
/// # Safety
///
/// `bio` is a valid bio of a disk of this module. The disk stays as long as the result is used.
pub(crate) unsafe fn disk_of<'a>(bio: *const bindings::bio) -> &'a Disk {
    // SAFETY: The caller's promise. `private_data` is the disk, see `Disk::start`.
    unsafe { &*(*(*(*bio).bi_bdev).bd_disk).private_data.cast::<Disk>() }
}

/// `NUMA_NO_NODE`.
const NO_NODE: kernel::ffi::c_int = -1;

/// The lockdep key of the queues (`lock_class_key`), declared as by `blk_alloc_disk`.
struct LockClass(Opaque<bindings::lock_class_key>);

// SAFETY: Only lockdep touches it.
unsafe impl Sync for LockClass {}

static LOCK_CLASS: LockClass = LockClass(Opaque::uninit());
