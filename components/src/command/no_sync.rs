//! Suppresses sync(2) in programs that repair a crash disk, because the call would also write back
//! the live file system.
//!
//! Such a program's own device is flushed when it is closed. A seccomp(2) filter makes the call
//! return without effect. The programs inherit it from the thread that starts them. Installing it
//! between fork and exec would need a real fork, which copies the page tables of everything that
//! this process has mapped, including the disks. posix_spawn(3) copies none.

use std::cell::Cell;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP,
    SECCOMP_MODE_FILTER, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SYS_sync, prctl, sock_filter,
    sock_fprog,
};

/// The filter: sync(2) returns 0 without being made, every other call is made.
const FILTER: [sock_filter; 4] = [
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync as u32, 0, 1),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_ERRNO, 0, 0),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0),
];

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

/// A command, and the channel to the caller that waits for its end.
type SyncFilter = (Command, Sender<io::Result<ExitStatus>>);

/// Runs a command whose calls of sync(2) do nothing, and waits for it.
pub fn run_without_sync(command: Command) -> io::Result<ExitStatus> {
    static THREAD: LazyLock<Mutex<Sender<SyncFilter>>> =
        LazyLock::new(|| Mutex::new(start_thread()));
    let (status, ran) = channel();
    let sent = THREAD.lock().unwrap_or_else(PoisonError::into_inner).send((command, status));
    sent.ok().and_then(|()| ran.recv().ok()).expect("the thread is there as long as the process")
}

fn start_thread() -> Sender<SyncFilter> {
    let (jobs, waiting) = channel::<SyncFilter>();
    thread::spawn(move || {
        for (mut command, status) in waiting {
            // The caller waits for the result.
            status.send(forget_sync().and_then(|()| command.status())).ok();
        }
    });
    jobs
}

/// Makes sync(2) do nothing in the calling thread and in what it starts, from now on.
pub fn forget_sync() -> io::Result<()> {
    thread_local! {
        static FORGOTTEN: Cell<bool> = const { Cell::new(false) };
    }
    if !FORGOTTEN.get() {
        install()?;
        FORGOTTEN.set(true);
    }
    Ok(())
}

fn install() -> io::Result<()> {
    let program = sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut() };
    // SAFETY: the arguments are plain numbers.
    let privileges = unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel copies the filter, which is static, and does not change it.
    let filter = unsafe { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) };
    if privileges != 0 || filter != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_sync_runs_on() {
        for _ in 0..2 {
            let status = run_without_sync(Command::new("sync")).expect("sync(1) is there");
            assert!(status.success());
        }
    }
}
