//! Shared parts of the tests of the command line: they run the program as a user would, and read
//! its output.
#![allow(dead_code, reason = "each test program uses some of it")]

pub mod guest;
pub mod log;
pub mod logwrites;
pub mod nodes;
pub mod page;
pub mod pasted;
pub mod processes;
pub mod rootfs;
pub mod seeded;
pub mod steps;
pub mod terminal;
pub mod timeline;
pub mod unsupported;

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A time longer than any command here takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(900);

/// The result of a run of the program.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs `explode` with these arguments.
pub fn explode<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    explode_in(Path::new("."), args)
}

/// Runs `explode` with these arguments in a folder.
pub fn explode_in<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Ran {
    ran(Command::new(program()).current_dir(folder).args(args))
}

/// Runs `explode` with at most `mib` MiB of memory.
pub fn explode_within<S: AsRef<OsStr>>(mib: u64, args: impl IntoIterator<Item = S>) -> Ran {
    let limit = format!("ulimit -v {}; exec \"$0\" \"$@\"", mib * 1024);
    ran(Command::new("sh").args(["-c", &limit, program()]).args(args))
}

/// Runs a command as a shell does, with this `explode` on its PATH.
pub fn shell(folder: &Path, command: &str) -> Ran {
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(program(), bin.path().join("explode")).unwrap();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    ran(Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path))
}

/// Returns the path of the program under test.
pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_explode")
}

/// Runs a command to its end. Kills a command that hangs, and panics.
pub fn ran(command: &mut Command) -> Ran {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out = read_to_end(child.stdout.take().unwrap());
    let err = read_to_end(child.stderr.take().unwrap());
    let code = wait(&mut child, command);
    Ran { code, out: out.join().unwrap(), err: err.join().unwrap() }
}

fn wait(child: &mut Child, command: &Command) -> i32 {
    let started = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => {
                return status.code().unwrap_or_else(|| panic!("{command:?}: {status}"));
            }
            None if started.elapsed() > DEADLINE => {
                child.kill().unwrap();
                panic!("{command:?} hangs");
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn read_to_end(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    })
}

impl Ran {
    /// Checks the exit code. Panics with the whole result if it differs.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert!(!self.err.contains("panicked"), "{self:#?}");
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Checks for exit code 2, no standard output, and one error with these words.
    #[track_caller]
    pub fn refused(self, words: &[&str]) {
        let ran = self.expect(2);
        assert_eq!(ran.out, "", "{ran:#?}");
        assert!(ran.err.starts_with("error: "), "{ran:#?}");
        for word in words {
            assert!(ran.err.contains(word), "'{word}' is not in {ran:#?}");
        }
    }

    /// Returns the JSON lines of standard output.
    #[track_caller]
    pub fn json(&self) -> Vec<Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.out.lines().map(parse).collect()
    }
}

/// Returns the objects of one type.
pub fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// Returns the names of an object's members, in alphabetical order.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Returns the words of a text, in the order of [`keys`].
pub fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

/// Returns the names of the files of a folder, in alphabetical order. Empty if the folder does not
/// exist.
pub fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Writes a file of a folder and returns its path.
pub fn file(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, contents).unwrap();
    path
}
