//! A run on a terminal: the progress line does not mix with other output, and is removed at the
//! end.

use std::path::Path;

use tempfile::tempdir;

use crate::common::terminal::{screen, timeless};
use crate::common::{explode_in, program, terminal};

/// Returns the bytes that `explode` writes to a terminal. The run must find something.
fn on_terminal(folder: &Path, args: &str, variables: &[(&str, &str)]) -> String {
    terminal::run(program().as_ref(), folder, args, variables, 1)
}

#[test]
fn the_last_screen_has_the_findings_and_no_progress() {
    let args = "run sqlite-off --depth 1 --limit 100 --samples 20 --out run";
    let run = |more: &str, variables: &[(&str, &str)]| {
        let folder = tempdir().unwrap();
        let said = on_terminal(folder.path(), &format!("{args} {more}"), variables);
        said.replace(folder.path().to_str().unwrap(), "HERE")
    };
    let folder = tempdir().unwrap();
    let plain = explode_in(folder.path(), args.split_whitespace()).expect(1).out;
    let plain = plain.replace(folder.path().to_str().unwrap(), "HERE");
    assert!(plain.contains("FAIL") && !plain.contains("Running"), "a short run is quiet: {plain}");
    let is_bar = |said: &str| said.contains(['\u{2588}', '\u{2591}']);

    let said = run("", &[]);
    assert_eq!(timeless(&screen(&said)), timeless(&plain));
    assert!(
        said.contains(" 0 findings; 0 states, 0 disks at 0.0/s, "),
        "there was a line: {said:?}"
    );
    assert!(
        said.contains("\x1b[1m\x1b[31m") && !is_bar(&said),
        "in colour, no end to be seen: {said:?}"
    );

    let said = run("--states 100", &[]);
    assert!(is_bar(&said), "an end to be seen: {said:?}");
    assert!(!is_bar(&screen(&said)) && !screen(&said).contains("0 disks at"), "{said:?}");

    let said = run("", &[("NO_COLOR", "1")]);
    assert_eq!(timeless(&screen(&said)), timeless(&plain));
    assert!(
        said.contains(" 0 findings; ") && !said.contains("\x1b[1m"),
        "a line, no colour: {said:?}"
    );

    let said = run("", &[("TERM", "dumb")]);
    assert!(!said.replace("\r\n", "\n").contains(['\x1b', '\r']), "only text: {said:?}");
    assert_eq!(timeless(&screen(&said)), timeless(&plain));
}
