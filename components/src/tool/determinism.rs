//! Runs a program for which time stands still and nothing is random. mkfs programs write the time
//! (to the microsecond) and random numbers (UUIDs, seeds, serial numbers), and most of them have no
//! options to fix all of these. Here they write the same values each time.
//!
//! The program is traced (ptrace(2)). A filter (seccomp(2)) stops it at calls for the time, random
//! bytes and its process number. The calls are not made, and the program gets fixed results. Most
//! programs read the time without a call, through the vDSO. Without a vDSO they make calls, so its
//! address is removed from the auxiliary vector at the start of the program (getauxval(3),
//! `AT_SYSINFO_EHDR`). Opens of the devices of random numbers (random(4)), which mkudffs reads,
//! fail with `ENOENT`. Programs then use the time, or fail. For a program that opens neither,
//! [`Opens::Free`] avoids the stops at its opens. The program's other threads and processes are
//! also traced.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use libc::{
    AT_NULL, AT_SYSINFO_EHDR, BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, ENOENT,
    PTRACE_EVENT_EXEC, PTRACE_EVENT_SECCOMP, SECCOMP_RET_ALLOW, SECCOMP_RET_TRACE,
    SYS_clock_gettime, SYS_getpid, SYS_getrandom, SYS_gettimeofday, SYS_open, SYS_openat, SYS_sync,
    SYS_time, c_long, c_void, sock_filter,
};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use explode_runtime::devices::NOW;

use super::traced::TracedProgram;

/// The calls whose results are fixed. sync(2) returns success without being made, because it would
/// also sync other disks.
const CALLS: [c_long; 6] =
    [SYS_clock_gettime, SYS_gettimeofday, SYS_time, SYS_getrandom, SYS_getpid, SYS_sync];

/// The calls that open files. Only opens of [`DEVICES`] get a fixed result, but each of these calls
/// stops the program, which takes longer than the call.
const OPENS: [c_long; 2] = [SYS_open, SYS_openat];

/// The mode in which opens of [`DEVICES`] are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opens {
    /// The program may open the devices, so its opens are stopped.
    Watched,
    /// The program opens none of them, whatever the disk contains.
    Free,
}

/// The paths of the devices of random numbers, as strings of C.
const DEVICES: [&[u8]; 2] = [b"/dev/urandom\0", b"/dev/random\0"];

/// The key of the auxiliary vector that programs ignore.
const AT_IGNORE: u64 = 1;
const WORD: u64 = 8;
const PAGE: u64 = 4096;

/// The process number that the program sees.
const PROCESS: c_long = 4242;

/// A program to start, the mode of its opens, and the channel for its result: its exit status, and
/// whether no process of it is left.
type StillJob = (TracedProgram, Opens, Sender<(io::Result<ExitStatus>, bool)>);

/// Runs a program by its path, without input, and waits for its end. Its output goes to these
/// files.
///
/// # Errors
/// The program cannot be started or cannot be traced.
pub(super) fn run(
    command: &Command,
    opens: Opens,
    out: BorrowedFd<'_>,
    errors: BorrowedFd<'_>,
) -> io::Result<ExitStatus> {
    // The thread traces, because it has no other children.
    static THREAD: Mutex<Option<Sender<StillJob>>> = Mutex::new(None);
    let program = TracedProgram::of(command, out, errors)?;
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    let (result, ended) = channel();
    let sent = thread.get_or_insert_with(start_thread).send((program, opens, result));
    let ended = sent.ok().and_then(|()| ended.recv().ok());
    let (status, nothing_left) = ended.expect("the thread does not panic");
    if !nothing_left {
        // The processes that are left end with the thread (`PTRACE_O_EXITKILL`).
        *thread = None;
    }
    status
}

fn start_thread() -> Sender<StillJob> {
    let (jobs, waiting) = channel::<StillJob>();
    thread::spawn(move || {
        for (program, opens, result) in waiting {
            let status = trace(&program, opens);
            let nothing_left =
                waitpid(None, Some(ALL | WaitPidFlag::WNOHANG)) == Err(Errno::ECHILD);
            // The caller waits for the result.
            result.send((status, nothing_left)).ok();
        }
    });
    jobs
}

/// The flags to wait for everything that this thread traces, and for nothing else.
const ALL: WaitPidFlag = WaitPidFlag::__WALL.union(WaitPidFlag::__WNOTHREAD);

fn trace(program: &TracedProgram, opens: Opens) -> io::Result<ExitStatus> {
    let main = program.start(&filter(opens))?;
    // The program stops at its first instruction.
    waitpid(main, None)?;
    let options = ptrace::Options::PTRACE_O_TRACESECCOMP
        | ptrace::Options::PTRACE_O_TRACECLONE
        | ptrace::Options::PTRACE_O_TRACEFORK
        | ptrace::Options::PTRACE_O_TRACEVFORK
        | ptrace::Options::PTRACE_O_TRACEEXEC
        | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(main, options)?;
    hide_vdso(main)?;
    ptrace::cont(main, None)?;
    let mut random = Random(0);
    loop {
        let status = waitpid(None, Some(ALL))?;
        let (stopped, signal) = match status {
            WaitStatus::Exited(pid, code) if pid == main => {
                return Ok(ExitStatus::from_raw(code << 8));
            }
            WaitStatus::Signaled(pid, signal, _) if pid == main => {
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            WaitStatus::PtraceEvent(pid, _, PTRACE_EVENT_SECCOMP) => {
                answer(pid, &mut random)?;
                (pid, None)
            }
            WaitStatus::PtraceEvent(pid, _, PTRACE_EVENT_EXEC) => {
                hide_vdso(pid)?;
                (pid, None)
            }
            // A new thread or process begins with a stop, which is not a signal for it.
            WaitStatus::Stopped(pid, Signal::SIGSTOP | Signal::SIGTRAP)
            | WaitStatus::PtraceEvent(pid, ..) => (pid, None),
            WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
            _ => continue,
        };
        match ptrace::cont(stopped, signal) {
            // The process was killed meanwhile. The next wait reports it.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Builds the filter that stops at the calls of [`CALLS`] and [`OPENS`], and allows all others.
fn filter(opens: Opens) -> Vec<sock_filter> {
    let opens = if opens == Opens::Watched { &OPENS[..] } else { &[] };
    let calls: Vec<c_long> = CALLS.iter().chain(opens).copied().collect();
    let instruction = |code: u32, k: u32, jt: u8| sock_filter { code: code as u16, jt, jf: 0, k };
    let mut filter = vec![instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0)];
    for (at, call) in calls.iter().enumerate() {
        // The distance to the last instruction.
        let jump = (calls.len() - at) as u8;
        filter.push(instruction(BPF_JMP | BPF_JEQ | BPF_K, *call as u32, jump));
    }
    filter.push(instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0));
    filter.push(instruction(BPF_RET | BPF_K, SECCOMP_RET_TRACE, 0));
    filter
}

/// Sets the result of the call at which the task is stopped.
fn answer(pid: Pid, random: &mut Random) -> nix::Result<()> {
    let mut registers = ptrace::getregs(pid)?;
    let (rdi, rsi) = (registers.rdi, registers.rsi);
    let call = registers.orig_rax.cast_signed();
    let result = if call == SYS_open || call == SYS_openat {
        let path = if call == SYS_open { rdi } else { rsi };
        if !is_device(pid, path) {
            // The call is made unchanged.
            return Ok(());
        }
        -c_long::from(ENOENT)
    } else if call == SYS_getrandom {
        for at in 0..rsi {
            poke(pid, rdi + at, random.next())?;
        }
        rsi.cast_signed()
    } else if call == SYS_getpid {
        PROCESS
    } else if call == SYS_sync {
        0
    } else {
        let place = if call == SYS_clock_gettime { rsi } else { rdi };
        if place != 0 {
            ptrace::write(pid, address(place), NOW as c_long)?;
            if call != SYS_time {
                ptrace::write(pid, address(place + WORD), 0)?;
            }
        }
        if call == SYS_time { NOW as c_long } else { 0 }
    };
    // The call is skipped and has this result.
    registers.orig_rax = u64::MAX;
    registers.rax = result.cast_unsigned();
    ptrace::setregs(pid, registers)
}

/// Returns true if the string at `at` in the task's memory is the path of one of [`DEVICES`]. False
/// if it cannot be read.
fn is_device(pid: Pid, at: u64) -> bool {
    // Nearly always the first word differs. The word may reach beyond the end of the memory, so a
    // failed read decides nothing.
    let first = ptrace::read(pid, address(at)).map(c_long::to_le_bytes);
    let may_be =
        |device: &&&[u8]| first.is_ok_and(|first| device.starts_with(&first)) || first.is_err();
    let is_at = |device: &[u8]| (at..).zip(device).all(|(at, byte)| peek(pid, at) == Ok(*byte));
    DEVICES.iter().filter(may_be).any(|device| is_at(device))
}

/// Reads one byte of the task's memory.
fn peek(pid: Pid, at: u64) -> nix::Result<u8> {
    let start = at / WORD * WORD;
    Ok(ptrace::read(pid, address(start))?.to_le_bytes()[(at - start) as usize])
}

/// Writes one byte of the task's memory.
fn poke(pid: Pid, at: u64, byte: u8) -> nix::Result<()> {
    let start = at / WORD * WORD;
    let mut word = ptrace::read(pid, address(start))?.to_le_bytes();
    word[(at - start) as usize] = byte;
    ptrace::write(pid, address(start), c_long::from_le_bytes(word))
}

/// Hides the vDSO from a task at its first instruction. The stack holds the number of arguments,
/// the arguments, the environment (each list ends with a zero), and then the auxiliary vector,
/// which is pairs of words.
fn hide_vdso(pid: Pid) -> io::Result<()> {
    let mut words = Words {
        memory: File::open(format!("/proc/{pid}/mem"))?,
        at: ptrace::getregs(pid)?.rsp,
        read: Vec::new(),
    };
    words.next()?;
    for _list in ["arguments", "environment"] {
        while words.next()?.1 != 0 {}
    }
    loop {
        let (place, key) = words.next()?;
        words.next()?;
        if key == AT_SYSINFO_EHDR {
            return Ok(ptrace::write(pid, address(place), AT_IGNORE as c_long)?);
        }
        if key == AT_NULL {
            return Ok(());
        }
    }
}

/// Reads the words of a task's memory upwards from an aligned address, one page at a time.
struct Words {
    memory: File,
    at: u64,
    /// The words from `at` to the end of its page, the last one first.
    read: Vec<u64>,
}

impl Words {
    /// Returns the next word and its address.
    fn next(&mut self) -> io::Result<(u64, u64)> {
        if self.read.is_empty() {
            let mut bytes = [0; PAGE as usize];
            let read =
                self.memory.read_at(&mut bytes[..(PAGE - self.at % PAGE) as usize], self.at)?;
            let words = bytes[..read].chunks_exact(WORD as usize).rev();
            self.read =
                words.map(|word| u64::from_ne_bytes(word.try_into().expect("a word"))).collect();
        }
        let word = self.read.pop().ok_or(Errno::EFAULT)?;
        let place = self.at;
        self.at += WORD;
        Ok((place, word))
    }
}

fn address(at: u64) -> *mut c_void {
    at as *mut c_void
}

/// A fixed sequence of bytes: the lowest byte of each number of SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u8
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn output_of(script: &str) -> (ExitStatus, String) {
        output_with(script, Opens::Watched)
    }

    fn output_with(script: &str, opens: Opens) -> (ExitStatus, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = folder.path().join("said");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let out = fs::File::create(&output).expect("it is ours");
        let status = run(&command, opens, out.as_fd(), io::stderr().as_fd()).expect("it runs");
        (status, fs::read_to_string(output).expect("it is ours"))
    }

    #[test]
    fn time_stands_still_and_nothing_is_random() {
        let script = "date +%s.%N; shuf -i 1-1000000000 -n 1; (sleep 0.01; date +%s.%N)";
        let (status, first) = output_of(script);
        let now = format!("{NOW}.000000000");
        let lines: Vec<&str> = first.lines().collect();
        assert!(status.success() && lines[0] == now && lines[2] == now, "{first}");
        assert_eq!(output_of(script).1, first);
    }

    #[test]
    fn there_are_no_devices_of_random_numbers() {
        let script = "for file in urandom random null; do (: <\"/dev/$file\") && echo $file; \
                      done; cat /dev/./null /dev/nul";
        assert_eq!(output_of(script).1, "null\n");
    }

    #[test]
    fn time_stands_still_where_opens_are_free() {
        let script = "date +%s.%N; (: </dev/urandom) && echo opened; (sleep 0.01; date +%s.%N)";
        let now = format!("{NOW}.000000000");
        assert_eq!(output_with(script, Opens::Free).1, format!("{now}\nopened\n{now}\n"));
    }

    #[test]
    fn a_missing_program_is_not_started() {
        let out = tempfile::tempfile().expect("a temporary file");
        let (nowhere, out) = (Command::new("/nowhere"), out.as_fd());
        let error = run(&nowhere, Opens::Watched, out, out).expect_err("there is none");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn processes_that_a_command_leaves_end_with_it() {
        let left: u32 =
            output_of("sleep 1000 & echo $!").1.trim().parse().expect("the number of its process");
        let stat = format!("/proc/{left}/stat");
        // A process has ended if it is gone or waits for its parent (state Z, proc(5)).
        let runs = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..1000 {
            if !runs() {
                break;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(!runs(), "process {left} still runs");
        assert_eq!(output_of("echo next").1, "next\n");
    }

    #[test]
    fn a_command_keeps_its_exit_status() {
        assert_eq!(output_of("exit 7").0.code(), Some(7));
        // The program does not see its real process number.
        assert_eq!(output_of("sh -c 'kill -KILL $PPID'").0.signal(), Some(9));
    }
}
