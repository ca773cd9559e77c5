//! The matrix on a system whose recovery hangs, and on one whose recovery is only slow, which is
//! not a bug.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{Ran, file, of_type, ran};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![trial(
        "a recovery that hangs is a bug in a matrix, one that is slow is not",
        hangs_or_is_slow,
    )]
}

fn explode(folder: &Path, args: &str) -> Ran {
    ran(Command::new("/proc/self/exe").args(args.split_whitespace()).current_dir(folder))
}

/// Writes a stack file of simulated files whose recovery takes long.
fn system(folder: &Path, name: &str, how: &str) {
    let frail =
        "use = \"frail-files\"\nwhere = \"recover\"\nfirst = true\nslow = 1200\nlog = false";
    let text =
        format!("[[component]]\nuse = \"simfiles\"\n[[component]]\n{frail}\nhow = \"{how}\"\n");
    file(folder, &format!("{name}.toml"), text);
}

fn hangs_or_is_slow() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    system(folder, "hanging", "hang");
    system(folder, "tardy", "slow");
    let cells =
        "hanging.toml tardy.toml --check synced --deadline 400ms --cell 2s --format jsonl --out m";
    let lines = explode(folder, &format!("matrix {cells}")).expect(1).json();
    let cell = |lines: &[Value], system: &str| {
        let cells = of_type(lines, "cell");
        cells.into_iter().find(|cell| cell["system"] == system).unwrap().clone()
    };
    let (hanging, tardy) = (cell(&lines, "hanging"), cell(&lines, "tardy"));
    let bug = &hanging["findings"][0];
    assert_eq!([&hanging["outcome"], &bug["verdict"]], ["bug", "hang"]);
    let said = "in step recover: no end within the deadline of 0.4 s; tried again with a deadline \
                of 4 s: in step recover: \
                no end within the deadline of 4 s";
    assert_eq!(bug["message"], said);
    let why = "slow: in step recover: no end within the deadline of 0.4 s; tried again with a \
               deadline of 4 s it ended, so it is no bug; run the matrix with --deadline 4s";
    assert_eq!(tardy["why"], why);
    assert_eq!([&tardy["outcome"], &tardy["findings"]], [&json!("broken"), &json!([])]);
    // The slow system is not reported as a fault, and the folder has the deadline.
    assert!(
        of_type(&lines, "fault").iter().all(|fault| fault["systems"] == json!(["hanging"])),
        "{lines:#?}"
    );
    std::fs::remove_dir_all(folder.join("m/tardy/synced")).unwrap();
    let again = explode(folder, "matrix --resume m --format jsonl").expect(1).json();
    assert_eq!(cell(&again, "tardy")["why"], why);
    // With the recommended deadline there is a verdict: the stack has no disk whose flushes can be
    // dropped, and the check finds nothing.
    let longer = "matrix tardy.toml --check synced --deadline 4s --cell 4s --format jsonl --out n";
    let lines = explode(folder, longer).expect(0).json();
    assert_eq!(cell(&lines, "tardy")["outcome"], "inconclusive");
    // The same by hand: the trace of a run has the verdict hang, which a longer deadline does not
    // reproduce.
    let run = "run m/tardy/synced/check.toml --budget 2s --format jsonl --out run";
    let run = explode(folder, run).expect(1).json();
    let finding = of_type(&run, "finding")[0];
    assert_eq!(finding["verdict"], "hang");
    let replay = format!("replay {}", finding["trace"].as_str().unwrap());
    explode(folder, &replay).expect(1);
    explode(folder, &format!("{replay} --deadline 4s")).expect(5);
    explode(folder, &format!("{replay} --deadline 0s")).refused(&["a deadline of 0"]);
    explode(folder, "matrix tardy.toml --deadline 0s").refused(&["a deadline of 0"]);
    explode(folder, "matrix --resume m --deadline 4s")
        .refused(&["cannot be used with", "--resume"]);
}
