//! A small program that promises durability: a file of notes, one per line.
//! `docs/reference/stack-files.md` checks it.
//!
//!     notes create FILE
//!     notes add [--no-sync] FILE KEY     returns when the note is on the disk
//!     notes repair FILE                  removes an unfinished line: 0 nothing to do, 1 repaired
//!     notes dump FILE
//!     notes verify FILE                  checks what the EXPLODE_ variables promise

#![expect(clippy::print_stdout, reason = "a program of the command line")]

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let code = match words.as_slice() {
        ["create", file] => create(Path::new(file)).map(|()| 0),
        ["add", "--no-sync", file, key] => add(file, key).map(|_| 0),
        ["add", file, key] => add(file, key).and_then(|file| file.sync_all()).map(|()| 0),
        ["repair", file] => repair(file),
        ["dump", file] => fs::read_to_string(file).map(|notes| print!("{notes}")).map(|()| 0),
        ["verify", file] => verify(file),
        _ => Err(io::Error::other("notes create|add|repair|dump|verify FILE")),
    };
    code.map_or_else(
        |error| {
            println!("{error}");
            ExitCode::from(2)
        },
        ExitCode::from,
    )
}

/// Creates the file. The file and its name in the folder are then durable.
fn create(path: &Path) -> io::Result<()> {
    File::create(path)?.sync_all()?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn add(path: &str, key: &str) -> io::Result<File> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("{key}\n").as_bytes())?;
    Ok(file)
}

fn repair(path: &str) -> io::Result<u8> {
    let notes = fs::read(path)?;
    let whole = notes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole == notes.len() {
        return Ok(0);
    }
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(whole as u64)?;
    file.sync_all()?;
    Ok(1)
}

/// Checks that all added notes are in the file. A note that is being added must be there only at
/// the end of its interval.
fn verify(path: &str) -> io::Result<u8> {
    let notes = fs::read_to_string(path)?;
    let variable = |name: &str| env::var(name).map_err(io::Error::other);
    let done = fs::read_to_string(variable("EXPLODE_DONE")?)?
        .lines()
        .filter(|name| *name == "add")
        .count();
    let args = variable("EXPLODE_ARGS")?;
    let added = args
        .split_whitespace()
        .filter(|_| !matches!(env::var("EXPLODE_EPOCH").as_deref(), Ok("begin" | "in-between")));
    let there: Vec<&str> = notes.lines().collect();
    if there.len() < done {
        println!("{done} notes were added, {} are there", there.len());
        return Ok(1);
    }
    for key in added {
        if !there.contains(&key) {
            println!("the note {key} was added, and is gone");
            return Ok(1);
        }
    }
    Ok(0)
}
