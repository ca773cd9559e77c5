//! The threads that a store has started, and the moment when all of them sleep.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at threads that must sleep in both.
const LOOK: Duration = Duration::from_micros(50);
/// The longest wait for threads to sleep.
const LONGEST: Duration = Duration::from_secs(2);

/// The threads that a store has started.
#[derive(Debug, Default)]
pub struct Threads {
    ids: Mutex<Vec<i32>>,
    /// The number of threads that are being started.
    starting: AtomicU32,
    /// The number of calls on the files so far.
    calls: AtomicU64,
}

/// A look at the threads. Two equal ones in a row show that they sleep.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    calls: u64,
    /// The number of times that each thread has stopped running.
    stops: BTreeMap<i32, u64>,
}

impl Threads {
    /// Records that a thread is about to be started.
    pub fn starts(&self) {
        self.starting.fetch_add(1, Ordering::SeqCst);
    }

    /// Records that this thread has started.
    pub fn started(&self) {
        // SAFETY: gettid has no requirements.
        let id = unsafe { libc::gettid() };
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.has_started();
    }

    /// Records that this thread, which may have been started elsewhere, has made a call.
    pub fn called(&self) {
        // SAFETY: gettid has no requirements.
        let id = unsafe { libc::gettid() };
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if !ids.contains(&id) {
            ids.push(id);
        }
    }

    /// Records that a start has ended, well or not.
    pub fn has_started(&self) {
        self.starting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Records a call on the files.
    pub fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until all threads sleep, at most two seconds. A thread that sleeps until a time may
    /// wake later.
    pub fn settle(&self) {
        let begin = Instant::now();
        let mut before = None;
        while begin.elapsed() < LONGEST {
            let look = self.look();
            match look {
                Some(Look { stops, .. }) if stops.is_empty() => return,
                Some(look) if before.as_ref() == Some(&look) => return,
                look => before = look,
            }
            thread::sleep(LOOK);
        }
    }

    /// Looks at all threads, and forgets those that have ended. `None` unless all sleep.
    fn look(&self) -> Option<Look> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if self.starting.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let (mut stops, mut all_sleep) = (BTreeMap::new(), true);
        ids.retain(|id| {
            let status = fs::read_to_string(format!("/proc/self/task/{id}/status"));
            let Ok(status) = status else { return false };
            all_sleep &= field(&status, "State:").is_some_and(|state| state.starts_with('S'));
            let count = |name| field(&status, name).and_then(|count| count.parse().ok());
            let switches = count("voluntary_ctxt_switches:").unwrap_or(0)
                + count("nonvoluntary_ctxt_switches:").unwrap_or(0);
            stops.insert(*id, switches);
            true
        });
        let calls = self.calls.load(Ordering::Relaxed);
        all_sleep.then_some(Look { calls, stops })
    }
}

/// Returns a field of `/proc/PID/status`.
fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}
