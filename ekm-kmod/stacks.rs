// SPDX-License-Identifier: GPL-2.0
//! Who has called: the addresses that lead to some place in the kernel, innermost first.
//!
//! Unwinding a stack costs more than all else of a choice, and the same ways come again and again.
//! So ways are remembered: where they begin (instruction and stack pointer), their return
//! addresses, and where on the stack each of these lies. Where the next one lies follows from the
//! address before it and from where that lay, for a frame has one size at one instruction (the
//! kernel has no arrays of varying size); so a way is one that is known if it begins there and all
//! its return addresses are where they were. Ways through modules are not remembered: where a
//! module was there may be another one.
//!
//! Only the thread that is asked comes here, one call at a time: what is remembered needs no lock.

use core::mem::{size_of, transmute};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{self, pt_regs};
use crate::common::area::Area;
use crate::common::mix::mix;
use crate::kprobe::address_of;
use crate::symbols;
use crate::wire::FRAMES_MAX;

/// `stack_trace_save_regs`: stores the addresses that lead to these registers, innermost first, and
/// says how many.
type SaveStack =
    unsafe extern "C" fn(*mut pt_regs, *mut ffi::c_ulong, ffi::c_uint, ffi::c_uint) -> ffi::c_uint;

/// Functions below which nothing is a choice: faults, and pages for slabs. The second of the latter
/// may be inlined into the first.
const OTHERS: [&CStr; 3] = [c_str!("handle_mm_fault"), c_str!("new_slab"), c_str!("allocate_slab")];

/// Room for so many ways.
const WAYS: usize = 2048;
/// Each has so many places where it may be.
const TRIES: usize = 4;
/// Where the kernel's own text and data begin (`__START_KERNEL_map`); modules lie behind them.
const START_KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;
/// Bytes of a stack that are looked at.
const STACK: u64 = bindings::K_TOP_OF_KERNEL_STACK as u64;

/// A way that is known.
#[repr(C)]
struct Way {
    /// Where it begins; 0 if nothing is known.
    ip: u64,
    /// The stack pointer there, from the stack's bottom.
    sp: u64,
    /// So many addresses there are.
    depth: u32,
    /// 1: something of it is among [`OTHERS`].
    is_other: u32,
    frames: [u64; FRAMES_MAX],
    /// Where each of these lies, but the first, from the stack's bottom.
    places: [u16; FRAMES_MAX],
}

/// All there is to know of callers.
pub(crate) struct Stacks {
    /// `stack_trace_save_regs`; 0 if this kernel has it not, or not what there is of [`OTHERS`].
    save_stack: AtomicU64,
    /// First and last address of each of [`OTHERS`].
    others: [[AtomicU64; 2]; OTHERS.len()],
    /// [`WAYS`] of [`Way`]. A box, because probes have a pointer only.
    ways: AtomicPtr<Area>,
}

/// The only ones: probes have no other way to them.
pub(crate) static STACKS: Stacks = Stacks {
    save_stack: AtomicU64::new(0),
    others: [const { [const { AtomicU64::new(0) }; 2] }; OTHERS.len()],
    ways: AtomicPtr::new(ptr::null_mut()),
};

impl Stacks {
    /// Looks for what is not exported, the first time. One call at a time. `ENODEV` if this kernel
    /// cannot say who calls.
    pub(crate) fn make(&self) -> Result {
        if !self.ways.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        self.find_functions();
        if self.save_stack.load(Ordering::Acquire) == 0 {
            return Err(ENODEV);
        }
        let ways = KBox::new(Area::new(WAYS * size_of::<Way>())?, GFP_KERNEL)?;
        self.ways.store(KBox::into_raw(ways), Ordering::Release);
        Ok(())
    }

    fn find_functions(&self) {
        for (range, symbol) in self.others.iter().zip(OTHERS) {
            let Range { start, end } = symbols::range_of(symbol).unwrap_or(0..0);
            range[0].store(start, Ordering::Release);
            range[1].store(end, Ordering::Release);
        }
        let [faults, slabs @ ..] = &self.others;
        let is_there = |range: &[AtomicU64; 2]| range[1].load(Ordering::Relaxed) != 0;
        if let (true, true, Ok(address)) = (
            is_there(faults),
            slabs.iter().any(is_there),
            address_of(c_str!("stack_trace_save_regs")),
        ) {
            self.save_stack.store(address as u64, Ordering::Release);
        }
    }

    /// Frees what is remembered. No probe asks any more.
    pub(crate) fn free(&self) {
        let ways = self.ways.swap(ptr::null_mut(), Ordering::AcqRel);
        if !ways.is_null() {
            // SAFETY: From the box in `make`, and it is no longer used.
            drop(unsafe { KBox::from_raw(ways) });
        }
    }

    /// Stores who has called, and says how many; none if it is below one of [`OTHERS`].
    ///
    /// # Safety
    ///
    /// `regs` are the running thread's own, as they were at some place in the kernel that it has
    /// not left yet, on its own stack, whose first byte is at `bottom`.
    pub(crate) unsafe fn callers(
        &self,
        regs: *mut pt_regs,
        bottom: u64,
        frames: &mut [u64; FRAMES_MAX],
    ) -> Option<u32> {
        // SAFETY: The caller's promise.
        let (ip, sp) = unsafe { ((*regs).ip as u64, ((*regs).sp as u64).wrapping_sub(bottom)) };
        let ways = self.ways.load(Ordering::Acquire);
        if ways.is_null() {
            return None;
        }
        // SAFETY: The area is there until `free`, begins at a page, and has room for them; any
        // bytes are ways. Only this call is here.
        let ways: &mut [Way] =
            unsafe { core::slice::from_raw_parts_mut((*ways).base().cast(), WAYS) };
        // SAFETY: The word at a stack pointer is on the stack, where a function is entered its
        // caller's address.
        let first = unsafe { read(bottom, sp) }?;
        let begin = mix(ip ^ first, sp) as usize % WAYS;
        let mut free = begin;
        for at in begin..begin.wrapping_add(TRIES) {
            let at = at % WAYS;
            let Some(way) = ways.get(at) else { continue };
            if way.ip == 0 {
                free = at;
                break;
            }
            // SAFETY: As of `first`.
            if (way.ip, way.sp) == (ip, sp) && unsafe { is_same(way, bottom) } {
                *frames = way.frames;
                return (way.is_other == 0).then_some(way.depth);
            }
        }
        let save = self.save_stack.load(Ordering::Acquire) as *const ffi::c_void;
        // SAFETY: `find_functions` has found it, or there would be no room for ways; it stores no
        // more than there is room for.
        let depth = unsafe {
            let save = transmute::<*const ffi::c_void, SaveStack>(save);
            save(regs, frames.as_mut_ptr().cast(), FRAMES_MAX as ffi::c_uint, 0)
        };
        let is_other = self.is_other(frames.iter().take(depth as usize));
        if let Some(way) = ways.get_mut(free) {
            // SAFETY: The caller's promise.
            unsafe { remember(way, regs, bottom, frames, depth) };
            (way.ip, way.sp, way.is_other) =
                (if way.depth == 0 { 0 } else { ip }, sp, is_other.into());
        }
        (!is_other).then_some(depth)
    }

    fn is_other<'a>(&self, mut frames: impl Iterator<Item = &'a u64>) -> bool {
        frames.any(|address| {
            self.others.iter().any(|[start, end]| {
                (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(address)
            })
        })
    }
}

/// The word at a place of a stack, if it is on it.
///
/// # Safety
///
/// `bottom` is that of the running thread's stack.
unsafe fn read(bottom: u64, place: u64) -> Option<u64> {
    let is_on_it = place % 8 == 0 && place < STACK;
    // SAFETY: It is there as long as the thread runs.
    is_on_it.then(|| unsafe { (bottom.wrapping_add(place) as *const u64).read_volatile() })
}

/// Are all return addresses where they were on this way?
///
/// # Safety
///
/// As of [`read`].
unsafe fn is_same(way: &Way, bottom: u64) -> bool {
    let known = way.frames.iter().zip(&way.places).take(way.depth as usize);
    // SAFETY: The caller's promise.
    known.skip(1).all(|(frame, place)| unsafe { read(bottom, u64::from(*place)) } == Some(*frame))
}

/// Notes a way that was just unwound; its depth is 0 if it is none to be remembered.
///
/// # Safety
///
/// As of [`Stacks::callers`].
#[cfg(CONFIG_UNWINDER_ORC)]
unsafe fn remember(
    way: &mut Way,
    regs: *mut pt_regs,
    bottom: u64,
    frames: &[u64; FRAMES_MAX],
    depth: u32,
) {
    way.depth = 0;
    let own = frames.iter().take(depth as usize);
    let is_module = |address: &u64| {
        address.wrapping_sub(START_KERNEL_MAP) >= bindings::K_KERNEL_IMAGE_SIZE as u64
    };
    if own.clone().any(is_module) {
        return;
    }
    // SAFETY: Plain numbers and pointers.
    let mut state: bindings::unwind_state = unsafe { core::mem::zeroed() };
    let mut places = [0; FRAMES_MAX];
    // SAFETY: The thread unwinds its own stack from registers that it had.
    unsafe {
        let task = kernel::bindings::get_current().cast();
        bindings::__unwind_start(&mut state, task, regs, (*regs).sp as *mut ffi::c_ulong);
    }
    for (frame, place) in own.zip(&mut places).skip(1) {
        if state.stack_info.type_ == bindings::stack_type_STACK_TYPE_UNKNOWN {
            return;
        }
        // As unwind_get_return_address_ptr() does it.
        let at = if state.regs.is_null() {
            (state.sp as u64).wrapping_sub(8)
        } else {
            // SAFETY: Registers on this stack.
            unsafe { &raw const (*state.regs).ip as u64 }
        };
        let at = at.wrapping_sub(bottom);
        // SAFETY: The caller's promise.
        let is_there = unsafe { read(bottom, at) } == Some(*frame);
        // SAFETY: The state of an unwinding that goes on.
        if !is_there || unsafe { bindings::unwind_get_return_address(&mut state) } as u64 != *frame
        {
            return;
        }
        *place = at as u16;
        // SAFETY: As above.
        unsafe { bindings::unwind_next_frame(&mut state) };
    }
    (way.depth, way.frames, way.places) = (depth, *frames, places);
}

/// Other unwinders do not say where an address lies.
///
/// # Safety
///
/// None is needed.
#[cfg(not(CONFIG_UNWINDER_ORC))]
unsafe fn remember(way: &mut Way, _: *mut pt_regs, _: u64, _: &[u64; FRAMES_MAX], _: u32) {
    way.depth = 0;
}
