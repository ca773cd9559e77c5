//! The tests in guests: the death of the kernel or the agent is a finding, and killed guests change
//! no count.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::tempdir;

use crate::commands::{reported, run_human};
use crate::common::pasted::replays;
use crate::common::processes::Mark;
use crate::common::{files, guest, of_type, ran};
use crate::deaths::{counts, run};
use crate::trial;

/// The failure of a guest, the verdict, the beginning of its message, and whether the printed
/// command is also pasted. The commands of a warning are tested in `trouble.rs`, and a hang has one
/// here.
const ENDS: [(&str, &str, &str, bool); 5] = [
    ("sysrq", "kernel-panic", "Kernel panic - not syncing: sysrq triggered crash", true),
    // The agent is the guest's first process, which SIGABRT does not end. abort(3) then ends it in
    // another way.
    ("abort", "check-failed", "the process was ended by SIGSEGV", true),
    ("warn", "kernel-warn", "WARNING: ", false),
    ("freeze", "hang", "INFO: task ", false),
    ("hang", "hang", "no end within the deadline of 4 s", true),
];

pub fn trials() -> Vec<Trial> {
    let ends = ENDS.map(|(how, verdict, said, is_pasted)| {
        trial(&format!("guests: {how} ends them, replayed"), move || {
            ends(how, verdict, said, is_pasted)
        })
    });
    let others = [
        trial("guests: a trace of another system", diverges),
        trial("guests: a kernel that panics in init", ends_the_first_start),
        trial("guests that are killed change no count", killed),
    ];
    ends.into_iter().chain(others).collect()
}

/// Returns the counts of a run in which the step fails.
fn fails() -> &'static Value {
    static FAILS: OnceLock<Value> = OnceLock::new();
    FAILS.get_or_init(|| {
        let folder = tempdir().unwrap();
        counts(&run(folder.path(), "frail-guest-error --out error").expect(1).json())
    })
}

fn ends(how: &str, verdict: &str, said: &str, is_pasted: bool) {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let text = run_human(folder.path(), &format!("frail-guest-{how} --deadline 4s"), 1);
    let lines = reported(&folder.path().join("run"));
    assert_eq!(counts(&lines), *fails(), "{how}");
    let [finding] = of_type(&lines, "finding")[..] else { panic!("{how}: {text}") };
    assert_eq!((&finding["verdict"], &finding["replayed"]), (&verdict.into(), &true.into()));
    let message = finding["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("in step mutate: {said}")), "{message}");
    if is_pasted {
        assert_eq!(replays(&text), [verdict.to_owned()].into());
    }
}

/// A trace of another system: its replay reports where the choices differ, and the recorded error.
fn diverges() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    run(folder.path(), "frail-guest-error --out run").expect(1);
    let traces = folder.path().join("run/traces");
    let path = traces.join(&files(&traces)[0]);
    let mut trace: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let site = trace["choices"][0]["label"]["site"].as_str().unwrap().to_owned();
    let replay = |trace: &Value| {
        std::fs::write(&path, trace.to_string()).unwrap();
        ran(Command::new("/proc/self/exe").arg("replay").arg(&path)).expect(5).out
    };
    trace["choices"][0]["options"] = 4.into();
    let said = replay(&trace);
    let parted =
        format!("    DIVERGED choice 0: recorded 4 options at {site}, now 3 options at {site}\n");
    assert!(
        said.starts_with(&format!("{parted}    recorded check-failed: on request\n      causes ")),
        "{said}"
    );
    trace["choices"][0]["options"] = 3.into();
    trace["checker_options"]["where"] = "nowhere".into();
    let said = replay(&trace);
    let seen = "    NOT SEEN the recorded error did not show itself\n    recorded check-failed: on request\n";
    assert!(
        said.starts_with(&format!("{seen}         now mutate found nothing wrong\n      causes ")),
        "{said}"
    );
}

/// The guest's kernel panics in `init`. Without a state there is no finding.
fn ends_the_first_start() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let ended = run(folder.path(), "frail-guest-init --out run").expect(4);
    let error = "error: the first start of the stack (init, mount, unmount) has ended each worker \
                 that tried:";
    let panic = "Kernel panic - not syncing: sysrq triggered crash\n";
    assert!(ended.err.starts_with(&format!("{error} {panic}")), "{ended:#?}");
    let lines = ended.json();
    assert!(
        matches!(&lines[..], [line] if line["type"] == "broken" && line["kind"] == "worker"),
        "{ended:#?}"
    );
    assert_eq!(files(folder.path()), [""; 0]);
}

/// The number of times that guests are killed.
const KILLS: u32 = 4;

/// Guests are killed now and then while they work, which the progress shows.
fn killed() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let mut chance: u64 = 1;
    let (mut kills, mut n) = (0, 0);
    while kills < KILLS || n < 2 {
        n += 1;
        // Every second run may skip checks. No verdict here is known from another disk.
        let no_skip = if n % 2 == 0 { "" } else { "--no-skip" };
        let (mut child, lines) =
            begin(folder.path(), &mark, &format!("fs-sync-ext2 --depth 1 {no_skip} --out run-{n}"));
        let mut all: Vec<Value> = Vec::new();
        // After a kill, only new progress leads to the next kill, because the next guest may be
        // starting. A run whose guests cannot be started twice in a row ends.
        let mut from = 0.0;
        for line in lines {
            all.push(serde_json::from_str(&line).unwrap());
            let reported = all.last().unwrap()["seconds"].as_f64().unwrap_or_default();
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let progress = all.last().unwrap()["type"] == "progress" && reported >= from;
            if kills < KILLS && progress && chance >> 63 == 0 {
                std::thread::sleep(Duration::from_millis(chance >> 33 & 0x1ff));
                kills += kill_guest(&mark);
                from = reported + 1.5;
            }
        }
        child.wait().unwrap();
        mark.nothing_left();
        let counts = counts(&all);
        let keys = [
            "states",
            "crash_disks",
            "distinct",
            "checked",
            "equivalent",
            "pending",
            "crash_crash_disks",
            "findings",
        ];
        let counted = keys.map(|key| counts[key].as_u64().unwrap());
        assert_eq!(counted, [11, 105, 105, 105, 0, 0, 102, 0], "run {n}, {kills} guests killed");
    }
}

fn begin(
    folder: &Path,
    mark: &Mark<'_>,
    args: &str,
) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .arg("run")
        .args(args.split_whitespace())
        .args(["--format", "jsonl"])
        .current_dir(folder);
    let mut child = mark.put(&mut command).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

/// Kills the guest of the marked run, if there is one. Returns the number of killed guests.
fn kill_guest(mark: &Mark<'_>) -> u32 {
    let guests = mark.processes().into_iter().filter(|(_, name)| name.starts_with("qemu-system"));
    guests
        .map(|(process, _)| u32::from(kill(Pid::from_raw(process), Signal::SIGKILL).is_ok()))
        .sum()
}
