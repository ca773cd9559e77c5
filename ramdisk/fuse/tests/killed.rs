//! A server that is killed while one of its own threads waits for its mount. The server is this
//! program, in another process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// The environment variable that makes this program the server.
const SERVES: &str = "EXPLODE_TEST_SERVES";

/// A server that does not outlive its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
    }
}

/// Serves files, and stops at a call, so that the thread that writes the stores waits forever.
fn serve() {
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
    if std::env::var_os(SERVES).is_some() {
        return serve();
    }
    if !nix::unistd::geteuid().is_root() || !Path::new("/usr/bin/python3").exists() {
        let line = "unsupported: FUSE without root, or without python3\n";
        assert!(std::env::var_os("CI").is_none(), "{line}");
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "nothing_waits_for_a_server_that_was_killed", "--nocapture"]);
    let server = command.env(SERVES, "1").stdout(Stdio::piped()).spawn().unwrap();
    let mut server = Server(server);
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("stopped")), "the call is made");
    let begun = Instant::now();
    while !waits_for_the_mount(server.0.id()) {
        assert!(begun.elapsed() < DEADLINE, "no thread of the server waits for its mount");
        thread::sleep(Duration::from_millis(5));
    }
    server.0.kill().unwrap();
    let begun = Instant::now();
    while server.0.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < DEADLINE, "a killed server stays");
        thread::sleep(Duration::from_millis(5));
    }
}
