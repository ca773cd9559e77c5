//! Starts child processes that end with this process, however it ends.
//!
//! The kernel can send a child a signal when its parent dies. "Parent" means the thread that
//! started it, so one thread, which lives as long as the process, starts all such children.

use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use nix::sys::prctl;
use nix::sys::signal::Signal;

type Job = (Command, Sender<io::Result<Child>>);

static STARTER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Starts the command. When this process dies for any reason, the child receives the signal.
///
/// # Errors
/// The errors of [`Command::spawn`].
pub fn spawn(mut command: Command, at_death: Signal) -> io::Result<Child> {
    let parent = std::process::id();
    let prepare = move || {
        prctl::set_pdeathsig(at_death)?;
        // If this process died before that call, the child receives no signal.
        if parent_id() != parent {
            Err(io::Error::from(io::ErrorKind::NotConnected))
        } else {
            Ok(())
        }
    };
    // SAFETY: between fork and exec the closure only makes the system calls prctl and getppid,
    // which are async-signal-safe; it does not allocate (an error kind needs no allocation) and
    // takes no lock.
    unsafe { command.pre_exec(prepare) };
    let (answer, result) = mpsc::channel();
    starter()?.send((command, answer)).map_err(io::Error::other)?;
    result.recv().map_err(io::Error::other)?
}

fn starter() -> io::Result<Sender<Job>> {
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*starter {
        return Ok(sender.clone());
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    thread::Builder::new().name("starter".into()).spawn(move || {
        for (mut command, answer) in jobs {
            // If the caller no longer waits, the child is dropped and ends with this process.
            let _ = answer.send(command.spawn());
        }
    })?;
    *starter = Some(sender.clone());
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    const ROLE: &str = "EXPLODE_TEST_ROLE";

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("600");
        command
    }

    fn alive(process: u32) -> bool {
        Path::new(&format!("/proc/{process}/exe")).exists()
    }

    #[test]
    fn a_child_outlives_the_thread_that_started_it() {
        let mut child =
            thread::spawn(|| spawn(sleeper(), Signal::SIGKILL)).join().unwrap().unwrap();
        thread::sleep(Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The process that the next test kills. It is not a test itself.
    #[test]
    #[allow(clippy::print_stdout, reason = "that is how it tells the number of its child")]
    fn parent() {
        if std::env::var_os(ROLE).is_none() {
            return;
        }
        let mut child = spawn(sleeper(), Signal::SIGKILL).unwrap();
        println!("child {}", child.id());
        child.wait().unwrap();
    }

    #[test]
    fn a_child_dies_with_a_killed_parent() {
        let mut parent = Command::new("/proc/self/exe")
            .args(["--exact", "base::spawn::tests::parent", "--nocapture"])
            .env(ROLE, "parent")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines().map(Result::unwrap);
        let child = lines.find_map(|line| line.split_once("child ")?.1.parse().ok()).unwrap();
        assert!(alive(child));
        parent.kill().unwrap();
        parent.wait().unwrap();
        let start = Instant::now();
        while alive(child) {
            assert!(start.elapsed() < Duration::from_secs(10), "process {child} lives on");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
