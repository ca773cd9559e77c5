//! Workers in child processes of this program: `explode worker PAGE`, with the supervisor on
//! standard input and output.
//!
//! A child has its own process group. It ends with this process in every case, together with all
//! processes that it started and that stayed in its group. Its output goes to standard error. If a
//! progress line is on the same terminal, this process writes the output above that line.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use explode_components::command::{ProgramRoot, set_program_root, sweep};
use explode_kernel::AllBackends;
use explode_runtime::base::{BrokenKind, Exit, RunError};
use explode_runtime::plan::Registry;
use explode_runtime::worker::{StepPage, Transport, TransportEnd, serve};
use explode_vm::MemoryFile;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, killpg, sigaction};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getpgrp, getpid};

use crate::diagnostics::{Lines, OfWorker};
use crate::{output, progress_line};

/// The time for which a worker's output is still read after its end. A process that the worker
/// started outside its group may keep the pipe open.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The signal that a worker gets when its supervisor dies. Its default action ends the worker,
/// which is enough until the handler is installed, because the worker has started nothing before.
const ORPHANED: Signal = Signal::SIGUSR2;

extern "C" fn end_group(_signal: i32) {
    // SAFETY: kill(2) is async-signal-safe, and takes plain numbers; 0 is the group of the caller.
    unsafe { libc::kill(0, libc::SIGKILL) };
}

/// Installs the handler that ends this process's group when its supervisor dies. Does nothing if
/// the process does not lead a group.
fn end_as_orphan() -> io::Result<()> {
    if getpgrp() == getpid() {
        let action =
            SigAction::new(SigHandler::Handler(end_group), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler only calls kill(2).
        unsafe { sigaction(ORPHANED, &action) }?;
    }
    Ok(())
}

/// Serves the supervisor in this process until its stream closes.
pub fn serve_page(registry: &Registry, page: &Path, root: Option<ProgramRoot>) -> Exit {
    root.into_iter().for_each(set_program_root);
    let served = || -> io::Result<()> {
        end_as_orphan()?;
        let page = StepPage::map(&File::options().read(true).write(true).open(page)?)?;
        let (input, output) =
            (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
        // The input and output of components and checkers must not mix with the messages to the
        // supervisor.
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(io::stderr().as_fd())?;
        let diagnostics = OfWorker::new(Lines::StandardError);
        serve(registry, &AllBackends, input, &mut File::from(output), Some(&page), &diagnostics)
    };
    match served() {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("this worker cannot continue: {error}")),
    }
}

/// Starts a worker, whose commands on simulated files see this root. Calls `afterwards` once it has
/// ended.
///
/// # Errors
/// The process cannot be started.
pub fn spawn(root: Option<&ProgramRoot>, afterwards: fn()) -> Result<Box<dyn Transport>, RunError> {
    let started = || -> io::Result<ChildTransport> {
        let shared = MemoryFile::new("explode-worker")?;
        let page = StepPage::create(shared.writer())?;
        let mut command = explode_vm::this_program();
        command
            .arg("worker")
            .arg(shared.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(ProgramRoot { folder, packages }) = root {
            command.arg("--root").arg(folder);
            command
                .args(packages.iter().map(|(name, version)| format!("--package={name}={version}")));
        }
        shared.give(&mut command);
        let mut child = explode_vm::spawn(command, ORPHANED)?;
        let (reader, writer) = (child.stdout.take(), child.stdin.take());
        let (Some(reader), Some(writer)) = (reader, writer) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        never_block(&writer)?;
        let printed = child.stderr.take().map(|printed| thread::spawn(|| write_above(printed)));
        Ok(ChildTransport { child, reader, writer, page, printed, afterwards, ended: None })
    };
    let failed = |error| {
        RunError::from(
            BrokenKind::Worker.of(format_args!("no worker process could be started: {error}")),
        )
    };
    Ok(Box::new(started().map_err(failed)?))
}

/// Writes each line of a worker's output above the progress line.
fn write_above(printed: ChildStderr) {
    let mut printed = BufReader::new(printed);
    let mut line = Vec::new();
    while printed.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        progress_line::write_above(&line);
        line.clear();
    }
}

/// Makes writes to a stream fail when it is full.
pub fn never_block(stream: impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(&stream, FcntlArg::F_GETFL)?);
    fcntl(&stream, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// A child process.
struct ChildTransport {
    child: Child,
    reader: ChildStdout,
    writer: ChildStdin,
    page: StepPage,
    /// The thread that passes on the child's output.
    printed: Option<JoinHandle<()>>,
    afterwards: fn(),
    ended: Option<TransportEnd>,
}

impl ChildTransport {
    /// Waits at most `patience` for the process to end, then kills its whole group.
    fn finish(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let process = Pid::from_raw(self.child.id() as i32);
        let end = Instant::now() + patience;
        // With WNOWAIT the process keeps its number until `wait`.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        while Instant::now() < end && waitid(Id::Pid(process), flags)? == WaitStatus::StillAlive {
            thread::sleep(Duration::from_millis(1));
        }
        killpg(process, Signal::SIGKILL)?;
        let status = self.child.wait();
        // A killed worker leaves its private folders behind.
        sweep();
        let end = Instant::now() + LAST_LINES;
        while Instant::now() < end
            && self.printed.as_ref().is_some_and(|printed| !printed.is_finished())
        {
            thread::sleep(Duration::from_millis(1));
        }
        status
    }
}

impl Transport for ChildTransport {
    fn reader(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    fn page(&self) -> Option<&StepPage> {
        Some(&self.page)
    }

    fn kept_waiting(&self) -> Duration {
        explode_vm::kept_waiting(self.child.id())
    }

    fn end(&mut self, patience: Duration) -> TransportEnd {
        if self.ended.is_none() {
            let message = match self.finish(patience) {
                Ok(status) => words(status),
                Err(error) => format!("the process is gone: {error}"),
            };
            (self.afterwards)();
            self.ended = Some(TransportEnd { verdict: None, message, killed_externally: false });
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
