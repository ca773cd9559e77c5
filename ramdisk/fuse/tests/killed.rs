//! A server that is killed while one of its own threads waits for its mount.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use explode_fuse::{Allowed, Mount, Program, ProgramHooks, environment, run};
use explode_ramdisk::files::{FsCall, Granule};
use explode_ramdisk::{Image, Recording, SimFiles, Storage};

/// A time longer than the kernel takes to end a process, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Stores through a mapping. Then one process makes a folder, and another makes a file durable.
const WORK: &str = "head -c 4096 /dev/zero >m
    /usr/bin/python3 -S -c 'import mmap, os, time
f = open(\"m\", \"r+b\"); g = open(\"g\", \"wb\")
m = mmap.mmap(f.fileno(), 4096); m[0:1] = b\"x\"
if os.fork():
    time.sleep(0.3); os.fsync(g.fileno())
else:
    os.mkdir(\"stop\")'";

/// Serves files, and stops at a call, so that the thread that writes the stores waits forever.
#[test]
#[ignore = "the server of the other test"]
fn server() {
    let image = Image::new();
    let files = SimFiles::mount(Storage::new(image, Recording::On), 0, Granule(4096)).unwrap();
    let _mount = Mount::new(files, "files", &Allowed::default()).unwrap();
    let calls = |call: FsCall, make: &mut dyn FnMut() -> Result<(), nix::errno::Errno>| {
        if matches!(&call, FsCall::Mkdir { .. }) {
            std::io::stdout().write_all(b"stopped\n").unwrap();
            thread::sleep(Duration::from_secs(1000));
        }
        _ = make();
    };
    let files = Vec::new();
    let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    let command = WORK.to_owned();
    let program = Program { command, environment: environment(), seed: 0, files, out, err };
    run(program, ProgramHooks { calls: Some(Box::new(calls)), marks: None }).unwrap();
}

/// Returns true if a thread of a process waits for an answer of a FUSE server.
fn waits_for_the_mount(process: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let mut stacks = tasks.map(|task| std::fs::read_to_string(task.path().join("wchan")));
    stacks.any(|at| at.is_ok_and(|at| at == "request_wait_answer"))
}

#[test]
fn nothing_waits_for_a_server_that_was_killed() {
    if !nix::unistd::geteuid().is_root() || !Path::new("/usr/bin/python3").exists() {
        let line = b"unsupported: FUSE without root, or without python3\n";
        return std::io::stderr().write_all(line).unwrap();
    }
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "server", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("stopped")), "the call is made");
    let begun = Instant::now();
    while !waits_for_the_mount(server.id()) {
        assert!(begun.elapsed() < DEADLINE, "no thread of the server waits for its mount");
        thread::sleep(Duration::from_millis(5));
    }
    server.kill().unwrap();
    let begun = Instant::now();
    while server.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < DEADLINE, "a killed server stays");
        thread::sleep(Duration::from_millis(5));
    }
}
