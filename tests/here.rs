//! `--in here`: a run on the kernel of its own machine. Here that machine is a guest, used through
//! its shell.

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use common::guest;

/// A program of shell commands on ext2. It keeps data that it has synced, and may lose data that it
/// has only written. After a sync it requests crash checks itself.
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
  { name = "sync", steps = [ { sh = "echo k{n} | dd of={path}/log oflag=append conv=notrunc,fsync && explode-mark crash k{n}", must = true } ] },
  { name = "write", steps = [ { sh = "echo k{n} >>{path}/log", must = true }, { crash = ["k{n}"] } ] },
]
check = "echo checked $EXPLODE_ARGS $(cat $EXPLODE_DONE) >>/tmp/checked; for key in $EXPLODE_ARGS; do grep -q \"^$key$\" {path}/log || { echo \"$key is gone\"; exit 1; }; done"
"#;

/// Types these lines and `exit` into the shell of a guest. Returns the output.
fn typed(lines: &str) -> String {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_explode"))
        .args(["vm", "shell"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut shown) = (shell.stdin.take().unwrap(), String::new());
    for line in BufReader::new(shell.stdout.take().unwrap()).lines().map_while(Result::ok) {
        // Input before this line would be lost.
        if line.contains("A shell in explode's guest") {
            input.write_all(format!("{lines}\nexit\n").as_bytes()).unwrap();
        }
        shown.push_str(&line);
        shown.push('\n');
    }
    assert!(shell.wait().unwrap().success(), "{shown}");
    shown
}

/// A loss of VFAT is found, and replayed by another process of the same machine.
#[test]
fn a_run_on_its_own_kernel_finds_and_replays() {
    if !guest::required() {
        return;
    }
    let shown = typed(
        "explode run fs-sync --stack vfat --in here --depth 2 --limit 3 --samples 2 --out \
         /tmp/run --format jsonl\n\
         echo \"the run ended with $?\"\n\
         echo \"left: $(ls /dev | grep -c '^rdd[0-9]') disks\"",
    );
    assert!(shown.contains("the run ended with 1") && shown.contains("left: 0 disks"), "{shown}");
    let summary = summary(&shown);
    assert!(summary.contains(r#""broken":0"#) && !summary.contains(r#""findings":0"#), "{summary}");
}

fn summary(shown: &str) -> &str {
    shown
        .lines()
        .find(|line| line.contains(r#""type":"summary""#))
        .unwrap_or_else(|| panic!("{shown}"))
}

/// A stack file with a component and a checker made of commands. The command at the end of its run
/// is pasted.
#[test]
fn a_stack_file_on_its_own_kernel_finds_and_replays() {
    if !guest::required() {
        return;
    }
    let shown = typed(&format!(
        "cat >/tmp/own.toml <<'END'\n{STACK}\nEND\n\
         explode run /tmp/own.toml --out /tmp/own >/tmp/said; echo \"the run ended with $?\"\n\
         cat /tmp/said /tmp/own/run.jsonl; sort -u /tmp/checked\n\
         sh -c \"$(tail -n 1 /tmp/said | sed 's/ *replay *//')\"; echo \"the pasted command ended \
         with $?\"\n\
         echo \"left: $(ls /dev | grep -c '^rdd[0-9]') disks\""
    ));
    let words = [
        "the run ended with 1",
        "        FAIL check-failed: k1 is gone",
        "  reproduced log-kept/check-failed/#-is-gone",
        "the pasted command ended with 1",
        "left: 0 disks",
        // The request. Its check is made after the command has succeeded.
        "checked k1 sync",
    ];
    words.iter().for_each(|word| assert!(shown.contains(word), "'{word}': {shown}"));
    let summary = summary(&shown);
    // The first state, and the one after the synced write.
    for count in [r#""states":2"#, r#""operations":2"#, r#""findings":1"#, r#""broken":0"#] {
        assert!(summary.contains(count), "{count}: {summary}");
    }
}

/// A checker whose step ends the worker, while ext2 is mounted.
const DEADLY: &str = r#"
[run]
in = "here"
depth = 1
[[component]]
use = "ramdisk"
[[component]]
use = "ext2"
[checker]
name = "deadly"
mutate = [{ name = "die", steps = [{ sh = "kill -KILL $PPID" }] }]
check = "true"
"#;

/// However a worker or a run ends, its disks are removed, although a mounted disk cannot be
/// removed. That happens at once, or when the next run begins if the supervisor itself was killed.
#[test]
fn nothing_is_left_in_the_kernel() {
    if !guest::required() {
        return;
    }
    let left = |when: &str| format!("echo \"{when}: $(ls /dev | grep -c '^rdd[0-9]') disks\"\n");
    let ended_by = |signal: &str| {
        format!(
            "explode run fs-sync --stack ext2 --in here --depth 4 --out /tmp/{signal} >/dev/null \
             2>&1 &\n\
             until grep -q '\"progress\"' /tmp/{signal}/run.jsonl; do sleep 0.1; done\n\
             kill -{signal} $!; wait $!; echo \"{signal}: ended with $?\"\n"
        )
    };
    let shown = typed(
        &[
            format!("cat >/tmp/deadly.toml <<'END'\n{DEADLY}\nEND\n"),
            left("before"),
            "explode run /tmp/deadly.toml --out /tmp/deadly; echo \"deadly: ended with \
             $?\"\n"
                .to_owned(),
            left("after the worker's end"),
            ended_by("INT"),
            left("after an interrupt"),
            ended_by("KILL"),
            left("after the supervisor's end"),
            "explode run fs-sync --stack vfat --in here --depth 1 --limit 2 --samples 2 --out \
             /tmp/next >/dev/null\n"
                .to_owned(),
            left("after the next run"),
        ]
        .concat(),
    );
    let words = [
        "before: 0 disks",
        "deadly: ended with 1",
        "after the worker's end: 0 disks",
        "INT: ended with",
        "after an interrupt: 0 disks",
        "KILL: ended with 137",
        // One disk of the live side and one for crash disks. They are the subject of the test.
        "after the supervisor's end: 2 disks",
        "after the next run: 0 disks",
    ];
    words.iter().for_each(|word| assert!(shown.contains(word), "'{word}': {shown}"));
}
