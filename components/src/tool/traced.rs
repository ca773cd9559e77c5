//! Starts a program that is traced by its starter and stops at a filter's calls
//! ([`super::determinism`]).
//!
//! Like posix_spawn(3), the new process shares the starter's memory until it runs the program
//! (`CLONE_VM`, `CLONE_VFORK`). A fork would copy the page tables of everything that this process
//! has mapped, such as disks and the kernel's log. That takes longer than most programs run.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::Command;
use std::ptr::null;

use libc::{
    _exit, CLONE_VFORK, CLONE_VM, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PTRACE_TRACEME,
    SECCOMP_MODE_FILTER, SIG_DFL, SIG_SETMASK, SIGCHLD, SIGPIPE, c_char, c_int, c_void, clone,
    dup2, execve, prctl, ptrace, sigemptyset, signal, sigprocmask, sigset_t, sock_filter,
    sock_fprog,
};
use nix::errno::Errno;
use nix::unistd::Pid;

/// The size in bytes of the stack on which the new process runs until it runs the program.
const STACK: usize = 64 << 10;

/// A program to start.
pub(super) struct TracedProgram {
    path: CString,
    arguments: Vec<CString>,
    /// The variables as `NAME=VALUE`.
    environment: Vec<CString>,
    /// Standard input, output and error.
    files: [OwnedFd; 3],
}

/// The parameters of the new process.
struct Start {
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    files: [c_int; 3],
    filter: sock_fprog,
    no_signals: sigset_t,
    /// The errno with which the program failed to start. 0 if it runs.
    error: c_int,
}

impl TracedProgram {
    /// Makes a program from a command, which must name it by its path. Its input is empty, and its
    /// output goes to these files.
    ///
    /// # Errors
    /// A text contains a zero byte; `/dev/null` cannot be opened.
    pub fn of(
        command: &Command,
        out: BorrowedFd<'_>,
        errors: BorrowedFd<'_>,
    ) -> io::Result<TracedProgram> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let arguments: Vec<CString> =
            words.map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        let mut environment: std::collections::BTreeMap<OsString, OsString> =
            std::env::vars_os().collect();
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => environment.insert(name.to_owned(), value.to_owned()),
                None => environment.remove(name),
            };
        }
        let line = |(name, value): (OsString, OsString)| {
            CString::new([name.into_vec(), value.into_vec()].join(&b'='))
        };
        let environment = environment.into_iter().map(line).collect::<Result<_, _>>()?;
        // Each is a copy with a number above 2, because dup2(2) to another number makes a file that
        // stays open in the program.
        let files = [
            File::open("/dev/null")?.try_clone()?.into(),
            out.try_clone_to_owned()?,
            errors.try_clone_to_owned()?,
        ];
        Ok(TracedProgram { path: arguments[0].clone(), arguments, environment, files })
    }

    /// Starts the program, which the calling thread traces. It stops before its first instruction,
    /// and later at the calls of the filter.
    ///
    /// # Errors
    /// The program does not exist, or there is no room for it.
    pub fn start(&self, filter: &[sock_filter]) -> io::Result<Pid> {
        let list = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([null()]).collect()
        };
        let (arguments, environment) = (list(&self.arguments), list(&self.environment));
        // SAFETY: a set of signals is plain numbers.
        let mut no_signals: sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is a local variable.
        unsafe { sigemptyset(&raw mut no_signals) };
        let mut start = Start {
            path: self.path.as_ptr(),
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            files: self.files.each_ref().map(|file| file.as_raw_fd()),
            filter: sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() },
            no_signals,
            error: 0,
        };
        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        // SAFETY: the stack grows downwards from its end, which is aligned to 16 bytes. The calling
        // thread continues when the new process runs the program or has ended, so only one at a
        // time uses the memory that both share, and the memory outlives the use.
        let child = unsafe {
            let end = stack.as_mut_ptr_range().end.cast::<c_void>();
            clone(begin, end, CLONE_VM | CLONE_VFORK | SIGCHLD, (&raw mut start).cast())
        };
        let child = Pid::from_raw(Errno::result(child)?);
        // SAFETY: the new process wrote it to the shared memory before the calling thread
        // continued.
        match unsafe { (&raw const start.error).read_volatile() } {
            0 => Ok(child),
            error => {
                nix::sys::wait::waitpid(child, None)?;
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }
}

/// The code of the new process until it runs the program. It only makes system calls, because its
/// memory is the starter's.
extern "C" fn begin(start: *mut c_void) -> c_int {
    let start = start.cast::<Start>();
    // SAFETY: the starter waits, so nothing else uses its memory; each pointer is valid for its
    // call and outlives it.
    unsafe {
        let Start { path, arguments, environment, files, no_signals, .. } = &*start;
        // Like std::process: programs expect to be ended by a signal when their pipe is closed.
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, no_signals, std::ptr::null_mut());
        let filter = &raw const (*start).filter;
        let ready = files.iter().zip(0..).all(|(file, number)| dup2(*file, number) == number)
            && ptrace(PTRACE_TRACEME, 0, 0, 0) == 0
            && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter) == 0;
        if ready {
            execve(*path, *arguments, *environment);
        }
        (&raw mut (*start).error).write_volatile(Errno::last_raw());
        _exit(127)
    }
}
