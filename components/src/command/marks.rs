//! `explode-mark crash NAME`: a program that a command runs asks for crash checks at this very
//! moment (EX-66).
//!
//! The tool is a script on the command's PATH. It writes the name into one pipe with a name, and
//! waits for a line in the other, so the program goes on when explode has heard. The component that
//! runs the command listens until it ends: by [`Marks::wait`].
//!
//! This is for commands in process. On a kernel the tool is another one (`explode_kernel::TOOLS`):
//! EKM hears of it.

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

/// How the tool goes on after [`MARK_REQUEST`].
const ASK: &str = r#"folder=${0%/*}
echo "$2" >"$folder/asked" && read -r heard <"$folder/heard"
"#;

/// The tool and its pipes, in a folder of their own.
pub struct Marks {
    folder: PrivateFolder,
    asked: File,
    heard: File,
}

impl Marks {
    /// Makes them.
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
        let (asked, heard) = (pipe("asked")?, pipe("heard")?);
        let tool = folder.path().join("explode-mark");
        fs::write(&tool, format!("{MARK_REQUEST}{ASK}"))?;
        fs::set_permissions(tool, fs::Permissions::from_mode(0o700))?;
        Ok(Marks { folder, asked, heard })
    }

    /// Where the tool is: a folder for the PATH.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a command, waits for its end, and tells `hear` the name of each request meanwhile.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn wait(
        &mut self,
        command: &mut Command,
        hear: &mut dyn FnMut(&str),
    ) -> io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        let process = process(&child)?;
        loop {
            let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut waited = [wanted(self.asked.as_fd()), wanted(process.as_fd())];
            match poll(&mut waited, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [asked, ended] = waited.map(|fd| fd.any().unwrap_or(false));
            if asked {
                self.answer(hear)?;
            } else if ended {
                return child.wait();
            }
        }
    }

    fn answer(&mut self, hear: &mut dyn FnMut(&str)) -> io::Result<()> {
        let mut bytes = [0; 4096];
        // A line is written at once: pipe(7), PIPE_BUF.
        let length = self.asked.read(&mut bytes)?;
        for name in String::from_utf8_lossy(&bytes[..length]).lines() {
            hear(name);
            // What is left unread was for a program that was killed.
            while self.heard.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
            self.heard.write_all(b"yes\n")?;
        }
        Ok(())
    }
}

/// Becomes readable when the child ends (pidfd_open(2)).
fn process(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: two numbers; a descriptor of our own comes back.
    let fd = unsafe { syscall(SYS_pidfd_open, child.id(), 0) };
    Errno::result(fd)?;
    // SAFETY: it was just made, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
