//! The output of a worker on the terminal of a run appears above the progress line.

use std::process::Command;

use libtest_mimic::Trial;
use tempfile::tempdir;

use crate::common::ran;
use crate::common::terminal::{self, screen, timeless};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![trial("the output of a worker leaves no line of progress behind", prints)]
}

fn prints() {
    let folder = tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let args = |out: &str| format!("run frail-say-recover --depth 3 --out {out}");
    let mut command = Command::new(&this);
    let plain =
        ran(command.args(args("run").split_whitespace()).current_dir(folder.path())).expect(0);
    let printed: Vec<&str> = plain.err.lines().collect();
    assert_eq!(printed, [1, 2, 3].map(|n| format!("the system says {n}")));
    std::fs::remove_dir_all(folder.path().join("run")).unwrap();

    let said = terminal::run(&this, folder.path(), &args("run"), &[], 0);
    assert!(said.contains(" 0 findings; "), "there was a line of progress: {said:?}");
    let screen = screen(&said);
    let (of_worker, of_run): (Vec<&str>, Vec<&str>) =
        screen.lines().partition(|line| printed.contains(line));
    assert_eq!(of_worker, printed);
    assert_eq!(timeless(&of_run.join("\n")), timeless(&plain.out));
}
