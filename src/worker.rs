//! Workers in child processes of this program: `explode worker PAGE`, with the supervisor on standard input and output.
//!
//! A child has a process group of its own, and ends with this process however that ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use explode_runtime::run::{Body, Exit, Page, Registry, RunError, WorkerEnded, serve};
use explode_vm::MemoryFile;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout};

use crate::output;

/// Serves the supervisor.
pub fn serve_page(registry: &Registry, page: &Path) -> Exit {
    let served = || -> io::Result<()> {
        let page = Page::map(&File::options().read(true).write(true).open(page)?)?;
        let (input, output) =
            (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
        // What a component or a checker reads and prints must not get into what is said to the supervisor.
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(io::stderr().as_fd())?;
        serve(registry, input, File::from(output), Some(&page))
    };
    match served() {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("this worker cannot go on: {error}")),
    }
}

/// Starts a worker.
///
/// # Errors
/// No process can be started.
pub fn spawn() -> Result<Box<dyn Body>, RunError> {
    let started = || -> io::Result<Process> {
        let shared = MemoryFile::new("explode-worker")?;
        let page = Page::create(shared.writer())?;
        let mut command = explode_vm::this_program();
        command
            .arg("worker")
            .arg(shared.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        shared.give(&mut command);
        let mut child = explode_vm::spawn(command, Signal::SIGKILL)?;
        let (reader, writer) = (child.stdout.take(), child.stdin.take());
        let (Some(reader), Some(writer)) = (reader, writer) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        never_block(&writer)?;
        Ok(Process { child, reader, writer, page, ended: None })
    };
    let failed = |error| RunError::Broken(format!("no worker process could be started: {error}"));
    Ok(Box::new(started().map_err(failed)?))
}

/// Writing to a stream that takes nothing more fails from now on.
pub fn never_block(stream: impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(&stream, FcntlArg::F_GETFL)?);
    fcntl(&stream, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// A child process.
struct Process {
    child: Child,
    reader: ChildStdout,
    writer: ChildStdin,
    page: Page,
    ended: Option<WorkerEnded>,
}

impl Process {
    /// Waits so long for the process to end; whatever it has started goes with it.
    fn finish(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let process = Pid::from_raw(self.child.id() as i32);
        let end = Instant::now() + patience;
        // Its number stays its own until it is waited for.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        while Instant::now() < end && waitid(Id::Pid(process), flags)? == WaitStatus::StillAlive {
            std::thread::sleep(Duration::from_millis(1));
        }
        killpg(process, Signal::SIGKILL)?;
        self.child.wait()
    }
}

impl Body for Process {
    fn reader(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    fn page(&self) -> Option<&Page> {
        Some(&self.page)
    }

    fn end(&mut self, patience: Duration) -> WorkerEnded {
        if self.ended.is_none() {
            let message = match self.finish(patience) {
                Ok(status) => words(status),
                Err(error) => format!("the process is gone: {error}"),
            };
            self.ended = Some(WorkerEnded { verdict: None, message });
        }
        self.ended.clone().expect("it was just set")
    }
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal().and_then(|signal| Signal::try_from(signal).ok())) {
        (Some(code), _) => format!("the process ended with exit code {code}"),
        (None, Some(signal)) => format!("the process was ended by {signal}"),
        (None, None) => format!("the process ended: {status}"),
    }
}
