//! A run on a terminal: its line of progress does not mix with what it says, and is gone at the end.

use std::fs::File;
use std::io::Read as _;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use tempfile::tempdir;

use crate::common::{explode_in, program};

/// Wide enough for every line of these runs.
const SIZE: Winsize = Winsize { ws_row: 100, ws_col: 250, ws_xpixel: 0, ws_ypixel: 0 };

/// What a run, that finds something, sends to a terminal of its own.
fn on_terminal(folder: &Path, args: &str, variables: &[(&str, &str)]) -> String {
    let ends = openpty(&SIZE, None).unwrap();
    let stream = || Stdio::from(ends.slave.try_clone().unwrap());
    let mut child = Command::new(program())
        .args(args.split_whitespace())
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .stdin(stream())
        .stdout(stream())
        .stderr(stream())
        .spawn()
        .unwrap();
    drop(ends.slave);
    let mut said = Vec::new();
    // A terminal whose other side is gone is an error, once all of it has been read.
    let end = File::from(ends.master).read_to_end(&mut said).unwrap_err();
    assert_eq!(end.raw_os_error(), Some(nix::libc::EIO));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    String::from_utf8(said).unwrap()
}

/// What stands on the screen in the end.
fn screen(said: &str) -> String {
    let [rows, columns] = [SIZE.ws_row, SIZE.ws_col].map(|size| NonZero::new(size).unwrap());
    let mut parser = vt100::Parser::new(rows, columns, 0);
    parser.process(said.as_bytes());
    parser.screen().contents()
}

/// Without how long it took.
fn timeless(text: &str) -> Vec<String> {
    let line = |line: &str| match (line.find('['), line.find("s] ")) {
        (Some(from), Some(to)) if line.trim_start().starts_with("Summary") => {
            format!("{}{}", &line[..from], &line[to..])
        }
        _ => line.to_owned(),
    };
    text.trim_end().lines().map(line).collect()
}

#[test]
fn the_last_screen_has_the_findings_and_no_progress() {
    let args = "run sqlite-off --depth 1 --limit 100 --samples 20 --out run";
    let run = |more: &str, variables: &[(&str, &str)]| {
        on_terminal(tempdir().unwrap().path(), &format!("{args} {more}"), variables)
    };
    let folder = tempdir().unwrap();
    let plain = explode_in(folder.path(), args.split_whitespace()).expect(1).out;
    assert!(plain.contains("FAIL") && !plain.contains("Running"), "a short run is quiet: {plain}");
    let is_bar = |said: &str| said.contains(['\u{2588}', '\u{2591}']);

    let said = run("", &[]);
    assert_eq!(timeless(&screen(&said)), timeless(&plain));
    assert!(said.contains(" 0 findings; 0 states, 0 disks at 0.0/s, "), "there was a line: {said:?}");
    assert!(said.contains("\x1b[1;31m") && !is_bar(&said), "in colour, no end to be seen: {said:?}");

    let said = run("--states 100", &[]);
    assert!(is_bar(&said), "an end to be seen: {said:?}");
    assert!(!is_bar(&screen(&said)) && !screen(&said).contains("0 disks at"), "{said:?}");

    let said = run("", &[("NO_COLOR", "1")]);
    assert_eq!(timeless(&screen(&said)), timeless(&plain));
    assert!(said.contains(" 0 findings; ") && !said.contains("\x1b[1;3"), "a line, no colour: {said:?}");

    let said = run("", &[("TERM", "dumb")]);
    assert!(!said.replace("\r\n", "\n").contains(['\x1b', '\r']), "only text: {said:?}");
    assert_eq!(timeless(&screen(&said)), timeless(&plain));
}
