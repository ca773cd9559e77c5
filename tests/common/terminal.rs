//! Runs of a program on a terminal, and the screen at their end.

use std::fs::File;
use std::io::Read as _;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// The size of the terminal, wide enough for every line of these runs.
const SIZE: Winsize = Winsize { ws_row: 100, ws_col: 250, ws_xpixel: 0, ws_ypixel: 0 };

/// Runs a program that must end with this code. Returns the bytes that it writes to the terminal.
pub fn run(
    program: &Path,
    folder: &Path,
    args: &str,
    variables: &[(&str, &str)],
    code: i32,
) -> String {
    let ends = openpty(&SIZE, None).unwrap();
    let stream = || Stdio::from(ends.slave.try_clone().unwrap());
    let mut child = Command::new(program)
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
    // When the other side of a terminal is closed, reading fails after the last byte.
    let end = File::from(ends.master).read_to_end(&mut said).unwrap_err();
    assert_eq!(end.raw_os_error(), Some(libc::EIO));
    assert_eq!(child.wait().unwrap().code(), Some(code));
    String::from_utf8(said).unwrap()
}

/// Returns the text on the screen at the end.
pub fn screen(said: &str) -> String {
    let [rows, columns] = [SIZE.ws_row, SIZE.ws_col].map(|size| NonZero::new(size).unwrap());
    let mut parser = vt100::Parser::new(rows, columns, 0);
    parser.process(said.as_bytes());
    parser.screen().contents()
}

/// Returns the lines without their durations.
pub fn timeless(text: &str) -> Vec<String> {
    let line = |line: &str| match (line.find('['), line.find("s] ")) {
        (Some(from), Some(to)) if line.trim_start().starts_with("Summary") => {
            format!("{}{}", &line[..from], &line[to..])
        }
        _ => line.to_owned(),
    };
    text.trim_end().lines().map(line).collect()
}
