//! The same in guests: what ends their kernel or their agent is a finding, and guests that are killed change no count.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::tempdir;

use crate::commands::{run_human, told};
use crate::common::pasted::replays;
use crate::common::processes::Mark;
use crate::common::{files, guest, of_type, ran};
use crate::deaths::{counts, run};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("guests: what ends them, each replayed", ends),
        trial("guests: a trace of another system", diverges),
        trial("guests: a kernel that panics in init", ends_the_first_start),
        trial("guests that are killed 20 times change no count", killed),
    ]
}

/// One after the other: there shall be one guest at a time.
fn ends() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let fails = counts(&run(folder.path(), "frail-guest-error --out error").expect(1).json());
    let cases = [
        ("sysrq", "kernel-panic", "Kernel panic - not syncing: sysrq triggered crash"),
        // The agent is the guest's first process, which SIGABRT does not end; abort(3) goes on to something that does.
        ("abort", "check-failed", "the process was ended by SIGSEGV"),
        ("warn", "kernel-warn", "WARNING: "),
        ("freeze", "hang", "INFO: task "),
        ("hang", "hang", "no end within the deadline of 6 s"),
    ];
    for (how, verdict, said) in cases {
        let here = folder.path().join(how);
        std::fs::create_dir(&here).unwrap();
        let text = run_human(&here, &format!("frail-guest-{how} --deadline 6s"), 1);
        let lines = told(&here.join("run"));
        assert_eq!(counts(&lines), fails, "{how}");
        let findings = of_type(&lines, "finding");
        assert_eq!(findings.len(), 1, "{how}: {findings:#?}");
        assert_eq!((&findings[0]["verdict"], &findings[0]["replayed"]), (&verdict.into(), &true.into()));
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("in step mutate: {said}")), "{message}");
        assert_eq!(replays(&text), [verdict.to_owned()].into());
    }
}

/// A trace of another system: its replay says where the ways part, and what was recorded.
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
        format!("    DIVERGED choice 0: recorded 4 options at {site}, now asked 3 options at {site}\n");
    assert!(
        said.starts_with(&format!("{parted}    recorded check-failed: as told\n      causes ")),
        "{said}"
    );
    trace["choices"][0]["options"] = 3.into();
    trace["checker_options"]["where"] = "nowhere".into();
    let said = replay(&trace);
    let seen = "    NOT SEEN the recorded error did not show itself\n    recorded check-failed: as told\n";
    assert!(
        said.starts_with(&format!("{seen}         now mutate found nothing wrong\n      causes ")),
        "{said}"
    );
}

/// The guest's kernel panics in `init`: there is no state to be in, and so no finding.
fn ends_the_first_start() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let ended = run(folder.path(), "frail-guest-init --out run").expect(4);
    let error =
        "error: the first start of the stack (init, mount, unmount) has ended each worker that tried:";
    let panic = "Kernel panic - not syncing: sysrq triggered crash\n";
    assert!(ended.err.starts_with(&format!("{error} {panic}")), "{ended:#?}");
    let lines = ended.json();
    assert!(
        matches!(&lines[..], [line] if line["type"] == "broken" && line["kind"] == "worker"),
        "{ended:#?}"
    );
    assert_eq!(files(folder.path()), [""; 0]);
}

/// Guests are killed now and then while they work, which is seen by the progress that is reported.
fn killed() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let mut chance: u64 = 1;
    let (mut kills, mut n) = (0, 0);
    while kills < 20 {
        n += 1;
        // Every second run may skip checks: there is none here whose verdict is known from another.
        let no_skip = if n % 2 == 0 { "" } else { "--no-skip" };
        let (mut child, lines) =
            begin(folder.path(), &mark, &format!("fs-sync-ext2 --depth 1 {no_skip} --out run-{n}"));
        let mut all: Vec<Value> = Vec::new();
        // Progress from before the last guest was killed is not answered by killing the next one, which may be starting: a run
        // whose guests cannot be started twice in a row ends.
        let mut from = 0.0;
        for line in lines {
            all.push(serde_json::from_str(&line).unwrap());
            let told = all.last().unwrap()["seconds"].as_f64().unwrap_or_default();
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let progress = all.last().unwrap()["type"] == "progress" && told >= from;
            if kills < 20 && progress && chance >> 63 == 0 {
                std::thread::sleep(Duration::from_millis(chance >> 33 & 0x1ff));
                kills += kill_guest(&mark);
                from = told + 1.5;
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
        assert_eq!(counted, [9, 105, 105, 105, 0, 0, 102, 0], "run {n}, {kills} guests killed");
    }
}

fn begin(folder: &Path, mark: &Mark<'_>, args: &str) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("run").args(args.split_whitespace()).args(["--format", "jsonl"]).current_dir(folder);
    let mut child = mark.put(&mut command).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

/// Kills the guest of the marked run, if there is one now; returns how many were killed.
fn kill_guest(mark: &Mark<'_>) -> u32 {
    let guests = mark.processes().into_iter().filter(|(_, name)| name.starts_with("qemu-system"));
    guests.map(|(process, _)| u32::from(kill(Pid::from_raw(process), Signal::SIGKILL).is_ok())).sum()
}
