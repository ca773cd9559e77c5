//! `explode-mark crash NAME`: a program that a command runs requests crash checks at this moment
//! (EX-66). `explode-mark done NAME` also says that from now on something is promised.
//!
//! The tool is a script on the command's PATH. It writes the name into one named pipe and waits for
//! a line in another, so the program continues when explode has received the request. The component
//! that runs the command listens in [`Marks::wait`] until the command ends.
//!
//! This is for commands in process. On a kernel the tool is `explode_kernel::TOOLS`, whose requests
//! EKM receives.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use explode_kernel::MARK_REQUEST;
use libc::{O_NONBLOCK, SYS_pidfd_open, syscall};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::private::PrivateFolder;

/// The beginning of the tool's script. [`MARK_REQUEST`] knows the first word only.
const BEGIN: &str = r#"#!/bin/sh
word=$1
[ "$1" != done ] || { shift; set -- crash "$@"; }
"#;

/// The rest of the tool's script after [`MARK_REQUEST`].
const SEND: &str = r#"folder=${0%/*}
echo "$word $2" >"$folder/asked" && read -r heard <"$folder/heard"
"#;

/// Returns the script of the tool.
pub(super) fn tool() -> String {
    format!("{BEGIN}{MARK_REQUEST}{SEND}")
}

/// A request of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkLine<'l> {
    /// Crash checks at this moment.
    Crash(&'l str),
    /// From now on this is promised. Crash checks at this moment.
    Done(&'l str),
}

impl MarkLine<'_> {
    /// Reads a line of the tool.
    pub(super) fn of(line: &str) -> MarkLine<'_> {
        match line.split_once(' ') {
            Some(("done", name)) => MarkLine::Done(name),
            Some((_, name)) => MarkLine::Crash(name),
            None => MarkLine::Crash(line),
        }
    }
}

/// The tool and its pipes, in a private folder.
pub struct Marks {
    folder: PrivateFolder,
    requests: File,
    answers: File,
}

impl Marks {
    /// Makes the tool and its pipes.
    ///
    /// # Errors
    /// The temporary folder cannot be written.
    pub fn new() -> io::Result<Marks> {
        let folder = PrivateFolder::new()?;
        let pipe = |name: &str| -> io::Result<File> {
            let path = folder.path().join(name);
            mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
            // Both ends are open here, so opening never blocks.
            OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(path)
        };
        let (requests, answers) = (pipe("asked")?, pipe("heard")?);
        let tool = folder.path().join("explode-mark");
        fs::write(&tool, self::tool())?;
        fs::set_permissions(tool, fs::Permissions::from_mode(0o700))?;
        Ok(Marks { folder, requests, answers })
    }

    /// Returns the folder of the tool, for the PATH.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a command and waits for its end. Calls `receive` with each request meanwhile.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn wait(
        &mut self,
        command: &mut Command,
        receive: &mut dyn FnMut(MarkLine<'_>),
    ) -> io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        let process = process(&child)?;
        loop {
            let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut waited = [wanted(self.requests.as_fd()), wanted(process.as_fd())];
            match poll(&mut waited, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [has_request, ended] = waited.map(|fd| fd.any().unwrap_or(false));
            if has_request {
                self.answer(receive)?;
            } else if ended {
                return child.wait();
            }
        }
    }

    fn answer(&mut self, receive: &mut dyn FnMut(MarkLine<'_>)) -> io::Result<()> {
        let mut bytes = [0; 4096];
        // A line arrives as a whole (pipe(7), PIPE_BUF).
        let length = self.requests.read(&mut bytes)?;
        for line in String::from_utf8_lossy(&bytes[..length]).lines() {
            receive(MarkLine::of(line));
            // Unread lines were for a program that was killed.
            while self.answers.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
            self.answers.write_all(b"yes\n")?;
        }
        Ok(())
    }
}

/// Returns a descriptor that becomes readable when the child ends (pidfd_open(2)).
fn process(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: the arguments are two numbers; the call returns a new descriptor.
    let fd = unsafe { syscall(SYS_pidfd_open, child.id(), 0) };
    Errno::result(fd)?;
    // SAFETY: the descriptor was just made, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
