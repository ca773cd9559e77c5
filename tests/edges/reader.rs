//! A reader that goes away changes neither exit codes nor files.

use std::process::{Command, Stdio};

use tempfile::{TempDir, tempdir};

use super::stack_file;
use crate::common::log::{dirty, lines};
use crate::common::{file, files, program};

/// Runs explode with a standard output that has no reader. Returns its exit code and its standard
/// error.
fn unread(folder: &TempDir, args: &str) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(program());
    command
        .args(args.split_whitespace())
        .current_dir(folder.path())
        .stdout(writer)
        .stderr(Stdio::piped());
    let ran = command.output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

fn quietly(code: i32) -> (Option<i32>, String) {
    (Some(code), String::new())
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let folder = tempdir().unwrap();
    file(folder.path(), "log", lines(&[dirty(0, 0, 8, 'A'), dirty(0, 8, 8, 'B')]));
    assert_eq!(unread(&folder, "crash-disks log --size 8192 --write disks"), quietly(0));
    assert_eq!(files(&folder.path().join("disks")).len(), 4, "all are written");
    assert_eq!(unread(&folder, "list"), quietly(0));
    stack_file(folder.path(), "true", "true");
    assert_eq!(unread(&folder, "run stack.toml --out good"), quietly(0));
    stack_file(folder.path(), "true", "exit 1");
    assert_eq!(unread(&folder, "run stack.toml --out bad"), quietly(1));
    let trace = format!("bad/traces/{}", files(&folder.path().join("bad/traces"))[0]);
    assert_eq!(unread(&folder, &format!("replay {trace}")), quietly(1));
    assert_eq!(unread(&folder, &format!("show {trace}")), quietly(0));
}
