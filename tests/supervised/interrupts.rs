//! Ctrl-C: the first one ends the run in good order, the second one at once. No process is left.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::tempdir;

use crate::common::processes::Mark;
use crate::common::{of_type, ran};
use crate::deaths::{counts, run};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the first Ctrl-C ends a run with its summary and how to resume it", first),
        trial("the second Ctrl-C ends a run at once", second),
        trial(
            "a death that a replay has confirmed is reported, if the run ends before its unit is \
             repeated",
            confirmed,
        ),
    ]
}

/// Begins a run in the background and reads its output up to the first line with this word.
fn begin(
    folder: &Path,
    mark: &Mark<'_>,
    args: &str,
    word: &str,
) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("run").args(args.split_whitespace()).current_dir(folder);
    let mut child = mark.put(&mut command).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(word) {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
    }
    (child, out)
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
}

fn first() {
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let whole = counts(&run(folder.path(), "frail-slow --out whole").expect(0).json());
    let (mut child, mut out) = begin(folder.path(), &mark, "frail-slow --out run", "Folder");
    interrupt(&child);
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    mark.nothing_left();
    assert!(said.contains("     Summary "), "{said}");
    let last = said.lines().last().unwrap();
    let command = last.strip_prefix("             resume    ").unwrap_or_else(|| panic!("{said}"));
    let path = folder.path().join("run");
    assert!(command.ends_with(&format!(" run --resume {}", path.display())), "{command}");
    let resumed = ran(Command::new("sh")
        .args(["-c", &format!("{command} --format jsonl")])
        .current_dir(folder.path()))
    .expect(0)
    .json();
    assert_eq!(counts(&resumed), whole);
}

fn second() {
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let (mut child, _out) = begin(
        folder.path(),
        &mark,
        "frail-slower --deadline 1h --out run --format jsonl",
        "\"checked\":1",
    );
    interrupt(&child);
    // The step goes on, and so does the run.
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), None);
    mark.nothing_left();
}

fn confirmed() {
    let folder = tempdir().unwrap();
    let lines = run(folder.path(), "frail-interrupt --out run").expect(1).json();
    let finding = &of_type(&lines, "finding")[0];
    assert_eq!((&finding["verdict"], &finding["replayed"]), (&"mount-failed".into(), &true.into()));
    let summary = lines.last().unwrap();
    assert_eq!(
        (&summary["findings"], &summary["complete"]),
        (&1.into(), &false.into()),
        "{summary}"
    );
    // Two of the run, and the one of the replay.
    assert_eq!(std::fs::read(folder.path().join("deaths")).unwrap(), b"...");
}
