//! Threads of the kernel that belong to a stack: found by name, held back, run by choice, and
//! monitored (EX-57, EX-58).
//!
//! They are held back by priority instead of a lock or semaphore (the paper's semaphores led to
//! deadlocks). A thread runs when all tasks that take turns wait, so it also runs whenever a task
//! waits for it. The kernel's count of a task's context switches grows whenever the task has run.

use std::{fs, io};

use nix::sys::resource::{UsageWho, getrusage};

use super::scheduling::{self, CHOSEN, QUIESCED};
use explode_runtime::base::{Blame, StepError};

/// The process that is the parent of all threads of the kernel.
const KTHREADD: &str = "2";

/// The threads of a stack that are held back.
#[derive(Debug, Default)]
pub(crate) struct HeldThreads {
    threads: Vec<HeldThread>,
    /// The number of waits of the calling thread when the last stretch began.
    waits: i64,
}

#[derive(Debug)]
struct HeldThread {
    pid: u32,
    name: String,
    /// The number of context switches at the last check.
    switches: u64,
    /// True if the thread was woken but had not run when the last stretch ended. No task waited for
    /// it.
    about_to_run: bool,
}

/// Returns the thread of the kernel with this name.
///
/// # Errors
/// There is no such thread (EX-30), or more than one.
pub fn find_thread(name: &str) -> Result<u32, StepError> {
    let broken = |why: String| StepError::new(why).blame(Blame::Tool);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").map_err(|error| broken(format!("/proc: {error}")))? {
        let entry = entry.map_err(|error| broken(format!("/proc: {error}")))?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let comm = fs::read(entry.path().join("comm"));
        if comm.is_ok_and(|comm| comm.trim_ascii_end() == name.as_bytes()) && is_of_kernel(pid) {
            found.push(pid);
        }
    }
    match found[..] {
        [pid] => Ok(pid),
        [] => Err(broken(format!("the kernel has no thread '{name}'"))),
        _ => Err(broken(format!("the kernel has {} threads '{name}'", found.len()))),
    }
}

fn is_of_kernel(pid: u32) -> bool {
    fields(pid).is_ok_and(|fields| fields[1] == KTHREADD)
}

/// Returns the state and the parent of a task, the fields after its name in brackets (proc(5),
/// stat).
fn fields(pid: u32) -> io::Result<[String; 2]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let mut fields =
        stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').map(str::to_owned);
    match (fields.next(), fields.next()) {
        (Some(state), Some(parent)) => Ok([state, parent]),
        _ => Err(io::Error::other(format!("/proc/{pid}/stat says '{stat}'"))),
    }
}

impl HeldThreads {
    /// Holds these threads back, each given with the name of its layer.
    pub fn quiesce(&mut self, threads: &[(&str, u32)]) -> Result<(), StepError> {
        self.threads.clear();
        for (layer, pid) in threads {
            let named = || {
                let name = fs::read_to_string(format!("/proc/{pid}/comm"))?.trim_end().to_owned();
                set_priority(*pid, QUIESCED)?;
                Ok(HeldThread { pid: *pid, name, switches: switches(*pid)?, about_to_run: false })
            };
            let own = named().map_err(|error: io::Error| {
                StepError::new(format!("thread {pid} cannot be held back: {error}"))
                    .blame(Blame::Tool)
                    .of(layer)
            })?;
            self.threads.push(own);
        }
        Ok(())
    }

    /// Starts a stretch, in which the checked system runs.
    ///
    /// # Errors
    /// A thread has run between the stretches although it must not.
    pub fn stretch_begins(&mut self) -> Result<(), StepError> {
        for own in &mut self.threads {
            let now = switches(own.pid).map_err(|error| own.lost(&error))?;
            if own.about_to_run && now != own.switches {
                return Err(own.not_replayable(
                    "was woken and not waited for, and has run while the system stood still",
                ));
            }
            (own.switches, own.about_to_run) = (now, false);
        }
        self.waits = waits()?;
        Ok(())
    }

    /// Allows the threads to run, because background work of the kernel may need them.
    pub fn may_run(&mut self) {
        self.threads.iter_mut().for_each(|own| own.about_to_run = false);
    }

    /// Ends a stretch. The checked system does not run afterwards.
    ///
    /// # Errors
    /// A thread that is held back has run although no task waited.
    pub fn stretch_ends(&mut self) -> Result<(), StepError> {
        let waited = !self.threads.is_empty() && waits()? != self.waits;
        for own in &mut self.threads {
            let looked = switches(own.pid).and_then(|now| Ok((now, own.is_woken()?)));
            let (now, woken) = looked.map_err(|error| own.lost(&error))?;
            if now != own.switches && !waited {
                return Err(own.not_replayable("is held back, and has run while no task waited"));
            }
            (own.switches, own.about_to_run) = (now, woken);
        }
        Ok(())
    }

    /// Runs the threads that were woken until they wait, one after the other.
    ///
    /// # Errors
    /// A thread has not run.
    pub fn run_woken(&self) -> Result<(), StepError> {
        for own in &self.threads {
            let run = || {
                if !own.is_woken()? {
                    return Ok(true);
                }
                let before = switches(own.pid)?;
                set_priority(own.pid, CHOSEN)?;
                set_priority(own.pid, QUIESCED)?;
                Ok(switches(own.pid)? != before)
            };
            if !run().map_err(|error| own.lost(&error))? {
                return Err(own.not_replayable("was chosen, and has not run"));
            }
        }
        Ok(())
    }
}

impl HeldThread {
    /// Returns true if the thread can run now.
    fn is_woken(&self) -> io::Result<bool> {
        Ok(fields(self.pid)?[0] == "R")
    }

    fn not_replayable(&self, why: &str) -> StepError {
        StepError::new(format!("not replayable: the thread {} {why} (EX-58)", self.name))
            .blame(Blame::Tool)
    }

    fn lost(&self, error: &io::Error) -> StepError {
        StepError::new(format!("the thread {}: {error}", self.name)).blame(Blame::Tool)
    }
}

fn set_priority(pid: u32, priority: i32) -> io::Result<()> {
    scheduling::set_priority(i32::try_from(pid).map_err(io::Error::other)?, priority)
}

/// Returns the number of times that a task has stopped running.
fn switches(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    counted(&status)
        .ok_or_else(|| io::Error::other(format!("/proc/{pid}/status counts no switches")))
}

fn counted(status: &str) -> Option<u64> {
    let count = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

/// Returns the number of times that the calling thread has waited.
fn waits() -> Result<i64, StepError> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    let usage = usage.map_err(|errno| {
        StepError::new(format!("getrusage: {}", errno.desc())).blame(Blame::Tool)
    })?;
    Ok(usage.voluntary_context_switches())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_counted() {
        let status =
            "Name:\tjbd2/rdd0-8\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(counted(status), Some(9));
        assert_eq!(counted("Name:\tjbd2/rdd0-8\n"), None);
        assert!(switches(std::process::id()).is_ok());
    }

    #[test]
    fn only_threads_of_the_kernel_are_found() {
        let own = fs::read_to_string("/proc/self/comm").unwrap();
        let message = find_thread(own.trim_end()).unwrap_err().to_string();
        assert_eq!(message, format!("the kernel has no thread '{}'", own.trim_end()));
    }
}
