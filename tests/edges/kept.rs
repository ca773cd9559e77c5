//! Durable output files: not written before a run is accepted, and the message if one cannot be
//! written.

use tempfile::tempdir;

use super::{contents, stack_file};
use crate::common::{explode_in, file, nodes};

/// A run replaces an existing file. A refused run does not.
#[test]
fn events_are_written_once_the_run_is_accepted() {
    let folder = tempdir().unwrap();
    file(folder.path(), "events", "of an earlier run");
    stack_file(folder.path(), "true", "true");
    explode_in(folder.path(), ["run", "stack.toml", "--out", "run"]).expect(0);
    explode_in(folder.path(), ["run", "stack.toml", "--out", "run", "--events", "events"])
        .refused(&["--out run: the folder is not empty"]);
    assert_eq!(contents(folder.path(), "events"), "of an earlier run");
    explode_in(folder.path(), ["run", "stack.toml", "--out", "other", "--events", "events"])
        .expect(0);
    assert!(
        contents(folder.path(), "events").starts_with("{\"e\":\"mark\",\"name\":\"unit 1\"}\n")
    );
}

/// The message names the option that named the file.
#[test]
fn events_that_cannot_be_written_name_their_option() {
    let folder = tempdir().unwrap();
    stack_file(folder.path(), "true", "true");
    let Some(full) = nodes::full(folder.path()) else { return };
    let full = full.to_str().unwrap();
    let ran = explode_in(folder.path(), ["run", "stack.toml", "--out", "run", "--events", full]);
    let why = "No space left on device (os error 28)";
    let said = format!(
        "error: cannot write {full}: {why}; make room there, or name another file with --events\n"
    );
    assert_eq!(ran.expect(4).err, said);
}
