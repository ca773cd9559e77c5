//! QEMU's monitor (QMP): commands and answers in lines of JSON (QEMU, docs/interop/qmp-spec.txt).

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IoSlice};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use serde_json::{Value, json};

use super::memory::give;

/// The time that QEMU may take for an answer. On a busy machine it reads a large snapshot before it
/// answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// The host's end of the monitor of one QEMU.
#[derive(Debug)]
pub(super) struct Monitor {
    reader: BufReader<UnixStream>,
}

impl Monitor {
    /// Gives a monitor to a QEMU that is not started yet.
    pub(super) fn add(qemu: &mut Command) -> io::Result<Monitor> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let socket = format!("socket,id=monitor,fd={}", theirs.as_raw_fd());
        give(qemu, theirs);
        qemu.args(["-chardev", &socket, "-mon", "chardev=monitor,mode=control"]);
        Ok(Monitor { reader: BufReader::new(ours) })
    }

    /// Returns true if QEMU has written its greeting, which it does when it starts.
    pub(super) fn has_greeted(&self) -> bool {
        let mut waiting = [PollFd::new(self.reader.get_ref().as_fd(), PollFlags::POLLIN)];
        poll(&mut waiting, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Ends the negotiation that precedes all commands.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.ask("qmp_capabilities", json!({})).map(drop)
    }

    /// Executes a command and returns its result.
    pub(super) fn ask(&mut self, command: &str, arguments: Value) -> io::Result<Value> {
        self.send(&json!({"execute": command, "arguments": arguments}), &[])?;
        self.answer()
    }

    /// Gives QEMU a file under a name, for commands that take one.
    pub(super) fn give_file(&mut self, name: &str, file: &File) -> io::Result<()> {
        let command = json!({"execute": "getfd", "arguments": {"fdname": name}});
        self.send(&command, &[ControlMessage::ScmRights(&[file.as_raw_fd()])])?;
        self.answer().map(drop)
    }

    fn send(&self, command: &Value, control: &[ControlMessage<'_>]) -> io::Result<()> {
        let line = format!("{command}\n");
        // A command is shorter than the buffer of an empty socket, so it is sent as a whole.
        let parts = [IoSlice::new(line.as_bytes())];
        let socket = self.reader.get_ref().as_raw_fd();
        sendmsg::<()>(socket, &parts, control, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }

    /// Reads lines up to the answer. Events and the greeting are skipped.
    fn answer(&mut self) -> io::Result<Value> {
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "QEMU has ended"));
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("QEMU refuses a command: {error}")));
            }
            if let Some(result) = answer.get_mut("return") {
                return Ok(result.take());
            }
        }
    }
}
