//! A process that frees what waits for the files of a server that was killed.
//!
//! A thread of the server can wait for its own mount, and so can a program that it has forked and
//! not yet started. When the server is killed, such a request has no answer, and the wait does not
//! end: the waiting thread itself holds the connection open. The guard ends all connections
//! (`MNT_FORCE` of umount2(2)), and everything goes away. It holds no file, and does not belong to
//! the group of the server.

use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, chdir, fork, setpgid};

use crate::space::{MOUNTS, parent_id};

/// The signal with which the kernel tells the guard that the server has died.
const SERVER_DIED: Signal = Signal::SIGTERM;

/// The guard of the mounts in the namespaces of a thread. Ends with this value.
pub(crate) struct Guard(Arc<State>);

#[derive(Default)]
struct State {
    /// True if the guard is no longer needed.
    ended: AtomicBool,
    /// The process. `None` before the start.
    process: Mutex<Option<Pid>>,
}

impl Guard {
    /// Starts a guard, and another one whenever it is killed.
    ///
    /// # Errors
    /// No process or thread can be started.
    pub fn start() -> io::Result<Guard> {
        let state = Arc::new(State::default());
        let (started, starts) = channel();
        let watched = Arc::clone(&state);
        // The kernel sends the signal when this thread dies. It does nothing that could delay that.
        thread::Builder::new().name("guard".to_owned()).spawn(move || {
            let first = watched.restart();
            let goes_on = first.is_ok();
            started.send(first).ok();
            while goes_on && watched.wait() && watched.restart().is_ok() {}
        })?;
        starts.recv().map_err(io::Error::other)??;
        Ok(Guard(state))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let process = self.0.process.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.ended.store(true, Ordering::Release);
        // The thread waits for the process, so the number is still that of the guard, or unused.
        process.map(|process| kill(process, SERVER_DIED));
    }
}

impl State {
    /// Starts the process, unless it is no longer needed.
    fn restart(&self) -> io::Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.ended.load(Ordering::Acquire) {
            *process = Some(start()?);
        }
        Ok(())
    }

    /// Waits for the end of the process. Returns true if another one is needed.
    fn wait(&self) -> bool {
        let process = *self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(process) = process else { return false };
        while waitpid(process, None) == Err(Errno::EINTR) {}
        !self.ended.load(Ordering::Acquire)
    }
}

/// Starts the process.
fn start() -> io::Result<Pid> {
    let server = std::process::id();
    let mut signals = SigSet::empty();
    signals.add(SERVER_DIED);
    // The thread keeps the signal blocked, and nothing sends it one.
    signals.thread_block()?;
    // SAFETY: `watch` makes system calls only, and allocates nothing.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => watch(server, &signals),
    }
}

/// Waits until the server has died, and ends all connections.
fn watch(server: u32, signals: &SigSet) -> ! {
    let prepared = setpgid(Pid::from_raw(0), Pid::from_raw(0))
        .and_then(|()| set_pdeathsig(SERVER_DIED))
        .and_then(|()| chdir("/"));
    // If the server died before it was asked for, there is no signal.
    if prepared.is_ok() && parent_id().is_ok_and(|parent| parent == server) {
        // SAFETY: the arguments are numbers. Nothing uses a file any more.
        unsafe { libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) };
        while signals.wait().is_err() {}
    }
    end_connections();
    // SAFETY: the call ends this process.
    unsafe { libc::_exit(0) }
}

/// Ends the connections of all mounts, newest first. Allocates nothing.
fn end_connections() {
    let mut bytes = [0; 8192];
    let mut path = [0; libc::PATH_MAX as usize];
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
    let Ok(folder) = open(MOUNTS, flags, Mode::empty()) else { return };
    loop {
        // SAFETY: the buffer has the size that is passed.
        let len = unsafe {
            libc::syscall(libc::SYS_getdents64, folder.as_raw_fd(), bytes.as_mut_ptr(), bytes.len())
        };
        let Some(mut entries) = usize::try_from(len).ok().and_then(|len| bytes.get(..len)) else {
            return;
        };
        if entries.is_empty() {
            return;
        }
        while let Some((name, rest)) = first_name(entries) {
            entries = rest;
            end_connections_at(name, &mut path);
        }
    }
}

/// The place of the length of an entry of a directory, and of its name (getdents64(2)).
const ENTRY_LEN: usize = 16;
const ENTRY_NAME: usize = 19;

/// Returns the name of the first entry, and the entries after it.
fn first_name(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = entries.get(ENTRY_LEN..ENTRY_LEN + 2)?;
    let len = usize::from(u16::from_ne_bytes([len[0], len[1]]));
    let name = entries.get(ENTRY_NAME..len)?.split(|byte| *byte == 0).next()?;
    Some((name, &entries[len..]))
}

/// Ends the connections of the mounts with a name.
fn end_connections_at(name: &[u8], path: &mut [u8]) {
    let parts = MOUNTS.as_bytes().iter().chain(b"/").chain(name).chain([&0]);
    if name.starts_with(b".") || MOUNTS.len() + name.len() + 2 > path.len() {
        return;
    }
    for (to, from) in path.iter_mut().zip(parts) {
        *to = *from;
    }
    let flags = libc::MNT_FORCE | libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW;
    // SAFETY: the path ends with a NUL.
    while unsafe { libc::umount2(path.as_ptr().cast(), flags) } == 0 {}
}
