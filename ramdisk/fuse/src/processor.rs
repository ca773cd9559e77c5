//! A processor for the programs and for the thread that answers their requests.
//!
//! A program waits for the answer to each request, so one of the two waits while the other runs.
//! On one processor the kernel switches between them. On two it wakes a processor that sleeps,
//! which takes several times as long.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// A processor that no other thread with simulated files takes, on this machine. The thread that
/// took it stays on it, with the threads and programs that it starts.
#[derive(Debug)]
pub(crate) struct Processor {
    number: usize,
    /// The kernel frees the name when the process ends, also if it is killed.
    _name: UnixListener,
}

impl Processor {
    /// Moves this thread to the first free one of its processors. `None` if none is free: then
    /// the thread stays where it may run now.
    pub fn take() -> Option<Processor> {
        let this_thread = Pid::from_raw(0);
        let allowed = sched_getaffinity(this_thread).ok()?;
        let free = (0..CpuSet::count())
            .filter(|number| allowed.is_set(*number).unwrap_or(false))
            .find_map(|number| Some(Processor { number, _name: name(number).ok()? }))?;
        let mut only = CpuSet::new();
        only.set(free.number).ok()?;
        sched_setaffinity(this_thread, &only).ok()?;
        Some(free)
    }
}

/// Takes the name of a processor. Fails if another thread has it.
fn name(processor: usize) -> io::Result<UnixListener> {
    let name = format!("explode-processor-{processor}");
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Each thread takes another processor. One that finds none keeps its own.
    #[test]
    fn a_processor_has_one_thread() {
        let count = thread::available_parallelism().unwrap().get();
        let take = move || {
            let taken = Processor::take();
            let may_run_on = thread::available_parallelism().unwrap().get();
            assert_eq!(may_run_on, if taken.is_some() { 1 } else { count });
            taken
        };
        let on_a_thread = || thread::spawn(take).join().unwrap();
        // Other tests take some as well.
        let taken: Vec<Processor> = (0..count).filter_map(|_| on_a_thread()).collect();
        let mut numbers: Vec<usize> = taken.iter().map(|taken| taken.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), taken.len());
        assert!(on_a_thread().is_none_or(|more| !numbers.contains(&more.number)));
    }
}
