//! Functions for the time, for random numbers and for waits, for isolated code.

use std::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, timespec, timeval};

use crate::isolation;

define! {
    fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int =
        isolation::clock(clock, time);
    fn gettimeofday(time: *mut timeval, _zone: *mut c_void) -> c_int = in_microseconds(time);
    fn getrandom(bytes: *mut c_void, len: usize, _flags: c_uint) -> isize =
        isolation::random(bytes, len);
    fn getentropy(bytes: *mut c_void, len: usize) -> c_int =
        isolation::random(bytes, len).map(|result| result.map(|_| 0));
    fn nanosleep(time: *const timespec, _left: *mut timespec) -> c_int = isolation::sleep(0, time);
    fn clock_nanosleep(
        _clock: clockid_t, flags: c_int, time: *const timespec, _left: *mut timespec,
    ) -> c_int = isolation::sleep(flags, time);
}

/// # Safety
/// The pointer leads to a place for a time.
unsafe fn in_microseconds(time: *mut timeval) -> Option<nix::Result<c_int>> {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: The place is a local one.
    let answer = unsafe { isolation::clock(libc::CLOCK_REALTIME, &mut now) }?;
    // SAFETY: That of this function.
    unsafe { time.write(timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 }) };
    Some(answer)
}
