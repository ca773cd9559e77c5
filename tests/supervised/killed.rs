//! Killed workers and runs. The counts equal those of an undisturbed run.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde_json::Value;
use tempfile::tempdir;

use crate::common::processes::Mark;
use crate::common::ran;
use crate::deaths::{counts, run};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("workers that are killed 200 times change no count", || {
            killed("frail-killed", 1, 200)
        }),
        // The order of the steps depends on time here.
        trial("workers of three jobs that are killed change no count", || {
            killed("frail-killed-seldom", 3, 50)
        }),
        trial("runs that are killed 50 times and resumed change no count", runs),
        trial("a journal whose last record is torn is resumed before it", torn),
        trial("every strategy continues where its journal ends", strategies),
        trial("a resumed run takes no other options", refused),
    ]
}

/// The counts of the undisturbed target.
fn undisturbed(folder: &Path) -> Value {
    counts(&run(folder, "frail --out undisturbed").expect(0).json())
}

fn killed(target: &str, jobs: u32, deaths: u64) {
    let folder = tempdir().unwrap();
    let dice = folder.path().join("dice");
    let mut command = Command::new("/proc/self/exe");
    command.args(["run", target, "--format", "jsonl", "--out", "run", "--jobs", &jobs.to_string()]);
    command.current_dir(folder.path());
    let killed = ran(command.env("EXPLODE_TEST_DICE", &dice)).expect(4);
    let lines = killed.json();
    assert_eq!(counts(&lines), undisturbed(folder.path()));
    assert_eq!(std::fs::metadata(dice.with_extension("deaths")).unwrap().len(), deaths * 8);
    assert!(lines.last().unwrap()["broken"].as_u64().unwrap() > 0);
}

/// Begins a run, or resumes one, in the background.
fn begin(folder: &Path, mark: &Mark<'_>, args: &str) -> Child {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("run")
        .args(args.split_whitespace())
        .args(["--format", "jsonl"])
        .current_dir(folder);
    mark.put(&mut command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn runs() {
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let undisturbed = undisturbed(folder.path());
    // A fixed sequence of moments. Their places in the run depend on the machine.
    let mut moment: u64 = 1;
    let (mut kills, mut n) = (0, 0);
    while kills < 50 {
        n += 1;
        let out = format!("run-{n}");
        let jobs = 1 + n % 3;
        let mut args = format!("frail --out {out} --jobs {jobs}");
        let ended = loop {
            moment = moment
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut child = begin(folder.path(), &mark, &args);
            let end = Instant::now() + Duration::from_millis(20 + (moment >> 33) % 180);
            let ended = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break Some(status),
                    None if kills < 50 && Instant::now() >= end => break None,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            if let Some(status) = ended {
                break status;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            mark.nothing_left();
            // Without a journal there is nothing to resume.
            args = if folder.path().join(&out).join("journal").exists() {
                format!("--resume {out} --jobs {jobs}")
            } else {
                std::fs::remove_dir_all(folder.path().join(&out)).ok();
                format!("frail --out {out} --jobs {jobs}")
            };
        };
        assert_eq!(ended.code(), Some(0));
        assert_eq!(last_counts(&folder.path().join(&out)), undisturbed);
    }
}

/// Returns the counts of the last summary of a run folder.
fn last_counts(out: &Path) -> Value {
    let text = std::fs::read_to_string(out.join("run.jsonl")).unwrap();
    counts(&[serde_json::from_str(text.lines().last().unwrap()).unwrap()])
}

fn torn() {
    let folder = tempdir().unwrap();
    let undisturbed = undisturbed(folder.path());
    let out = folder.path().join("undisturbed");
    let journal = std::fs::read(out.join("journal")).unwrap();
    for cut in [1, 100, journal.len() / 2] {
        std::fs::write(out.join("journal"), &journal[..journal.len() - cut]).unwrap();
        assert_eq!(
            counts(&run(folder.path(), "--resume undisturbed").expect(0).json()),
            undisturbed
        );
        let mended = std::fs::read(out.join("journal")).unwrap();
        assert!(mended.len() >= journal.len() - cut, "it goes on where it was cut off");
    }
    // A record that is damaged, but not torn. It and the records after it are run again.
    let mut damaged = journal.clone();
    let at = damaged.len() * 2 / 3;
    damaged[at] ^= 1;
    std::fs::write(out.join("journal"), &damaged).unwrap();
    assert_eq!(counts(&run(folder.path(), "--resume undisturbed").expect(0).json()), undisturbed);
}

fn strategies() {
    let folder = tempdir().unwrap();
    let runs = [
        "--strategy random --seed 3 --states 200",
        "--strategy weighted --seed 3 --states 200",
        "--strategy pct:d=2,k=5 --seed 3 --states 200",
        "--strategy dfs --depth 3",
        "--strategy different --depth 3",
        "--strategy dfs --depth 3 --chop 1",
    ];
    for (n, args) in runs.into_iter().enumerate() {
        let whole =
            counts(&run(folder.path(), &format!("frail {args} --out {n}")).expect(0).json());
        let journal = folder.path().join(n.to_string()).join("journal");
        let written = std::fs::read(&journal).unwrap();
        std::fs::write(&journal, &written[..written.len() * 3 / 5]).unwrap();
        let resumed = run(folder.path(), &format!("--resume {n}")).expect(0).json();
        assert_eq!(counts(&resumed), whole, "{args}");
    }
}

fn refused() {
    let folder = tempdir().unwrap();
    run(folder.path(), "frail --depth 1 --out run").expect(0);
    run(folder.path(), "--resume run").expect(0);
    for other in [
        "--seed 0",
        "--depth 2",
        "--deadline 5s",
        "--out other",
        "--completion durable",
        "--budget 5s",
    ] {
        run(folder.path(), &format!("--resume run {other}"))
            .refused(&["cannot be used with", "--resume"]);
    }
    run(folder.path(), "frail --resume run").refused(&["cannot be used with"]);
    run(folder.path(), "--resume nothing")
        .refused(&["nothing/run.jsonl", "name the folder of a run"]);
    std::fs::write(folder.path().join("run/journal"), "explode journal 1\n garbage").unwrap();
    run(folder.path(), "--resume run").refused(&["run/journal", "start the run again"]);
}
