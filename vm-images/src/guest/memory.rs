//! Files in memory that a child process receives by their descriptor, so that nothing is left on
//! any disk.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use nix::fcntl::{F_SETFD, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A file without a name.
#[derive(Debug)]
pub struct MemoryFile {
    file: Arc<File>,
}

impl MemoryFile {
    /// Makes an empty file. `name` is only visible in /proc.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(name: &str) -> io::Result<Self> {
        Ok(Self { file: Arc::new(File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?)) })
    }

    /// Returns the file for writing.
    pub fn writer(&self) -> &File {
        &self.file
    }

    /// Returns the path by which a command finds a file that was given to it.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// Gives the file to a command that is not started yet.
    pub fn give(&self, command: &mut Command) {
        give(command, Arc::clone(&self.file));
    }

    /// Returns the contents of the file, whichever process wrote them.
    pub fn text(&self) -> String {
        let len = self.file.metadata().map_or(0, |data| data.len());
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        let mut read = 0;
        while read < bytes.len() {
            match self.file.read_at(&mut bytes[read..], read as u64) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }
}

/// Gives a descriptor to a command that is not started yet. The command finds it under the same
/// number.
pub(super) fn give(command: &mut Command, descriptor: impl AsFd + Send + Sync + 'static) {
    let keep_open = move || {
        fcntl(&descriptor, F_SETFD(FdFlag::empty()))?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes the system call fcntl, on a descriptor
    // that it keeps open.
    unsafe { command.pre_exec(keep_open) };
}

/// Returns the last lines of a text, without carriage returns and other control characters.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let clean: String =
        text.chars().filter(|&c| c == '\n' || c == '\t' || !c.is_control()).collect();
    let all: Vec<_> = clean.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
