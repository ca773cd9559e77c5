//! `--in here`: a run on the kernel of the machine that it is started on. That machine is a guest, by its shell.

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use common::guest;

/// A program of shell commands on ext2: it keeps what it has synced, and not what it has only written.
const STACK: &str = r#"
[run]
in = "here"
depth = 1
limit = 20
samples = 5
[[component]]
use = "ramdisk"
[[component]]
use = "ext2"
[[component]]
name = "log"
init = "touch {child}/log"
mount = "ln -s {child}/log {path}/log"
unmount = "rm {path}/log"
recover = "test -f {child}/log"
threads = "echo $PPID"
[checker]
name = "log-kept"
mutate = [
  { name = "sync", steps = [ { sh = "echo k{n} | dd of={path}/log oflag=append conv=notrunc,fsync", must = true }, { crash = ["k{n}"] } ] },
  { name = "write", steps = [ { sh = "echo k{n} >>{path}/log", must = true }, { crash = ["k{n}"] } ] },
]
check = "for key in $EXPLODE_ARGS; do grep -q \"^$key$\" {path}/log || { echo \"$key is gone\"; exit 1; }; done"
"#;

/// Types these lines into the shell of a guest, then `exit`; returns what was shown.
fn typed(lines: &str) -> String {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_explode"))
        .args(["vm", "shell"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut shown) = (shell.stdin.take().unwrap(), String::new());
    for line in BufReader::new(shell.stdout.take().unwrap()).lines().map_while(Result::ok) {
        // What is typed before would be lost.
        if line.contains("A shell in explode's guest") {
            input.write_all(format!("{lines}\nexit\n").as_bytes()).unwrap();
        }
        shown.push_str(&line);
        shown.push('\n');
    }
    assert!(shell.wait().unwrap().success(), "{shown}");
    shown
}

/// What VFAT loses is found, and replayed by another process of the same machine.
#[test]
fn a_run_on_its_own_kernel_finds_and_replays() {
    if !guest::required() {
        return;
    }
    let shown = typed(
        "explode run fs-sync --stack vfat --in here --depth 2 --limit 3 --samples 2 --out /tmp/run --format jsonl\n\
         echo \"the run ended with $?\"\n\
         echo \"left mounted: $(grep -c rdd /proc/self/mounts)\"",
    );
    assert!(shown.contains("the run ended with 1") && shown.contains("left mounted: 0"), "{shown}");
    let summary = summary(&shown);
    assert!(summary.contains(r#""broken":0"#) && !summary.contains(r#""findings":0"#), "{summary}");
}

fn summary(shown: &str) -> &str {
    shown.lines().find(|line| line.contains(r#""type":"summary""#)).unwrap_or_else(|| panic!("{shown}"))
}

/// A stack file with a component and a checker made of commands; the command at the end of its run is pasted.
#[test]
fn a_stack_file_on_its_own_kernel_finds_and_replays() {
    if !guest::required() {
        return;
    }
    let shown = typed(&format!(
        "cat >/tmp/own.toml <<'END'\n{STACK}\nEND\n\
         explode run /tmp/own.toml --out /tmp/own >/tmp/said; echo \"the run ended with $?\"\n\
         cat /tmp/said /tmp/own/run.jsonl\n\
         sh -c \"$(tail -n 1 /tmp/said | sed 's/ *replay *//')\"; echo \"the pasted command ended with $?\"\n\
         echo \"left mounted: $(grep -c rdd /proc/self/mounts)\""
    ));
    let words = [
        "the run ended with 1",
        "        FAIL check-failed: k1 is gone",
        "  reproduced log-kept/check-failed/#-is-gone",
        "the pasted command ended with 1",
        "left mounted: 0",
    ];
    words.iter().for_each(|word| assert!(shown.contains(word), "'{word}': {shown}"));
    let summary = summary(&shown);
    // The first state, and the one after what was synced.
    for count in [r#""states":2"#, r#""operations":2"#, r#""findings":1"#, r#""broken":0"#] {
        assert!(summary.contains(count), "{count}: {summary}");
    }
}
