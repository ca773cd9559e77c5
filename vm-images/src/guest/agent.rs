//! The agent with its loader and libraries. They come from this machine and are in a folder of
//! their own, separate from the image's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use itertools::Itertools as _;

use crate::base::{ErrorContext, Result, VmError};
use crate::host::command;
use crate::image::cpio::Archive;
use crate::image::elf;

/// The guest's folder of the agent and everything that comes with it.
pub const FOLDER: &str = "/agent";

const PROGRAM: &str = "/agent/explode";
const LIBRARIES: &str = "/agent/lib";
/// The path of the agent for users of the guest's shell.
const COMMAND: &str = "/usr/bin/explode";

/// The program that runs in the guest as its first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The path of the program. [`Agent::this_program`] sets it to the running one.
    pub program: PathBuf,
    /// The arguments of the program.
    pub arguments: Vec<String>,
}

impl Agent {
    /// Returns the running program with these arguments.
    pub fn this_program<S: Into<String>>(arguments: impl IntoIterator<Item = S>) -> Self {
        // The path names the process and not the file, because a rebuilt file is another program.
        // It is not /proc/self, because the loader opens the path.
        let program = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
        Self { program, arguments: arguments.into_iter().map(Into::into).collect() }
    }
}

/// Returns a command for this program. It works even if the program's file was replaced since the
/// start (for example by a build), or if the program was started by its own loader, as in a guest.
#[must_use]
pub fn this_program() -> Command {
    let program = Path::new("/proc/self/exe");
    let mut command = Command::new(program);
    if fs::read_link(program)
        .is_ok_and(|file| file.starts_with(FOLDER) && file != Path::new(PROGRAM))
    {
        command.args(["--library-path", LIBRARIES, PROGRAM]);
    }
    command
}

/// Adds the agent and everything that it needs to start.
pub(super) fn add_agent(archive: &mut Archive, agent: &Agent) -> Result<()> {
    let bytes = fs::read(&agent.program).at("read", &agent.program)?;
    let elf = elf::parse(&bytes).ok_or_else(|| {
        VmError::Usage(format!("{} is no x86-64 program", agent.program.display()))
    })?;
    archive.file(PROGRAM, 0o755, elf::strip(bytes));
    let mut words = Vec::new();
    if let Some(loader) = elf.interpreter {
        for library in libraries(Path::new(&loader), &agent.program)? {
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            let bytes = fs::read(&library).at("read", &library)?;
            archive.file(&format!("{LIBRARIES}/{name}"), 0o755, elf::strip(bytes));
        }
        let name =
            Path::new(&loader).file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.file(
            &format!("{FOLDER}/{name}"),
            0o755,
            fs::read(&loader).at("read", Path::new(&loader))?,
        );
        words.extend([format!("{FOLDER}/{name}"), "--library-path".into(), LIBRARIES.into()]);
    }
    words.push(PROGRAM.to_owned());
    let mut command = words.join(" ");
    if let Some((loader, rest)) = command.split_once(' ') {
        // The program gets the name by which it was called, because it prints commands for the user
        // that begin with this name.
        command = format!("{loader} --argv0 \"$0\" {rest}");
    }
    let command = format!("#!/bin/sh\nexec {command} \"$@\"\n");
    archive.file(COMMAND, 0o755, command.into_bytes());
    words.extend(agent.arguments.iter().cloned());
    let line = words.iter().map(|word| quoted(word)).join(" ");
    archive.file(&format!("{FOLDER}/run"), 0o644, format!("exec {line}\n").into_bytes());
    Ok(())
}

/// Returns the paths of the loader and the libraries of an agent.
pub(super) fn libraries_of(agent: &Agent) -> Result<Vec<PathBuf>> {
    let bytes = fs::read(&agent.program).at("read", &agent.program)?;
    let Some(loader) = elf::parse(&bytes).and_then(|elf| elf.interpreter) else {
        return Ok(Vec::new());
    };
    let mut files = libraries(Path::new(&loader), &agent.program)?;
    files.push(loader.into());
    Ok(files)
}

/// Returns the paths of the libraries that the loader would load for a program.
pub(super) fn libraries(loader: &Path, program: &Path) -> Result<Vec<PathBuf>> {
    parse_list(&command::output(Command::new(loader).arg("--list").arg(program))?).map_err(|name| {
        VmError::missing(format!("{} needs {name}", program.display()), "install that library")
    })
}

/// Parses the output of `ld.so --list`, which is that of `ldd`. Returns the paths, or the name of a
/// library that is not found.
fn parse_list(list: &str) -> std::result::Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in list.lines() {
        // Lines are "name => path (address)". The loader itself and the kernel's page have no
        // arrow.
        let Some((name, found)) = line.split_once(" => ") else { continue };
        match found.split_once(" (") {
            Some((path, _)) => paths.push(PathBuf::from(path)),
            None => return Err(name.trim().to_owned()),
        }
    }
    Ok(paths)
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_list_is_read() {
        let list = "\tlinux-vdso.so.1 (0x7f)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 \
                    (0x7f)\n\t/lib64/ld.so (0x7f)\n";
        assert_eq!(parse_list(list).unwrap(), [PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6")]);
        assert_eq!(parse_list("\tliba.so => not found\n").unwrap_err(), "liba.so");
    }
}
