//! `--in here`: a run on the kernel of the machine that it is started on. That machine is a guest, by its shell.

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use common::guest;

/// What is typed; its last line ends the guest.
const TYPED: &str = "\
    explode run fs-sync --stack vfat --in here --depth 2 --limit 3 --samples 2 --out /tmp/run --format jsonl\n\
    echo \"the run ended with $?\"\n\
    echo \"left mounted: $(grep -c rdd /proc/self/mounts)\"\n\
    exit\n";

/// What VFAT loses is found, and replayed by another process of the same machine.
#[test]
fn a_run_on_its_own_kernel_finds_and_replays() {
    if !guest::required() {
        return;
    }
    let mut shell = Command::new(env!("CARGO_BIN_EXE_explode"))
        .args(["vm", "shell"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut typed, mut shown) = (shell.stdin.take().unwrap(), String::new());
    for line in BufReader::new(shell.stdout.take().unwrap()).lines().map_while(Result::ok) {
        // What is typed before would be lost.
        if line.contains("A shell in explode's guest") {
            typed.write_all(TYPED.as_bytes()).unwrap();
        }
        shown.push_str(&line);
        shown.push('\n');
    }
    assert!(shell.wait().unwrap().success(), "{shown}");
    assert!(shown.contains("the run ended with 1") && shown.contains("left mounted: 0"), "{shown}");
    let summary = shown.lines().find(|line| line.contains(r#""type":"summary""#)).expect(&shown);
    assert!(summary.contains(r#""broken":0"#) && !summary.contains(r#""findings":0"#), "{summary}");
}
