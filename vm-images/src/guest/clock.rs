//! The rate of the guest's time stamp counter.
//!
//! The kernel measures it by counting timer ticks. An emulated machine on a busy host does not get
//! them in time. The kernel then abandons the counter and uses the ticks as its clock, which is
//! coarse and slow whenever the host is slow. QEMU's emulation passes the host's counter on, so the
//! guest's kernel can be given its rate.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The measured time, long enough for an error below one in ten thousand.
const WINDOW: Duration = Duration::from_millis(20);

/// Returns the arguments of the guest's kernel under emulation. Empty if the host has no such
/// counter.
pub(super) fn kernel_arguments() -> String {
    static RATE_KHZ: OnceLock<u64> = OnceLock::new();
    if cfg!(target_arch = "x86_64") {
        format!("tsc_early_khz={} tsc=reliable", RATE_KHZ.get_or_init(rate_khz))
    } else {
        String::new()
    }
}

/// Measures the rate of the host's counter, in kHz.
fn rate_khz() -> u64 {
    let (start, first) = now();
    thread::sleep(WINDOW);
    let (end, last) = now();
    let elapsed_us = (end - start).as_micros().max(1);
    u64::try_from(u128::from(last.wrapping_sub(first)) * 1000 / elapsed_us).unwrap_or(0)
}

/// Returns the time and the counter at one moment. Of several pairs the closest is taken, because
/// this thread may be interrupted between the two reads.
fn now() -> (Instant, u64) {
    let pair = || {
        let before = Instant::now();
        let counter = counter();
        (before.elapsed(), before, counter)
    };
    let (_, time, counter) =
        (0..10).map(|_| pair()).min_by_key(|(width, ..)| *width).expect("ten are not none");
    (time, counter)
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has this instruction, and it only reads a register.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_clock_rate_is_stable() {
        let (one, two) = (rate_khz(), rate_khz());
        assert!((500_000..10_000_000).contains(&one), "{one}");
        assert!(one.abs_diff(two) < one / 1000, "{one} {two}");
    }
}
