//! Time in which a process could run. On a busy machine other processes keep it from running, which
//! says nothing about its speed.
//!
//! The kernel counts for each thread the time for which it was ready to run while others had the
//! processor (`run_delay`, the second number of `/proc/<pid>/task/<tid>/schedstat`, in
//! nanoseconds). Of the threads of a process the one that has waited most counts. For QEMU that is
//! the guest's processor.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the time for which a process was kept from running since it began. Zero if the kernel
/// does not count it, or there is no such process.
#[must_use]
pub fn kept_waiting(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| of_thread(&thread.path())).max().unwrap_or_default()
}

fn of_thread(thread: &Path) -> Option<Duration> {
    let statistics = fs::read_to_string(thread.join("schedstat")).ok()?;
    statistics.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// A clock that excludes the time in which the process was kept from running.
pub(crate) struct HostClock {
    process: u32,
    begin: Instant,
    kept: Duration,
}

impl HostClock {
    /// Starts the clock.
    pub(crate) fn of(process: u32) -> HostClock {
        HostClock { process, begin: Instant::now(), kept: kept_waiting(process) }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let kept = kept_waiting(self.process).saturating_sub(self.kept);
        self.begin.elapsed().saturating_sub(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;

    use super::*;

    /// Starts a process that never waits, on the first processor that this process may use.
    fn busy() -> Child {
        let child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("there is a shell");
        let ours = nix::sched::sched_getaffinity(Pid::from_raw(0)).expect("we may run somewhere");
        let first =
            (0..CpuSet::count()).find(|cpu| ours.is_set(*cpu).unwrap_or(false)).expect("we run");
        let mut one = CpuSet::new();
        one.set(first).expect("it is below the most");
        sched_setaffinity(Pid::from_raw(child.id().cast_signed()), &one).expect("it is our child");
        child
    }

    #[test]
    fn time_in_which_others_run_does_not_count() {
        let mut children = [busy(), busy()];
        let clock = HostClock::of(children[0].id());
        // Both need the same processor, so each is kept waiting while the other runs.
        while kept_waiting(children[0].id()).saturating_sub(clock.kept) < Duration::from_millis(20)
        {
            std::thread::yield_now();
        }
        let (elapsed, all) = (clock.elapsed(), clock.begin.elapsed());
        for child in &mut children {
            child.kill().expect("it goes on for ever");
            child.wait().expect("it is our child");
        }
        assert!(elapsed + Duration::from_millis(20) <= all, "{elapsed:?} of {all:?}");
    }

    #[test]
    fn a_missing_process_is_not_waited_for() {
        // The largest process number of Linux is 2^22.
        assert_eq!(kept_waiting(u32::MAX), Duration::ZERO);
    }
}
