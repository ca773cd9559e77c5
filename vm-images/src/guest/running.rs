//! A running guest: QEMU as a child process that ends with this process, and a stream to the agent
//! in it.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use nix::fcntl::{F_SETPIPE_SZ, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::json;

use super::memory::{self, MemoryFile};
use super::monitor::Monitor;
use super::snapshot::{self, Beginning, Snapshot, Unsaved};
use super::spec::GuestSpec;
use super::{initrd, qemu, shared};
use crate::base::{ErrorContext, HostClock, Result, VmError, kept_waiting, spawn};

/// The number of console lines in an error.
const TAIL_LINES: usize = 40;

/// The interval at which `is_cancelled` is checked while a guest boots.
const LOOK: Duration = Duration::from_millis(100);

/// The requested size of the stream's pipes in bytes. The system may allow less.
const PIPE_BYTES: i32 = 1 << 20;

/// The stream of what the agent writes to the port `/dev/virtio-ports/explode`.
pub type GuestReader = PipeReader;

/// The stream of what the agent reads from that port. Bytes written before the agent opens the port
/// wait.
pub type GuestWriter = ChildStdin;

/// A running guest. It is killed when it is dropped or this process ends.
#[derive(Debug)]
pub struct Guest {
    qemu: Child,
    stream: Option<(GuestReader, GuestWriter)>,
    console: MemoryFile,
    messages: MemoryFile,
    shared: Option<MemoryFile>,
}

impl Guest {
    /// Starts a guest and waits for the first byte of its agent. The byte stays in the stream.
    ///
    /// # Errors
    /// [`VmError::Missing`] without QEMU; [`VmError::Broken`] with the end of the console if the
    /// guest ends or is silent.
    pub fn boot(spec: &GuestSpec) -> Result<Self> {
        Self::boot_unless(spec, &|| false)
    }

    /// Boots a guest like [`Guest::boot`], but gives up as soon as `is_cancelled` returns true.
    ///
    /// # Errors
    /// The errors of [`Guest::boot`]; [`VmError::Broken`] if the boot was given up.
    pub fn boot_unless(spec: &GuestSpec, is_cancelled: &dyn Fn() -> bool) -> Result<Self> {
        match snapshot::beginning(spec, is_cancelled)? {
            Beginning::Boot => Self::boot_anew(spec, is_cancelled),
            Beginning::Save(unsaved) => Self::boot_and_save(spec, unsaved, is_cancelled),
            Beginning::Restore(snapshot) => match Self::restore(spec, &snapshot) {
                Ok(guest) => Ok(guest),
                Err(_) => {
                    snapshot.remove();
                    Self::boot_anew(spec, is_cancelled)
                }
            },
        }
    }

    fn boot_anew(spec: &GuestSpec, is_cancelled: &dyn Fn() -> bool) -> Result<Self> {
        let mut guest = Self::start(spec)?;
        guest.wait_for_agent(spec.boot_deadline, is_cancelled)?;
        Ok(guest)
    }

    /// Boots a guest and makes a snapshot when its agent has answered.
    fn boot_and_save(
        spec: &GuestSpec,
        mut unsaved: Unsaved,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let mut qemu = command(spec)?;
        let mut monitor = Monitor::add(&mut qemu).doing("prepare QEMU's monitor")?;
        let mut guest = Self::start_command(spec, qemu, &[])?;
        guest.wait_for_agent(spec.boot_deadline, is_cancelled)?;
        // Without its snapshot the next guest boots as this one did.
        let Some((reader, _)) = guest.stream.as_ref().filter(|_| monitor.has_greeted()) else {
            return Ok(guest);
        };
        let written = monitor.begin().and_then(|()| unsaved.write(&mut monitor, reader));
        monitor.ask("cont", json!({})).doing("let the guest run on")?;
        // The result only says whether the next guest boots as well.
        let _ = written.and_then(|()| unsaved.finish());
        Ok(guest)
    }

    /// Starts a guest from a snapshot, and waits until it runs.
    fn restore(spec: &GuestSpec, snapshot: &Snapshot) -> Result<Self> {
        let mut qemu = qemu::command(spec, None)?;
        let mut monitor = Monitor::add(&mut qemu).doing("prepare QEMU's monitor")?;
        snapshot.give(&mut qemu);
        let guest = Self::start_command(spec, qemu, &snapshot.answer)?;
        monitor.begin().doing("restore the guest")?;
        let clock = HostClock::of(guest.id());
        while clock.elapsed() < spec.boot_deadline {
            let state = monitor.ask("query-status", json!({})).doing("restore the guest")?;
            if state["running"] == true {
                return Ok(guest);
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err(guest.broken("the guest does not run on from its snapshot".to_owned()))
    }

    /// Starts a guest without waiting for it.
    pub(super) fn start(spec: &GuestSpec) -> Result<Self> {
        Self::start_command(spec, command(spec)?, &[])
    }

    /// Starts QEMU. `answer` is the beginning of the stream.
    fn start_command(spec: &GuestSpec, mut qemu: Command, answer: &[u8]) -> Result<Self> {
        let console = MemoryFile::new("console").doing("make a file in memory")?;
        let messages = MemoryFile::new("qemu").doing("make a file in memory")?;
        let bytes = Some(spec.shared_bytes).filter(|bytes| *bytes > 0);
        let shared = bytes.map(|bytes| shared::add(&mut qemu, bytes)).transpose()?;
        console.give(&mut qemu);
        let (reader, output) = stream(answer).doing("make the guest's stream")?;
        qemu.args([
            "-chardev",
            &format!("file,id=console,path={}", console.path()),
            "-serial",
            "chardev:console",
        ])
        .args(["-chardev", "stdio,id=stream,signal=off", "-device", "virtio-serial-pci"])
        .args(["-device", "virtserialport,chardev=stream,name=explode"])
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(messages.writer().try_clone().doing("prepare QEMU's messages")?)
        .process_group(0);
        let mut qemu = spawn(qemu, Signal::SIGKILL).doing("start QEMU")?;
        let stream = qemu.stdin.take().map(|writer| (reader, writer));
        if let Some((_, writer)) = &stream {
            enlarge(writer);
        }
        Ok(Self { qemu, stream, console, messages, shared })
    }

    fn wait_for_agent(
        &mut self,
        deadline: Duration,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let (reader, _) =
            self.stream.as_ref().ok_or_else(|| VmError::broken("the guest's stream was taken"))?;
        let clock = HostClock::of(self.qemu.id());
        loop {
            let mut fds = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
            let left = deadline.saturating_sub(clock.elapsed());
            let timeout = PollTimeout::try_from(left.min(LOOK)).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, timeout) {
                _ if is_cancelled() => {
                    return Err(VmError::broken("the guest was abandoned before it had booted"));
                }
                Ok(0) if clock.elapsed() < deadline => {}
                Ok(0) => {
                    let text = format!(
                        "the guest's agent has not answered within {} s",
                        deadline.as_secs_f32()
                    );
                    return Err(self.broken(text));
                }
                Ok(_)
                    if fds[0]
                        .revents()
                        .is_some_and(|events| events.contains(PollFlags::POLLIN)) =>
                {
                    return Ok(());
                }
                Ok(_) => {
                    let status = self.qemu.wait().doing("wait for QEMU")?;
                    return Err(self.broken(format!(
                        "the guest ended before its agent answered (QEMU: {status})"
                    )));
                }
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error).doing("wait for the guest"),
            }
        }
    }

    fn broken(&self, text: String) -> VmError {
        let messages = self.messages.text();
        let mut tail = self.console_tail(TAIL_LINES);
        if !messages.trim().is_empty() {
            tail = format!("{}\n{tail}", memory::tail(&messages, TAIL_LINES));
        }
        VmError::Broken { text, tail }
    }

    /// Returns the two directions of the stream. `None` on the second call.
    pub fn take_stream(&mut self) -> Option<(GuestReader, GuestWriter)> {
        self.stream.take()
    }

    /// Returns the memory that the guest shares with the host; `None` if its specification has
    /// none.
    #[must_use]
    pub fn shared(&self) -> Option<&File> {
        self.shared.as_ref().map(MemoryFile::writer)
    }

    /// Returns everything that the guest has printed on its console so far.
    #[must_use]
    pub fn console(&self) -> String {
        self.console.text()
    }

    /// Returns the last lines of the console.
    #[must_use]
    pub fn console_tail(&self, lines: usize) -> String {
        memory::tail(&self.console(), lines)
    }

    /// Returns the process number of QEMU.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.qemu.id()
    }

    /// Returns true if the guest has ended: by a panic, by a power-off, or because it was killed.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.qemu.try_wait(), Ok(None))
    }

    /// Returns the time for which other processes have kept the guest from running
    /// ([`kept_waiting`]).
    #[must_use]
    pub fn kept_waiting(&self) -> Duration {
        kept_waiting(self.qemu.id())
    }

    /// Waits until the guest ends by itself. `None` if it does not end in time. Time in which other
    /// processes keep it from running does not count.
    ///
    /// # Errors
    /// [`VmError::Broken`] if QEMU cannot be waited for.
    pub fn wait(&mut self, deadline: Duration) -> Result<Option<ExitStatus>> {
        let clock = HostClock::of(self.qemu.id());
        loop {
            if let Some(status) = self.qemu.try_wait().doing("wait for QEMU")? {
                return Ok(Some(status));
            }
            if clock.elapsed() >= deadline {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the guest at once, like a loss of power, and everything that QEMU has started.
    pub fn kill(&mut self) {
        if !self.has_ended() {
            // QEMU leads its own process group. The call fails only if QEMU ends at this moment.
            let _ = killpg(Pid::from_raw(self.qemu.id().cast_signed()), Signal::SIGKILL);
        }
        // The call fails only if QEMU was already waited for.
        let _ = self.qemu.wait();
    }
}

/// Returns the command of a guest that boots.
fn command(spec: &GuestSpec) -> Result<Command> {
    qemu::command(spec, Some(&initrd::pack(spec)?))
}

/// Returns the ends of a pipe that holds these bytes.
fn stream(answer: &[u8]) -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, mut writer) = io::pipe()?;
    enlarge(&writer);
    writer.write_all(answer)?;
    Ok((reader, writer))
}

/// Asks for a larger pipe. That is only faster, so errors are ignored.
fn enlarge(pipe: impl AsFd) {
    let _ = fcntl(pipe, F_SETPIPE_SZ(PIPE_BYTES));
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
    }
}
