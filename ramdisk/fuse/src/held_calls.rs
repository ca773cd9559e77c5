//! Calls of programs that a filter of system calls (seccomp_unotify(2)) holds until they are
//! answered here.
//!
//! FUSE does not pass on sync(2) and syncfs(2): they are answered when the files are durable.
//! getrandom(2) is answered with numbers that are the same in each run of a program. Programs make
//! names of temporary files of them.

use std::fs;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS,
    SECCOMP_RET_ALLOW, SYS_getrandom, SYS_seccomp, SYS_sync, SYS_syncfs, prctl, seccomp_notif,
    seccomp_notif_resp, sock_filter, sock_fprog, syscall,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::uio::{RemoteIoVec, process_vm_writev};
use nix::unistd::Pid;

use crate::mappings::Mappings;

const SECCOMP_SET_MODE_FILTER: libc::c_uint = 1;
const SECCOMP_FILTER_FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;
const SECCOMP_RET_USER_NOTIF: u32 = 0x7fc0_0000;

/// The filter: three calls wait for an answer, every other call is made.
const FILTER: [sock_filter; 6] = [
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync as u32, 2, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom as u32, 1, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_syncfs as u32, 0, 1),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0),
];

/// The largest number of bytes of one answer of getrandom(2).
const MOST_NUMBERS: u64 = 1 << 20;

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

nix::ioctl_readwrite!(receive, b'!', 0, seccomp_notif);
nix::ioctl_readwrite!(answer, b'!', 1, seccomp_notif_resp);
nix::ioctl_write_ptr!(is_valid, b'!', 2, u64);

/// Holds the calls of this thread and of the programs that it starts from now on. `numbers` is the
/// place in the sequence of random numbers.
///
/// # Errors
/// The kernel has no such filter.
pub(crate) fn hold(mappings: Mappings, numbers: Arc<AtomicU64>) -> io::Result<()> {
    let program = sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut() };
    // SAFETY: the arguments are plain numbers.
    if unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The thread that answers must not wait for itself, so it starts before the filter.
    let (listener, listens) = channel::<OwnedFd>();
    thread::Builder::new().name("sync-calls".to_owned()).spawn(move || {
        if let Ok(fd) = listens.recv() {
            answer_all(&fd, &mappings, &numbers);
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
fn answer_all(fd: &OwnedFd, mappings: &Mappings, numbers: &AtomicU64) {
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
        let value = match i64::from(call.data.nr) {
            nr if nr == SYS_getrandom => fill(fd, &call, numbers),
            nr => sync(&call, nr == SYS_syncfs, mappings),
        };
        let (val, error) = match value {
            Ok(value) => (value, 0),
            Err(errno) => (0, -(errno as i32)),
        };
        let mut reply = seccomp_notif_resp { id: call.id, val, error, flags: 0 };
        // SAFETY: the argument is a valid answer. It fails if the caller was killed meanwhile.
        unsafe { answer(fd.as_raw_fd(), &mut reply) }.ok();
    }
}

/// Makes files durable.
fn sync(call: &seccomp_notif, is_syncfs: bool, mappings: &Mappings) -> Result<i64, Errno> {
    let mount = is_syncfs.then(|| mount_of(call.pid, call.data.args[0]));
    let (done, wait) = channel();
    mappings.send(Box::new(move |served| {
        served.sync(mount);
        done.send(()).ok();
    }));
    // Without an owner there are no files.
    wait.recv().map_err(|_| Errno::EIO)?;
    Ok(0)
}

/// Writes numbers to the memory of the caller.
fn fill(fd: &OwnedFd, call: &seccomp_notif, numbers: &AtomicU64) -> Result<i64, Errno> {
    let [address, len, ..] = call.data.args;
    let len = len.min(MOST_NUMBERS) as usize;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(mixed(numbers.fetch_add(1, Ordering::Relaxed)).to_le_bytes());
    }
    bytes.truncate(len);
    let pid = Pid::from_raw(call.pid as i32);
    let to = [RemoteIoVec { base: address as usize, len }];
    // If the caller was killed, its number may be that of another process now.
    // SAFETY: the argument is the number of a notification.
    unsafe { is_valid(fd.as_raw_fd(), &call.id) }?;
    let written = process_vm_writev(pid, &[IoSlice::new(&bytes)], &to)?;
    Ok(written as i64)
}

/// Returns a number that looks random (the finaliser of splitmix64).
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the number of the mount that an open file of a process is in (proc_pid_fdinfo(5)).
/// `None` if there is no such file.
fn mount_of(process: u32, fd: u64) -> Option<u64> {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}
