//! Isolated code: its clock, its random numbers and its waits are answered in place of the
//! machine's (feature `isolation`).
//!
//! Code inside of [`Isolation::enter`] reads the time that was set. Random numbers come from a
//! seed: those of `getrandom`, and so the keys of a `HashMap` of a new thread, and generators that
//! are seeded by the machine. A wait of the thread while it is parked returns at once, and its end
//! is noted. Starting a thread and waiting in real time are refused and noted.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_long, c_void};
use std::task::Waker;
use std::time::Duration;

use libc::{clockid_t, timespec};
use nix::errno::Errno;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng as _, SeedableRng as _};

/// The time that the calendar shows at time 0: the first second of 2026.
pub(crate) const EPOCH: Duration = Duration::from_secs(1_767_225_600);
/// The time that the clock of the machine shows at time 0.
const UPTIME: Duration = Duration::from_secs(1000);
/// The number of times that code may read the clock before it is taken for code that never waits.
const MOST_READS: u32 = 20_000;

thread_local! {
    /// The isolation of the code that runs. Null outside of one.
    static INSIDE: Cell<*const Isolation> = const { Cell::new(std::ptr::null()) };
}

/// A time of isolated code, since its time 0.
type SinceBegin = Duration;

/// An isolation, entered again and again.
#[derive(Debug)]
pub struct Isolation {
    now: Cell<SinceBegin>,
    random: RefCell<Pcg64Mcg>,
    /// The number of times that the clock was read since the last visit began.
    reads: Cell<u32>,
    /// True while the code has nothing to do but wait.
    is_parked: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    wait: Cell<Option<Wait>>,
    refused: Cell<Option<&'static str>>,
    /// The time that the next look at the clock shows: the crate parking_lot looks whether a wait
    /// has lasted long enough.
    shows: Cell<Option<Duration>>,
}

/// A wait of isolated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until this time.
    Until(Duration),
    /// The code has not waited, although it had the time for all its work.
    Never,
}

impl Isolation {
    /// Returns an isolation whose random numbers come from a seed.
    pub fn new(seed: u64) -> Isolation {
        Isolation {
            now: Cell::new(Duration::ZERO),
            random: RefCell::new(Pcg64Mcg::seed_from_u64(seed)),
            reads: Cell::new(0),
            is_parked: Cell::new(false),
            waker: RefCell::new(None),
            wait: Cell::new(None),
            refused: Cell::new(None),
            shows: Cell::new(None),
        }
    }

    /// Runs code at this time.
    pub fn enter<T>(&self, now: Duration, work: impl FnOnce() -> T) -> T {
        /// Leaves the isolation, after a panic as well.
        struct Leave(*const Isolation);
        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.set(self.0);
            }
        }
        self.now.set(now);
        self.reads.set(0);
        self.wait.set(None);
        let _leave = Leave(INSIDE.replace(self));
        work()
    }

    /// Gives the code to wake when it waits.
    pub fn wakes(&self, waker: &Waker) {
        self.waker.replace(Some(waker.clone()));
    }

    /// Returns the wait of the code since it was entered. `None` if it has not waited so far.
    pub fn wait(&self) -> Option<Wait> {
        self.wait.get()
    }

    /// Returns what the code did that isolated code must not do, once.
    pub fn take_refused(&self) -> Option<&'static str> {
        self.refused.take()
    }

    fn refuse(&self, what: &'static str) {
        self.refused.set(self.refused.get().or(Some(what)));
    }

    fn waits(&self, wait: Wait) {
        self.wait.set(Some(wait));
        let waker = self.waker.borrow().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn reads_clock(&self) {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == MOST_READS {
            self.waits(Wait::Never);
        }
    }
}

/// Notes whether the code that runs has nothing to do but wait.
pub fn set_parked(is_parked: bool) {
    with(|inside| inside.is_parked.set(is_parked));
}

/// Calls `work` with the isolation of the running code. `None` outside of one.
fn with<T>(work: impl FnOnce(&Isolation) -> T) -> Option<T> {
    let inside = INSIDE.try_with(Cell::get).ok()?;
    // SAFETY: The pointer is null, or leads to the isolation of a caller of this thread, which
    // resets it before the isolation ends.
    unsafe { inside.as_ref() }.map(work)
}

/// Answers a call for the time.
///
/// # Safety
/// The pointer leads to a place for a time.
pub unsafe fn clock(clock: clockid_t, time: *mut timespec) -> Option<nix::Result<c_int>> {
    let now = with(|inside| {
        inside.reads_clock();
        inside.shows.take().unwrap_or(inside.now.get())
    })?;
    let since = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => EPOCH,
        _ => UPTIME,
    };
    // SAFETY: That of this function.
    unsafe { time.write(as_timespec(since + now)) };
    Some(Ok(0))
}

fn as_timespec(time: Duration) -> timespec {
    timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos().into() }
}

/// # Safety
/// The pointer leads to a time.
unsafe fn of_timespec(time: *const timespec) -> Duration {
    // SAFETY: That of this function.
    let time = unsafe { time.read() };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Answers a call for random bytes.
///
/// # Safety
/// The pointer leads to as many bytes.
pub unsafe fn random(bytes: *mut c_void, len: usize) -> Option<nix::Result<usize>> {
    with(|inside| {
        // SAFETY: That of this function.
        let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.cast::<u8>(), len) };
        inside.random.borrow_mut().fill_bytes(bytes);
        Ok(len)
    })
}

/// Answers a call for a sleep in real time: it is refused, and the time passes at once.
///
/// # Safety
/// The pointer leads to a time.
pub unsafe fn sleep(flags: c_int, time: *const timespec) -> Option<nix::Result<c_int>> {
    with(|inside| {
        inside.refuse(
            "it sleeps in real time (std::thread::sleep), which blocks its host; use \
             tokio::time::sleep",
        );
        // SAFETY: That of this function.
        let time = unsafe { of_timespec(time) };
        let now = inside.now.get();
        let is_end = flags & libc::TIMER_ABSTIME != 0;
        inside.now.set(if is_end { now.max(time.saturating_sub(UPTIME)) } else { now + time });
        Ok(0)
    })
}

/// Answers the start of a thread: it is refused.
pub fn thread_starts() -> Option<c_int> {
    with(|inside| {
        inside.refuse(
            "it starts a thread (std::thread::spawn, spawn_blocking, tokio::fs, or a lookup of an \
             address); a host has one thread",
        );
        Errno::EAGAIN as c_int
    })
}

/// Answers a call by its number. `None` for calls that are not about time, random numbers or waits.
///
/// # Safety
/// The arguments are those of the call.
pub unsafe fn by_number(number: c_long, arguments: [usize; 6]) -> Option<nix::Result<c_long>> {
    let [first, second, ..] = arguments;
    match number {
        // SAFETY: That of this function.
        libc::SYS_getrandom => unsafe { random(first as *mut c_void, second) }
            .map(|result| result.map(|len| len as c_long)),
        // SAFETY: That of this function.
        libc::SYS_futex => unsafe { futex(arguments) },
        _ => None,
    }
}

/// # Safety
/// The arguments are those of futex(2).
unsafe fn futex([_, operation, _, timeout, ..]: [usize; 6]) -> Option<nix::Result<c_long>> {
    let operation = operation as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let timeout = timeout as *const timespec;
    if timeout.is_null() || !matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) {
        // A wait without an end may be for a lock that another walk holds. If nothing ends it, the
        // thread hangs, and the run reports that.
        return None;
    }
    // SAFETY: That of this function.
    let time = unsafe { of_timespec(timeout) };
    with(|inside| {
        let is_relative = operation == libc::FUTEX_WAIT;
        let now = inside.now.get();
        let end = if is_relative { now + time } else { time.saturating_sub(UPTIME) };
        if inside.is_parked.get() {
            inside.shows.set(is_relative.then_some(end));
            inside.waits(Wait::Until(end));
            return Err(Errno::ETIMEDOUT);
        }
        inside.refuse(
            "it waits in real time (a channel or a condition variable of std, or \
             std::thread::park_timeout), which blocks its host; use those of tokio",
        );
        inside.now.set(now.max(end));
        Err(Errno::ETIMEDOUT)
    })
}
