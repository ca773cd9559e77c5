// SPDX-License-Identifier: GPL-2.0
//! The callers of a place in the kernel: the return addresses that lead to it, innermost first.
//!
//! Unwinding a stack costs more than the rest of a choice, and the same call paths recur. Paths are
//! therefore cached with their start (instruction and stack pointer), their return addresses, and
//! the position of each return address on the stack. An address and its position determine the
//! position of the next address, because a frame has a fixed size at each instruction (the kernel
//! has no arrays of variable size). A path is therefore equal to a cached one if it has the same
//! start and all return addresses are at the cached positions. Paths through modules are not
//! cached, because another module may be loaded at the same address.
//!
//! Only the thread whose choices are armed uses this, one call at a time, so the cache needs no
//! lock.

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

/// The type of `stack_trace_save_regs`, which stores the addresses that lead to these registers,
/// innermost first, and returns their number.
type SaveStack =
    unsafe extern "C" fn(*mut pt_regs, *mut ffi::c_ulong, ffi::c_uint, ffi::c_uint) -> ffi::c_uint;

/// Functions below which nothing is a choice: page faults, and page allocations for slabs.
/// `allocate_slab` may be inlined into `new_slab`.
const OTHERS: [&CStr; 3] = [c_str!("handle_mm_fault"), c_str!("new_slab"), c_str!("allocate_slab")];

/// The number of paths in the cache.
const WAYS: usize = 2048;
/// The number of places at which a path can be in the cache.
const TRIES: usize = 4;
/// The start of the kernel's own text and data (`__START_KERNEL_map`). Modules are after them.
const START_KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;
/// The size in bytes of the searched part of a stack.
const STACK: u64 = bindings::K_TOP_OF_KERNEL_STACK as u64;

/// A cached path.
#[repr(C)]
struct Way {
    /// The instruction pointer at its start. 0 for an empty entry.
    ip: u64,
    /// The stack pointer at its start, relative to the stack's bottom.
    sp: u64,
    /// The number of addresses.
    depth: u32,
    /// 1 if an address of the path is in one of [`OTHERS`], else 0.
    is_other: u32,
    frames: [u64; FRAMES_MAX],
    /// The positions of all addresses except the first, relative to the stack's bottom.
    places: [u16; FRAMES_MAX],
}

/// The unwinder and its cache.
pub(crate) struct Stacks {
    /// The address of `stack_trace_save_regs`. 0 if this kernel lacks it or the functions of
    /// [`OTHERS`].
    save_stack: AtomicU64,
    /// The start and end address of each of [`OTHERS`].
    others: [[AtomicU64; 2]; OTHERS.len()],
    /// An array of [`WAYS`] cached paths. A raw pointer to a box, because probes only have a
    /// pointer.
    ways: AtomicPtr<Area>,
}

/// The only instance. Probes reach it through this static.
pub(crate) static STACKS: Stacks = Stacks {
    save_stack: AtomicU64::new(0),
    others: [const { [const { AtomicU64::new(0) }; 2] }; OTHERS.len()],
    ways: AtomicPtr::new(ptr::null_mut()),
};

impl Stacks {
    /// Finds the functions that are not exported, on the first call. Calls must not overlap.
    /// `ENODEV` if this kernel cannot unwind stacks.
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

    /// Frees the cache. No probe uses it any more.
    pub(crate) fn free(&self) {
        let ways = self.ways.swap(ptr::null_mut(), Ordering::AcqRel);
        if !ways.is_null() {
            // SAFETY: From the box in `make`, and no longer used.
            drop(unsafe { KBox::from_raw(ways) });
        }
    }

    /// Stores the callers and returns their number. `None` if the place is below one of [`OTHERS`].
    ///
    /// # Safety
    ///
    /// `regs` are the registers of the running thread at a place in the kernel that it has not left
    /// yet. The place is on the thread's own stack, whose first byte is at `bottom`.
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
        // SAFETY: The area stays until `free`, starts at a page boundary, and has room for the
        // entries. Any bytes are valid entries. No other call uses them.
        let ways: &mut [Way] =
            unsafe { core::slice::from_raw_parts_mut((*ways).base().cast(), WAYS) };
        // SAFETY: The word at the stack pointer is on the stack. At the entry of a function it is
        // the return address.
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
            // SAFETY: As for `first`.
            if (way.ip, way.sp) == (ip, sp) && unsafe { is_same(way, bottom) } {
                *frames = way.frames;
                return (way.is_other == 0).then_some(way.depth);
            }
        }
        let save = self.save_stack.load(Ordering::Acquire) as *const ffi::c_void;
        // SAFETY: `find_functions` has found it, because otherwise there would be no cache. It
        // stores no more addresses than there is room for.
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

/// Returns the word at a position of a stack. `None` if the position is not on the stack.
///
/// # Safety
///
/// `bottom` is the bottom of the running thread's stack.
unsafe fn read(bottom: u64, place: u64) -> Option<u64> {
    let is_on_it = place % 8 == 0 && place < STACK;
    // SAFETY: The stack exists as long as the thread runs.
    is_on_it.then(|| unsafe { (bottom.wrapping_add(place) as *const u64).read_volatile() })
}

/// Returns true if all return addresses are at their cached positions.
///
/// # Safety
///
/// Those of [`read`].
unsafe fn is_same(way: &Way, bottom: u64) -> bool {
    let known = way.frames.iter().zip(&way.places).take(way.depth as usize);
    // SAFETY: The caller's promise.
    known.skip(1).all(|(frame, place)| unsafe { read(bottom, u64::from(*place)) } == Some(*frame))
}

/// Caches a path that was just unwound. Sets its depth to 0 if it must not be cached.
///
/// # Safety
///
/// Those of [`Stacks::callers`].
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
        // The computation of unwind_get_return_address_ptr().
        let at = if state.regs.is_null() {
            (state.sp as u64).wrapping_sub(8)
        } else {
            // SAFETY: The registers are on this stack.
            unsafe { &raw const (*state.regs).ip as u64 }
        };
        let at = at.wrapping_sub(bottom);
        // SAFETY: The caller's promise.
        let is_there = unsafe { read(bottom, at) } == Some(*frame);
        // SAFETY: The state of an unwinding in progress.
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

/// Caches nothing, because other unwinders do not provide the positions of addresses.
///
/// # Safety
///
/// No requirement.
#[cfg(not(CONFIG_UNWINDER_ORC))]
unsafe fn remember(way: &mut Way, _: *mut pt_regs, _: u64, _: &[u64; FRAMES_MAX], _: u32) {
    way.depth = 0;
}
