// SPDX-License-Identifier: GPL-2.0
//! The kernel's random numbers, which can be made the same in each run.
//!
//! While seeded, number n is `mix(seed, n)`, and each draw takes the next number. `get_random_u8`
//! and its variants draw one number and take its low bits. `get_random_bytes` draws one for every
//! eight bytes or part of them. `__get_random_u32_below` draws one and scales it to its bound.
//! UUIDs use `get_random_bytes`. `get_random_u32_below` with a constant bound is inlined and uses
//! `get_random_u8` and its variants. Random bytes for user space (`getrandom`, `/dev/urandom`) do
//! not use these functions and stay random.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{kprobe, pt_regs};
use crate::common::call::valid;
use crate::common::mix::mix;
use crate::kprobe::{answer, Probe};
use crate::wire::Random;

static SEEDED: AtomicBool = AtomicBool::new(false);
static SEED: AtomicU64 = AtomicU64::new(0);
static DRAWN: AtomicU64 = AtomicU64::new(0);

/// The probes to register.
pub(crate) const PROBES: [Probe; 6] = [
    Probe { symbol: c_str!("get_random_u8"), handler: number::<0xff>, required: true },
    Probe { symbol: c_str!("get_random_u16"), handler: number::<0xffff>, required: true },
    Probe { symbol: c_str!("get_random_u32"), handler: number::<0xffff_ffff>, required: true },
    Probe { symbol: c_str!("get_random_u64"), handler: number::<{ u64::MAX }>, required: true },
    Probe { symbol: c_str!("get_random_bytes"), handler: bytes, required: true },
    Probe { symbol: c_str!("__get_random_u32_below"), handler: below, required: true },
];

/// Sets the state and returns the previous one ([`crate::wire::EKM_RANDOM`]). Calls must not
/// overlap.
pub(crate) fn exchange(random: &mut Random) -> Result {
    valid(random.seeded <= 1 && random.reserved == 0)?;
    let next = *random;
    random.seeded = SEEDED.swap(false, Ordering::AcqRel).into();
    random.seed = SEED.swap(next.seed, Ordering::AcqRel);
    random.drawn = DRAWN.swap(next.drawn, Ordering::AcqRel);
    SEEDED.store(next.seeded == 1, Ordering::Release);
    Ok(())
}

/// Makes the numbers random again.
pub(crate) fn release() {
    SEEDED.store(false, Ordering::Release);
}

/// Returns the next number. `None` if the generator is not seeded.
fn draw() -> Option<u64> {
    SEEDED.load(Ordering::Acquire).then(|| {
        let n = DRAWN.fetch_add(1, Ordering::AcqRel);
        mix(SEED.load(Ordering::Acquire), n)
    })
}

/// Probes `u8 (void)` to `u64 (void)`. Returns the bits of `MASK`.
unsafe extern "C" fn number<const MASK: u64>(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers.
    draw().map_or(0, |number| unsafe { answer(regs, number & MASK) })
}

/// Probes `u32 (u32 ceil)`, whose result is below `ceil`, or any u32 if `ceil` is 0.
unsafe extern "C" fn below(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    let Some(number) = draw() else { return 0 };
    // SAFETY: The handler's registers.
    unsafe {
        let ceil = (*regs).di as u32;
        let number = number as u32;
        // The high half of a product of two 32-bit numbers does not overflow and is below `ceil`.
        let scaled = (u64::from(number) * u64::from(ceil)) >> 32;
        answer(regs, if ceil == 0 { number.into() } else { scaled })
    }
}

/// Probes `void (void *buf, size_t len)`.
unsafe extern "C" fn bytes(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if !SEEDED.load(Ordering::Acquire) {
        return 0;
    }
    // SAFETY: The probed function writes `len` bytes to `buf`.
    unsafe {
        let to = (*regs).di as *mut u8;
        let len = (*regs).si as usize;
        let mut done = 0usize;
        while done < len {
            let n = DRAWN.fetch_add(1, Ordering::AcqRel);
            let number = mix(SEED.load(Ordering::Acquire), n).to_le_bytes();
            let part = len.wrapping_sub(done).min(8);
            to.wrapping_add(done).copy_from_nonoverlapping(number.as_ptr(), part);
            done = done.wrapping_add(part);
        }
        answer(regs, 0)
    }
}
