//! Programs in a guest request crash checks in the middle of their work (EX-66), with
//! `explode-mark`. They find a bug that no other check finds.

use std::fs::write;
use std::path::Path;

use serde_json::Value;

use crate::common::{Ran, explode_in};

/// The name of a case and its test, which gets a folder.
type Case = (&'static str, fn(&Path) -> Result<(), String>);

/// All cases, each with its own guests.
pub const CASES: [Case; 5] = [
    ("a program that a step runs; the fixed twin is silent", by_step),
    ("a program that a component has started, and that goes on", by_server),
    ("a request on the stack of a crash disk is refused", on_a_crash_disk),
    ("a wrong name is refused", wrong_names),
    ("a request leaves the same disks as a step at its place", as_a_step),
];

/// A file is replaced and synced.
const HEAD: &str = r#"
[run]
in = "vm"
depth = 1
completion = "durable"
[[component]]
use = "ramdisk"
size = "256KiB"
[[component]]
use = "ext2"
"#;

/// The old file is removed before the new one has its name, so for a moment there is neither.
const WRONG: &str = "rm -f {path}/db";
const RIGHT: &str = "echo a >{path}/db";

fn replaces(before: &str, ask: &str) -> String {
    let replace =
        format!("echo a >{{path}}/new; {before}; sync; {ask}; mv {{path}}/new {{path}}/db; sync");
    format!(
        r#"{HEAD}
[checker]
name = "kept"
mutate = [ {{ name = "add", steps = [ {{ sh = '''{replace}''', must = true }}, {{ crash = ["end"] }} ] }} ]
check = '''test -e {{path}}/db || {{ echo "gone $EXPLODE_EPOCH $EXPLODE_ARGS"; exit 1; }}'''
"#
    )
}

/// Returns the stack file in which a server does the same. The component starts it.
fn serves(before: &str, mounting: &str) -> String {
    let before = before.replace("{path}", "{child}");
    format!(
        r#"{HEAD}
[[component]]
name = "keeper"
mount = '''
{mounting}
mkfifo {{path}}/in {{path}}/out && ln -s {{child}} {{path}}/files
( while read -r word <{{path}}/in && [ "$word" = add ]; do
    echo a >{{child}}/new; {before}; sync; explode-mark crash half; mv {{child}}/new {{child}}/db; sync; echo done >{{path}}/out
done; echo ended >{{path}}/out ) >/dev/null 2>&1 &
echo $! >{{path}}/pid'''
threads = "cat {{path}}/pid"
unmount = "echo end >{{path}}/in && read -r ended <{{path}}/out && rm {{path}}/*"
[checker]
name = "kept"
mutate = [ {{ name = "add", steps = [ {{ sh = "echo add >{{path}}/in && read -r done <{{path}}/out", must = true }}, {{ crash = ["end"] }} ] }} ]
check = '''test -e {{path}}/files/db || {{ echo "gone $EXPLODE_EPOCH $EXPLODE_ARGS"; exit 1; }}'''
"#
    )
}

/// Runs a stack file.
fn run(folder: &Path, name: &str, stack: &str) -> Result<Ran, String> {
    let file = format!("{name}.toml");
    write(folder.join(&file), stack).map_err(|error| error.to_string())?;
    Ok(explode_in(folder, ["run", &file, "--format", "jsonl", "--out", name]))
}

fn reported(ran: &Ran, kind: &str) -> Result<Value, String> {
    ran.json().into_iter().rfind(|line| line["type"] == kind).ok_or(format!("no {kind}: {ran:?}"))
}

/// Checks that nothing is found, on this number of crash disks.
fn is_silent(ran: &Ran, crash_disks: u64) -> Result<(), String> {
    let summary = reported(ran, "summary")?;
    let right =
        ran.code == 0 && summary["crash_disks"] == crash_disks && summary["complete"] == true;
    right.then_some(()).ok_or(format!("{ran:?}"))
}

/// Checks that the bug is found at the request, and that its trace replays in a fresh guest without
/// the stack file.
fn is_found(folder: &Path, name: &str, ran: &Ran) -> Result<(), String> {
    let (finding, summary) = (reported(ran, "finding")?, reported(ran, "summary")?);
    let right = finding["message"] == "gone now half"
        && finding["epoch"] == "now"
        && finding["replayed"] == true
        && summary["findings"] == 1
        && summary["crash_disks"] == 1;
    if ran.code != 1 || !right {
        return Err(format!("{ran:?}"));
    }
    std::fs::remove_file(folder.join(format!("{name}.toml"))).map_err(|error| error.to_string())?;
    let trace = finding["trace"].as_str().unwrap_or_default();
    let again = explode_in(folder, ["replay", "--format", "jsonl", trace]);
    let by_log = again.out.contains(r#""replayed_by":"log""#);
    (again.code == 1 && by_log).then_some(()).ok_or(format!("{again:?}"))
}

fn by_step(folder: &Path) -> Result<(), String> {
    let ask = "explode-mark crash half";
    is_found(folder, "step", &run(folder, "step", &replaces(WRONG, ask))?)?;
    is_silent(
        &run(folder, "step-fixed", &replaces(RIGHT, &format!("{ask}; explode-mark crash again")))?,
        3,
    )?;
    is_silent(&run(folder, "step-quiet", &replaces(WRONG, "true"))?, 1)
}

fn by_server(folder: &Path) -> Result<(), String> {
    is_found(folder, "server", &run(folder, "server", &serves(WRONG, "true"))?)?;
    is_silent(&run(folder, "server-fixed", &serves(RIGHT, "true"))?, 2)
}

/// When the live stack is mounted, no mutate runs, so the same request has no effect.
fn on_a_crash_disk(folder: &Path) -> Result<(), String> {
    let ran = run(folder, "mounting", &serves(RIGHT, "explode-mark crash mounting"))?;
    let broken = reported(&ran, "broken")?;
    let message = broken["message"].as_str().unwrap_or_default();
    let expected =
        "keeper: a program asked for crash checks ('mounting') on the stack of a crash disk";
    let right = ran.code == 4 && broken["kind"] == "component" && message.starts_with(expected);
    right.then_some(()).ok_or(format!("{ran:?}"))?;
    let when = r#"test -e {child}/lost+found && test ! -e {child}/new && test ! -e {child}/db && explode-mark crash mounting"#;
    is_silent(&run(folder, "mounting-live", &serves(RIGHT, when))?, 2)
}

fn wrong_names(folder: &Path) -> Result<(), String> {
    let long = "n".repeat(256);
    for (case, request, says) in [
        ("slash", "explode-mark crash a/b || exit 1", "the name 'a/b' is not made of letters"),
        (
            "long",
            &format!("explode-mark crash {long} || exit 1"),
            "the name has more than 255 bytes",
        ),
        // The request without the tool.
        ("device", "echo 'crash a/b' >/dev/explode-mark || exit 1", "echo: I/O error"),
    ] {
        let ran = run(folder, case, &replaces(RIGHT, request))?;
        let message = reported(&ran, "finding")?["message"].as_str().unwrap_or_default().to_owned();
        (ran.code == 1 && message.contains(says))
            .then_some(())
            .ok_or(format!("{case}: {ran:?}"))?;
    }
    is_silent(
        &run(folder, "longest", &replaces(RIGHT, &format!("explode-mark crash {}", &long[1..])))?,
        2,
    )
}

/// A request compares the dirty data with the log, as a step does.
fn as_a_step(folder: &Path) -> Result<(), String> {
    let before = "mkdir {path}/d; for n in 1 2 3 4 5 6 7 8 9; do echo a \
                  >{path}/d/a-long-name-of-a-file-$n; done";
    let after = "rm {path}/d/a-long-name-of-a-file-1; sync";
    let disks = |name: &str, steps: &str| {
        let stack = format!(
            r#"
[run]
in = "vm"
depth = 1
limit = 4
samples = 4
crash_depth = 0
[[component]]
use = "ramdisk"
size = "1MiB"
[[component]]
use = "vfat"
[checker]
name = "any"
mutate = [ {{ name = "add", steps = [ {steps} ] }} ]
check = "true"
"#
        );
        let ran = run(folder, name, &stack)?;
        reported(&ran, "summary").map(|summary| summary["crash_disks"].clone())
    };
    let step =
        format!("{{ sh = '''{before}''' }}, {{ crash = [\"half\"] }}, {{ sh = '''{after}''' }}");
    let request = format!("{{ sh = '''{before}; explode-mark crash half; {after}''' }}");
    let (step, request) = (disks("as-step", &step)?, disks("as-request", &request)?);
    let many = step.as_u64().is_some_and(|disks| disks > 1000);
    (many && step == request).then_some(()).ok_or(format!("{step} and {request}"))
}
