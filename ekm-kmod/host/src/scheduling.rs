//! Scheduling by turns: in a guest each task runs until it waits. The next task is the one that has
//! waited longest to run.
//!
//! Otherwise it depends on microseconds whether the thread of the journal or the syncfs(2) that has
//! woken it writes first (`sync_filesystem` starts a commit and continues with the buffers). The
//! same path would then not always give the same events.

use explode_runtime::devices::task_exists;
use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;
use std::{fs, io, thread};

use explode_ekm_abi::wire::LATE_THREAD;
use libc::{
    ESRCH, SCHED_FIFO, SCHED_IDLE, SCHED_OTHER, sched_getparam, sched_getscheduler, sched_param,
    sched_setscheduler,
};

/// The priority (`SCHED_FIFO`) of all tasks that take turns.
pub(crate) const TURNS: i32 = 2;
/// The priority of threads that are held back: they run when all tasks that take turns wait
/// (EX-57).
pub(crate) const QUIESCED: i32 = 1;
/// The priority of a thread that was chosen to run.
pub(crate) const CHOSEN: i32 = 3;

/// The folder of the kernel's deadline servers of ordinary tasks, with one folder per processor.
const SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

/// The file with the number of tasks that can run, and the number of the last task.
const LOAD: &str = "/proc/loadavg";

/// Makes the calling thread and its later children take turns.
///
/// # Errors
/// The process is not root, or the kernel has exceptions that cannot be switched off.
pub(crate) fn take_turns() -> io::Result<()> {
    // Switches off two exceptions for ordinary tasks: the throttling after 0.95 s, and (Linux 6.12)
    // the server that runs ordinary tasks for 50 ms after they have waited 0.95 s. New threads of
    // work queues are ordinary tasks.
    fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1")?;
    match fs::read_dir(SERVERS) {
        Ok(servers) => {
            for server in servers {
                fs::write(server?.path().join("runtime"), "0")?;
            }
        }
        Err(_) if !has_servers()? => {}
        Err(error) => {
            let text = format!(
                "{SERVERS}: {error}; the kernel needs CONFIG_SCHED_DEBUG, and debugfs mounted"
            );
            return Err(io::Error::new(error.kind(), text));
        }
    }
    set_priority(0, TURNS)
}

/// Returns true if the kernel has such servers.
fn has_servers() -> io::Result<bool> {
    let symbols = fs::read_to_string("/proc/kallsyms")?;
    Ok(symbols.lines().any(|line| line.split(' ').nth(2) == Some("fair_server_init")))
}

/// The threads of the kernel that take turns.
#[derive(Debug, Default)]
pub(crate) struct TurnTakers {
    /// All threads up to this number take turns. `None` before the first look.
    seen: Cell<Option<i32>>,
}

impl TurnTakers {
    /// Makes the existing threads of the kernel take turns. New threads of the kernel do not. Looks
    /// only at those with a higher number than at the last time, because to list all of them in
    /// `/proc` takes a millisecond of an emulated guest.
    ///
    /// # Errors
    /// The process is not root, or `/proc` cannot be read.
    pub fn update(&self) -> io::Result<()> {
        let last = last_number()?;
        match self.seen.replace(Some(last)) {
            Some(seen) if seen <= last => (seen + 1..=last).try_for_each(takes_turns),
            // The first time, or the numbers have begun again.
            _ => fs::read_dir("/proc")?.try_for_each(|entry| {
                let number = entry?.file_name().to_str().and_then(|name| name.parse().ok());
                number.map_or(Ok(()), takes_turns)
            }),
        }
    }
}

/// Returns the number of the last task that was created.
fn last_number() -> io::Result<i32> {
    let text = fs::read_to_string(LOAD)?;
    last_in(&text)
        .ok_or_else(|| io::Error::other(format!("{LOAD} has no number of a task: {text}")))
}

/// Returns the last number of this text of `/proc/loadavg` (proc(5)).
fn last_in(text: &str) -> Option<i32> {
    text.trim_ascii_end().rsplit(' ').next()?.parse().ok()
}

/// Makes an ordinary task take turns. A number without a task is skipped.
fn takes_turns(pid: i32) -> io::Result<()> {
    // SAFETY: a plain number.
    if unsafe { sched_getscheduler(pid) } != SCHED_OTHER || is_late(pid) {
        return Ok(());
    }
    let set = set_priority(pid, TURNS);
    set.or_else(|error| if error.raw_os_error() == Some(ESRCH) { Ok(()) } else { Err(error) })
}

/// Returns true for the thread that runs only when all others wait. It never takes turns.
fn is_late(pid: i32) -> bool {
    let name = LATE_THREAD.strip_suffix(b"\0").unwrap_or(LATE_THREAD);
    fs::read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_ascii_end() == name)
}

/// Checks that a task of a stack exists, and that it takes turns if it has to.
///
/// # Errors
/// The reason, as text for the user.
pub(crate) fn check_thread(pid: u32, takes_turns: bool) -> Result<(), String> {
    task_exists(pid)?;
    // SAFETY: a plain number.
    let policy = i32::try_from(pid).map_or(-1, |pid| unsafe { sched_getscheduler(pid) });
    if takes_turns && policy != SCHED_FIFO {
        return Err(format!(
            "task {pid} of `threads` has its own scheduling policy and does not take turns \
             with the others, so its runs would not repeat"
        ));
    }
    Ok(())
}

/// Runs `work` while the calling thread has a lower priority than all threads that take turns or
/// are held back.
pub(crate) fn behind_all<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    schedule(0, SCHED_OTHER, 0)?;
    let done = work();
    set_priority(0, TURNS)?;
    Ok(done)
}

/// Gives a task (0: the calling thread) this priority among tasks that take turns.
///
/// # Errors
/// The process is not root, or the task has ended (ESRCH).
pub(crate) fn set_priority(pid: i32, priority: i32) -> io::Result<()> {
    schedule(pid, SCHED_FIFO, priority)
}

/// Lets all other tasks run until they wait, including new threads of the kernel that do not take
/// turns yet. The calling thread runs only when no other task can.
///
/// # Errors
/// The process is not root.
pub fn yield_to_others() -> io::Result<()> {
    const TIMES: u32 = 3;
    const PAUSE: Duration = Duration::from_millis(2);
    let mut parameter = sched_param { sched_priority: 0 };
    // SAFETY: a plain number, and the kernel writes one sched_param.
    let policy = unsafe {
        sched_getparam(0, &raw mut parameter);
        sched_getscheduler(0)
    };
    schedule(0, SCHED_IDLE, 0)?;
    if !(policy == SCHED_FIFO && others_finish()) {
        // One task may wake another one.
        (0..TIMES).for_each(|_| thread::sleep(PAUSE));
    }
    schedule(0, policy, parameter.sched_priority)
}

/// Waits until no other task can run, according to the kernel's count. Returns false if some task
/// always can, or without such a count. Needs one processor and tasks that take turns.
fn others_finish() -> bool {
    const LOOKS: u32 = 1000;
    let Ok(load) = File::open(LOAD) else { return false };
    for _ in 0..LOOKS {
        match running(&load) {
            Some(1) => return true,
            Some(_) => thread::yield_now(),
            None => return false,
        }
    }
    false
}

/// Returns the number of tasks that run or can run, including the caller (proc(5), loadavg).
fn running(load: &File) -> Option<u32> {
    let mut text = [0; 64];
    let read = load.read_at(&mut text, 0).ok()?;
    let counts = str::from_utf8(&text[..read]).ok()?.split(' ').nth(3)?;
    counts.split('/').next()?.parse().ok()
}

fn schedule(pid: i32, policy: i32, priority: i32) -> io::Result<()> {
    let parameters = sched_param { sched_priority: priority };
    // SAFETY: the kernel reads one sched_param.
    match unsafe { sched_setscheduler(pid, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_task_has_the_last_number() {
        assert_eq!(last_in("0.00 0.01 0.05 1/80 1234\n"), Some(1234));
        assert_eq!(last_in("0.00 0.01 0.05 1/80\n"), None);
        assert!(last_number().is_ok_and(|number| number > 0));
    }
}
