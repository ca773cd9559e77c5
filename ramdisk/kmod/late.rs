// SPDX-License-Identifier: GPL-2.0
//! Late completion: a write takes effect when it is submitted, and completes as late as possible.
//!
//! One thread for all disks completes the bios that are held back, one at a time, the oldest first.
//! It completes a bio only when no other task of its processor can run. A task that does not wait
//! therefore gets as far as it can, and no task waits for ever. The thread is not one of the
//! tasks that take turns. It runs at the lowest priority of ordinary tasks and yields to all of
//! them.
//!
//! If the writes of a disk complete by choice, each write calls [`rdd_ends_late`], which EKM
//! probes.
//!
//! Invariant: the lock of the list is not held while a bio is completed, because completion may
//! submit other bios.

use core::ptr;
use kernel::ffi;
use kernel::prelude::*;
use kernel::sync::Arc;

use crate::bindings::{self, bio};
use crate::disk::{disk_of, Disk};
use crate::held::Held;
use crate::wire;

fn is_ready(disk: &Disk) -> bool {
    !matches!(disk.ends(), wire::ENDS_NOT_YET | wire::ENDS_BY_CHOICE_NOT_YET)
}

/// Returns non-zero if this bio completes late. EKM has a probe here, which replaces the result if
/// its user chooses so.
#[no_mangle]
#[inline(never)]
pub(crate) extern "C" fn rdd_ends_late(bio: *mut bio) -> ffi::c_int {
    // The probe reads the argument, and the compiler must not assume the result.
    core::hint::black_box(bio);
    core::hint::black_box(0)
}

impl Held {
    /// Holds back the completion of a bio and returns true. Returns false if the disk completes it
    /// at once. The caller then still owns the bio.
    ///
    /// # Safety
    ///
    /// `bio` is a bio of `disk` that the caller owns. If the result is true, the caller no longer
    /// owns it.
    pub(crate) unsafe fn hold(&self, disk: &Disk, bio: *mut bio) -> bool {
        let by_choice = matches!(disk.ends(), wire::ENDS_BY_CHOICE | wire::ENDS_BY_CHOICE_NOT_YET);
        if by_choice && rdd_ends_late(bio) == 0 {
            return false;
        }
        {
            let mut list = self.list.lock();
            if disk.ends() == wire::ENDS_AT_ONCE {
                return false;
            }
            // SAFETY: The caller's promise, and the invariant of the list.
            unsafe {
                (*bio).bi_next = ptr::null_mut();
                match list.last.is_null() {
                    true => list.first = bio,
                    false => (*list.last).bi_next = bio,
                }
            }
            list.last = bio;
        }
        self.change.notify_one();
        true
    }

    /// Changes when the writes of a disk complete. With [`wire::ENDS_AT_ONCE`], the held bios of
    /// the disk complete now.
    pub(crate) fn change(&self, disk: &Disk, ends: u32) {
        {
            let _list = self.list.lock();
            disk.set_ends(ends);
        }
        if ends == wire::ENDS_AT_ONCE {
            let this = ptr::from_ref(disk);
            while let Some(bio) = self.take(|other| ptr::eq(other, this)) {
                // SAFETY: The bio was removed from the list, so this code owns it.
                unsafe { bindings::bio_endio(bio) };
            }
        } else {
            self.change.notify_one();
        }
    }

    fn take(&self, wanted: impl Fn(&Disk) -> bool) -> Option<*mut bio> {
        // SAFETY: Bios of the list belong to disks that exist, because a disk with requests cannot
        // be removed.
        self.list.lock().take(|bio| wanted(unsafe { disk_of(bio) }))
    }

    /// Runs the thread until it must stop.
    fn complete_all(&self) {
        loop {
            {
                let mut list = self.list.lock();
                // SAFETY: As in `take`.
                while !list.leaving && !list.has(|bio| is_ready(unsafe { disk_of(bio) })) {
                    // A kernel thread has no signals.
                    let _ = self.change.wait_interruptible(&mut list);
                }
                if list.leaving {
                    break;
                }
            }
            // SAFETY: These calls only inspect or yield the processor of the calling thread, which
            // `kthread_create` made.
            unsafe {
                while !bindings::single_task_running() && !bindings::kthread_should_stop() {
                    bindings::yield_();
                }
            }
            if let Some(bio) = self.take(is_ready) {
                // SAFETY: The bio was removed from the list, so this code owns it.
                unsafe { bindings::bio_endio(bio) };
            }
        }
        // SAFETY: As above. `kthread_stop` follows at once.
        unsafe {
            while !bindings::kthread_should_stop() {
                bindings::yield_();
            }
        }
    }

    /// Makes the thread stop. The thread cannot miss this: the flag is set under the lock that it
    /// holds when it goes to sleep.
    fn leave(&self) {
        self.list.lock().leaving = true;
        self.change.notify_all();
    }
}

/// The running thread. A drop stops it.
pub(crate) struct Completer {
    thread: *mut bindings::task_struct,
    /// Keeps the list that the thread uses.
    held: Arc<Held>,
}

// SAFETY: A task may be stopped by any other.
unsafe impl Send for Completer {}
// SAFETY: A shared reference has no operations.
unsafe impl Sync for Completer {}

impl Completer {
    /// Starts the thread (`kthread_create`).
    pub(crate) fn start(held: Arc<Held>) -> Result<Self> {
        let data: *const Held = &*held;
        // SAFETY: The name contains no format. `held` stays until `drop` has stopped the thread.
        let thread = unsafe {
            let thread = bindings::kthread_create_on_node(
                Some(complete),
                data.cast_mut().cast(),
                NO_NODE,
                wire::LATE_THREAD.as_ptr().cast(),
            );
            let thread = kernel::error::from_err_ptr(thread)?;
            bindings::sched_set_normal(thread, LOWEST);
            bindings::wake_up_process(thread);
            thread
        };
        Ok(Self { thread, held })
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.held.leave();
        // SAFETY: The thread runs until it is stopped here.
        unsafe { bindings::kthread_stop(self.thread) };
    }
}

/// `NUMA_NO_NODE`.
const NO_NODE: ffi::c_int = -1;
/// The nice value of the lowest priority.
const LOWEST: ffi::c_int = 19;

unsafe extern "C" fn complete(held: *mut ffi::c_void) -> ffi::c_int {
    // SAFETY: The pointer is the one that `start` passed. Its `Held` outlives the thread.
    unsafe { &*held.cast::<Held>() }.complete_all();
    0
}
