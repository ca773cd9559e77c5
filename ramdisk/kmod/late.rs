// SPDX-License-Identifier: GPL-2.0
//! Late completion: a write is done when it is submitted, and its submitter is notified as late as
//! possible.
//!
//! One thread for all disks completes what is held back, the oldest first, one at a time, and each
//! only when no other task of its processor can run: a task that does not wait gets as far as it
//! can, and no task waits for ever. It is not one of the threads that take turns: it runs at the
//! lowest priority of ordinary tasks, and yields to them all.
//!
//! Where writes end by choice, each asks [`rdd_ends_late`], which EKM answers for.
//!
//! Invariant: the list's lock is never held while a bio is completed, for that may submit others.

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

/// Shall this bio end late? EKM has a probe here, and answers if its user chooses so.
#[no_mangle]
#[inline(never)]
pub(crate) extern "C" fn rdd_ends_late(bio: *mut bio) -> ffi::c_int {
    // The probe reads the argument, and the compiler must not know the answer beforehand.
    core::hint::black_box(bio);
    core::hint::black_box(0)
}

impl Held {
    /// Holds a bio back that is done, unless its disk completes it at once; then it is the
    /// caller's.
    ///
    /// # Safety
    ///
    /// `bio` is a bio of `disk`, and the caller's; if the answer is true it is no more.
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
            // SAFETY: The caller's promise, and the list's own.
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

    /// Changes when a disk's writes end. At once: those that are held back do so, too.
    pub(crate) fn change(&self, disk: &Disk, ends: u32) {
        {
            let _list = self.list.lock();
            disk.set_ends(ends);
        }
        if ends == wire::ENDS_AT_ONCE {
            let this = ptr::from_ref(disk);
            while let Some(bio) = self.take(|other| ptr::eq(other, this)) {
                // SAFETY: It was the list's, and is ours now.
                unsafe { bindings::bio_endio(bio) };
            }
        } else {
            self.change.notify_one();
        }
    }

    fn take(&self, wanted: impl Fn(&Disk) -> bool) -> Option<*mut bio> {
        // SAFETY: Bios of the list are of disks that are there: they cannot go while they have
        // requests.
        self.list.lock().take(|bio| wanted(unsafe { disk_of(bio) }))
    }

    /// The thread's work, until it shall stop.
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
            // SAFETY: These look at, or hand over, the processor of the calling thread, which is
            // one of `kthread_create`.
            unsafe {
                while !bindings::single_task_running() && !bindings::kthread_should_stop() {
                    bindings::yield_();
                }
            }
            if let Some(bio) = self.take(is_ready) {
                // SAFETY: It was the list's, and is ours now.
                unsafe { bindings::bio_endio(bio) };
            }
        }
        // SAFETY: As above. `kthread_stop` comes at once.
        unsafe {
            while !bindings::kthread_should_stop() {
                bindings::yield_();
            }
        }
    }

    /// Asks the thread to stop. It cannot miss this: the flag is set under the lock under which it
    /// goes to sleep.
    fn leave(&self) {
        self.list.lock().leaving = true;
        self.change.notify_all();
    }
}

/// The thread, as long as this is there.
pub(crate) struct Completer {
    thread: *mut bindings::task_struct,
    /// What the thread has a pointer to.
    held: Arc<Held>,
}

// SAFETY: A task may be stopped by any other.
unsafe impl Send for Completer {}
// SAFETY: Nothing can be done with a reference.
unsafe impl Sync for Completer {}

impl Completer {
    /// Starts it (`kthread_create`).
    pub(crate) fn start(held: Arc<Held>) -> Result<Self> {
        let data: *const Held = &*held;
        // SAFETY: The name has nothing to be formatted. `held` stays until `drop` has stopped the
        // thread.
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
        // SAFETY: It runs until it is stopped here.
        unsafe { bindings::kthread_stop(self.thread) };
    }
}

/// `NUMA_NO_NODE`.
const NO_NODE: ffi::c_int = -1;
/// The nice value that is nicest.
const LOWEST: ffi::c_int = 19;

unsafe extern "C" fn complete(held: *mut ffi::c_void) -> ffi::c_int {
    // SAFETY: What `start` has passed, which stays longer than this thread.
    unsafe { &*held.cast::<Held>() }.complete_all();
    0
}
