//! Keeps sync(2) from programs that repair a crash disk: it would write back the file system that is driven beside it, too.
//!
//! Such a program's own device is flushed when it is closed; the call returns, and does nothing (seccomp(2)).

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP,
    SECCOMP_MODE_FILTER, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SYS_sync, prctl, sock_filter, sock_fprog,
};

/// If the number of the call is that of sync(2), return 0 without making it; else make it.
const FILTER: [sock_filter; 4] = [
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
    instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync as u32, 0, 1),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_ERRNO, 0, 0),
    instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0),
];

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

/// The command, whose calls of sync(2) do nothing.
pub fn without_sync(command: &mut Command) -> &mut Command {
    let install = || {
        let program = sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut() };
        // SAFETY: plain numbers.
        let privileges = unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: the kernel copies the filter, which is static, and does not change it.
        let filter = unsafe { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) };
        if privileges != 0 || filter != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec it makes two system calls, and nothing else.
    unsafe { command.pre_exec(install) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_sync_runs_on() {
        let status = without_sync(Command::new("sync").env_clear()).status().expect("sync(1) is there");
        assert!(status.success());
    }
}
