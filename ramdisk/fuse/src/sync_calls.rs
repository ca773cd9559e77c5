//! sync(2) and syncfs(2) of programs, which FUSE does not pass on: a filter of system calls
//! (seccomp_unotify(2)) holds them until the files are durable.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::mpsc::channel;
use std::thread;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS,
    SECCOMP_RET_ALLOW, SYS_seccomp, SYS_sync, SYS_syncfs, prctl, seccomp_notif, seccomp_notif_resp,
    sock_filter, sock_fprog, syscall,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::requests::Requests;

const SECCOMP_SET_MODE_FILTER: libc::c_uint = 1;
const SECCOMP_FILTER_FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;
const SECCOMP_RET_USER_NOTIF: u32 = 0x7fc0_0000;

/// The filter: sync(2) and syncfs(2) wait for an answer, every other call is made.
const FILTER: [sock_filter; 5] = [
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync as u32, 1, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_syncfs as u32, 0, 1),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0),
];

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

nix::ioctl_readwrite!(receive, b'!', 0, seccomp_notif);
nix::ioctl_readwrite!(answer, b'!', 1, seccomp_notif_resp);

/// Holds the calls of this thread and of the programs that it starts from now on.
///
/// # Errors
/// The kernel has no such filter.
pub(crate) fn hold(requests: Requests) -> io::Result<()> {
    let program = sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut() };
    // SAFETY: the arguments are plain numbers.
    if unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The thread that answers must not wait for itself, so it starts before the filter.
    let (listener, listens) = channel::<OwnedFd>();
    thread::Builder::new().name("sync-calls".to_owned()).spawn(move || {
        if let Ok(fd) = listens.recv() {
            answer_all(&fd, &requests);
        }
    })?;
    // SAFETY: the kernel copies the filter, which is static.
    let fd = unsafe {
        syscall(
            SYS_seccomp,
            SECCOMP_SET_MODE_FILTER,
            SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    Errno::result(fd)?;
    // SAFETY: the descriptor was just made, and nothing else holds it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // The receiver waits.
    listener.send(fd).ok();
    Ok(())
}

/// Waits for a call. Returns false if no process has the filter any more.
fn waits(fd: &OwnedFd) -> bool {
    loop {
        let mut waited = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(_) => return false,
            Ok(_) => {
                return waited[0].revents().is_some_and(|is| is.contains(PollFlags::POLLIN));
            }
        }
    }
}

/// Answers calls until no process has the filter any more.
fn answer_all(fd: &OwnedFd, requests: &Requests) {
    while waits(fd) {
        // SAFETY: the type is plain numbers, and the kernel wants zeroes.
        let mut call: seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the argument is a valid notification.
        match unsafe { receive(fd.as_raw_fd(), &mut call) } {
            Ok(_) => {}
            // The caller was killed before its call arrived.
            Err(Errno::EINTR | Errno::ENOENT) => continue,
            Err(_) => return,
        }
        let is_one = i64::from(call.data.nr) == SYS_syncfs;
        let mount = is_one.then(|| mount_of(call.pid, call.data.args[0]));
        let (done, wait) = channel();
        let sent = requests.send(Box::new(move |served| {
            served.sync(mount);
            done.send(()).ok();
        }));
        if sent.is_err() || wait.recv().is_err() {
            return;
        }
        let mut reply = seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 };
        // SAFETY: the argument is a valid answer. It fails if the caller was killed meanwhile.
        unsafe { answer(fd.as_raw_fd(), &mut reply) }.ok();
    }
}

/// Returns the number of the mount that an open file of a process is in (proc_pid_fdinfo(5)). `None`
/// if there is no such file.
fn mount_of(process: u32, fd: u64) -> Option<u64> {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}
