// SPDX-License-Identifier: GPL-2.0
//! Failure choices: whether a function fails or runs normally. The answers are in memory that the
//! user shares (`wire::ChoiceHeader`).
//!
//! Only calls of one thread count, in system calls on files, while its user has armed the choices.
//! The following are therefore no choices and run normally (EX-16):
//!
//! - work of any other task, and of interrupts, which run on stacks of their own;
//! - work of the harness: its calls of control devices are not calls on files, and it is not armed
//!   while it communicates with the host;
//! - work that is independent of the call: faults on user memory (`handle_mm_fault`), which depend
//!   on the pages that the program touched before, and pages for the slab allocator (`new_slab`),
//!   which depend on earlier frees.
//!
//! Probes call this code with preemption off. Modules (`choose`) call it in any context. Only one
//! thread writes the shared memory: the user's own, in its system call.

use core::mem::size_of;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use kernel::prelude::*;

use crate::bindings::{self, pt_regs};
use crate::common::area::Area;
use crate::stacks::STACKS;
use crate::wire::{
    ChoiceHeader, ChoiceSlot, CHOICES_MAX, FAIL_MODULE, FRAMES_MAX, LOG_DATA, NO_DEVICE,
    OPTIONS_MAX,
};

/// The state of failure choices.
pub(crate) struct Choices {
    /// The shared memory. Null until a user requests it. A raw pointer to a box, because probes
    /// only have a pointer.
    shared: AtomicPtr<Area>,
}

/// The only instance. Probes reach it through this static.
pub(crate) static CHOICES: Choices = Choices { shared: AtomicPtr::new(ptr::null_mut()) };

impl Choices {
    /// Makes the shared memory on the first call. The caller ensures that calls do not overlap and
    /// that no function that may fail is probed. `ENODEV` if this kernel cannot unwind stacks.
    pub(crate) fn make(&self) -> Result {
        if !self.shared.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        STACKS.make()?;
        let bytes = (LOG_DATA as usize).saturating_add(CHOICES_MAX * size_of::<ChoiceSlot>());
        let area = KBox::new(Area::new(bytes)?, GFP_KERNEL)?;
        self.shared.store(KBox::into_raw(area), Ordering::Release);
        Ok(())
    }

    /// Maps the shared memory for reading and writing. `EINVAL` if there is none.
    ///
    /// # Safety
    ///
    /// `vma` is the argument of the `mmap` file operation.
    pub(crate) unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        let area = self.shared.load(Ordering::Acquire);
        if area.is_null() {
            return Err(EINVAL);
        }
        // SAFETY: The area stays until the module is unloaded. The rest is the caller's promise.
        unsafe { (*area).map(vma) }
    }

    /// Disarms the choices, so that no function fails from now on.
    pub(crate) fn disarm(&self) {
        if let Some(header) = self.header() {
            header.armed.store(0, Ordering::Release);
        }
    }

    /// Frees the shared memory. No probe runs and no process maps it.
    pub(crate) fn free(&self) {
        let area = self.shared.swap(ptr::null_mut(), Ordering::AcqRel);
        if !area.is_null() {
            // SAFETY: From the box in `make`, and no longer used.
            drop(unsafe { KBox::from_raw(area) });
        }
    }

    fn header(&self) -> Option<&Header> {
        let area = self.shared.load(Ordering::Acquire);
        // SAFETY: The area stays until `free`, begins at a page boundary and is larger than the
        // header. It consists of numbers that may change at any time.
        (!area.is_null()).then(|| unsafe { &*(*area).base().cast::<Header>() })
    }

    /// Returns true if a function of this kind may fail in a call of this thread.
    pub(crate) fn may_fail(&self, kind: u32) -> bool {
        self.header().is_some_and(|header| header.may_fail(kind))
    }

    /// Returns true if a function of this kind, on this device, fails at its entry.
    ///
    /// # Safety
    ///
    /// `regs` is the argument of its probe's handler.
    pub(crate) unsafe fn fails(&self, regs: *mut pt_regs, kind: u32, device: u32) -> bool {
        // SAFETY: The caller's promise.
        unsafe { self.choose(regs, kind, device, 2) == 0 }
    }

    /// Chooses one of `options` options, at least 2. The last one is the normal run. It is also the
    /// result if there is no choice.
    ///
    /// # Safety
    ///
    /// `regs` are the registers of the running thread at a place in the kernel that it has not left
    /// yet.
    unsafe fn choose(&self, regs: *mut pt_regs, kind: u32, device: u32, options: u32) -> u32 {
        let last = options.wrapping_sub(1);
        let Some(header) = self.header() else { return last };
        // SAFETY: The caller's promise.
        let Some(bottom) =
            header.may_fail(kind).then(|| unsafe { in_call_on_files((*regs).sp as u64) }).flatten()
        else {
            return last;
        };
        let mut frames = [0; FRAMES_MAX];
        // SAFETY: As above. `sp` is on that stack.
        let Some(depth) = (unsafe { STACKS.callers(regs, bottom, &mut frames) }) else {
            return last;
        };
        let index = header.taken.load(Ordering::Relaxed);
        let Some(slot) = self.slot(index) else {
            header.lost.fetch_add(1, Ordering::Relaxed);
            return last;
        };
        // SAFETY: A slot of the shared memory, which only this thread uses while it is armed. The
        // user can write to it at any time nevertheless, so it is read and written as a whole, and
        // any bytes are a valid slot.
        let answer = unsafe {
            let scripted = slot.read_volatile();
            let is_scripted = index < header.scripted.load(Ordering::Relaxed)
                && (scripted.kind, scripted.options) == (kind, options)
                && options <= OPTIONS_MAX;
            let answer = if is_scripted { scripted.answer.min(last) } else { last };
            slot.write_volatile(ChoiceSlot {
                kind,
                options,
                answer,
                reserved: 0,
                device,
                depth,
                frames,
            });
            answer
        };
        header.taken.store(index.wrapping_add(1), Ordering::Release);
        if answer != last {
            header.failures.fetch_sub(1, Ordering::Relaxed);
        }
        answer
    }

    fn slot(&self, index: u32) -> Option<*mut ChoiceSlot> {
        let area = self.shared.load(Ordering::Acquire);
        if area.is_null() || index as usize >= CHOICES_MAX {
            return None;
        }
        // SAFETY: The area stays until `free`.
        let base = unsafe { (*area).base() };
        Some(base.wrapping_add(LOG_DATA as usize).cast::<ChoiceSlot>().wrapping_add(index as usize))
    }
}

/// The layout of [`ChoiceHeader`] with atomic fields, because both sides write to it.
#[repr(C)]
struct Header {
    armed: AtomicU32,
    kinds: AtomicU32,
    task: AtomicU32,
    scripted: AtomicU32,
    failures: AtomicU32,
    taken: AtomicU32,
    lost: AtomicU32,
    reserved: AtomicU32,
}

impl Header {
    /// Returns true if choices are armed for this kind and for the running thread.
    fn may_fail(&self, kind: u32) -> bool {
        self.armed.load(Ordering::Acquire) == 1
            && self.kinds.load(Ordering::Relaxed) & kind != 0
            && self.failures.load(Ordering::Relaxed) != 0
            && self.task.load(Ordering::Relaxed) == kernel::current!().pid() as u32
    }
}

const _: () = assert!(size_of::<Header>() == size_of::<ChoiceHeader>());

/// Chooses for a module's call of `ekm_choose`, with the caller's return address `ip`, stack
/// pointer and frame pointer.
///
/// # Safety
///
/// The pointers are those of the running thread.
pub(crate) unsafe fn of_module(options: u32, ip: u64, sp: u64, bp: u64) -> u32 {
    if options < 2 {
        return 0;
    }
    let mut regs = pt_regs { ip: ip as _, sp: sp as _, bp: bp as _, ..Default::default() };
    // SAFETY: The caller's promise.
    unsafe { CHOICES.choose(&mut regs, FAIL_MODULE, NO_DEVICE, options) }
}

/// Returns the bottom of the running thread's stack. `None` if the thread is not in a system call
/// on files or `sp` is not on that stack. An interrupt in the kernel has another stack, and one in
/// user space leaves no call number.
///
/// # Safety
///
/// Called by a probe, so the thread is running.
unsafe fn in_call_on_files(sp: u64) -> Option<u64> {
    // SAFETY: `task_pt_regs(current)`: the top of the running thread's stack holds its registers at
    // its entry into the kernel.
    let (bottom, call) = unsafe {
        let task = kernel::bindings::get_current();
        let bottom = (*task).stack.cast::<u8>();
        let top = bottom.wrapping_add(bindings::K_TOP_OF_KERNEL_STACK as usize);
        (bottom as u64, (*top.cast::<pt_regs>().wrapping_sub(1)).orig_ax as u64)
    };
    let own = bottom..bottom.wrapping_add(bindings::K_TOP_OF_KERNEL_STACK as u64);
    (own.contains(&sp) && is_call_on_files(call)).then_some(bottom)
}

/// Returns true for the number of a call on files (arch/x86/entry/syscalls/syscall_64.tbl).
fn is_call_on_files(call: u64) -> bool {
    matches!(
        call,
        // read, write, open, close, stat, fstat, lstat
        0..=6
        // pread64, pwrite64, readv, writev, access
        | 17..=21
        // sendfile
        | 40
        // fsync to getdents
        | 74..=78
        // rename to lchown
        | 82..=94
        // utime, mknod
        | 132..=133
        // sync
        | 162
        // io_submit
        | 209
        // setxattr to fremovexattr
        | 188..=199
        // getdents64, utimes
        | 217 | 235
        // openat to faccessat
        | 257..=269
        // sync_file_range, utimensat, fallocate, preadv, pwritev, syncfs, renameat2
        | 277 | 280 | 285 | 295 | 296 | 306 | 316
        // copy_file_range to pwritev2, statx, openat2, faccessat2
        | 326..=328 | 332 | 437 | 439
    )
}
