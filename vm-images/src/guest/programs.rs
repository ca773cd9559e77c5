//! Programs of this machine that the guest's image lacks. They are packed as they are here, with
//! everything that they need to start.
//!
//! A dynamic program keeps its own loader and libraries, which are beside the agent's and separate
//! from the image's. At its path is a script that starts it through that loader. A script comes
//! with its interpreter. The files that a program opens while it runs (a language's modules,
//! configuration) are unknown here and are not packed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::agent::{FOLDER, libraries};
use super::spec::{GuestFile, GuestSpec};
use crate::base::{ErrorContext, Result, VmError};
use crate::image::{ROOTFS, Userland, cpio, elf};

/// The folders in which a guest looks for programs.
const FOLDERS: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];
/// The folder in which the agent runs. Relative paths of programs begin there.
const HOME: &str = "/root";

/// A program that a guest must or should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedProgram {
    /// The name or the path of the program.
    pub name: String,
    /// True if a missing program is an error. Otherwise it is omitted.
    pub required: bool,
}

impl GuestSpec {
    /// Adds those of the programs that the image lacks, from this machine.
    ///
    /// # Errors
    /// [`VmError::Missing`] names a required program that neither has.
    pub fn add_programs(&mut self, wanted: &[WantedProgram]) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        if let Some(root) = self.userland.as_ref().filter(|userland| userland.is_root) {
            return all_in_root(root, wanted);
        }
        let mut has = BTreeSet::new();
        let userland = self.userland.as_ref().map(|userland| &userland.file);
        for archive in [&self.image].into_iter().chain(userland) {
            let bytes = fs::read(archive).at("read", archive)?;
            has.extend(cpio::names(&bytes).into_iter().map(str::to_owned));
        }
        let mut packing = Packing { has, files: Vec::new() };
        for WantedProgram { name, required } in wanted {
            if !packing.program(name)? && *required {
                return Err(VmError::missing(
                    format!(
                        "the program '{name}' is neither in the guest's image nor on this \
                         machine's PATH"
                    ),
                    "install it, write where it is, or name its package in [guest] of a stack \
                     file",
                ));
            }
        }
        self.files.extend(packing.files);
        Ok(())
    }
}

/// Checks that a root file system has the programs that have a plain name. Nothing is added to it.
fn all_in_root(root: &Userland, wanted: &[WantedProgram]) -> Result<()> {
    let bytes = fs::read(&root.file).at("read", &root.file)?;
    let names: BTreeSet<&str> = cpio::names(&bytes).into_iter().collect();
    let prefix = ROOTFS.trim_start_matches('/');
    let folders = FOLDERS.into_iter().chain(["usr/local/sbin", "usr/local/bin"]);
    let folders: Vec<String> = folders.map(|folder| format!("{prefix}/{folder}")).collect();
    let lacks = |wanted: &&WantedProgram| {
        let name = &wanted.name;
        let is_there = folders.iter().any(|at| names.contains(format!("{at}/{name}").as_str()));
        wanted.required && !name.contains('/') && !is_there
    };
    wanted.iter().find(lacks).map_or(Ok(()), |wanted| {
        let text = format!("the program '{}' is not in the guest's 'rootfs'", wanted.name);
        Err(VmError::missing(text, "put it into the archive"))
    })
}

/// Finds a program of this machine, by its name on the PATH or by its path.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(runs)
}

struct Packing {
    /// The paths that exist in the guest, without their first slash.
    has: BTreeSet<String>,
    files: Vec<GuestFile>,
}

impl Packing {
    /// Ensures that a program is in the guest. Returns false if this machine does not have it
    /// either.
    fn program(&mut self, name: &str) -> Result<bool> {
        let place = if name.starts_with('/') {
            name.to_owned()
        } else if name.contains('/') {
            let plain =
                name.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>();
            if plain.contains(&"..") {
                return Err(VmError::Usage(format!(
                    "the program '{name}': write a path without '..'"
                )));
            }
            format!("{HOME}/{}", plain.join("/"))
        } else if FOLDERS.iter().any(|folder| self.has.contains(&format!("{folder}/{name}"))) {
            return Ok(true);
        } else {
            format!("{FOLDER}/bin/{name}")
        };
        if self.has.contains(place.trim_start_matches('/')) {
            return Ok(true);
        }
        let Some(found) = find_program(name) else { return Ok(false) };
        self.pack(&found, &place)?;
        Ok(true)
    }

    fn pack(&mut self, found: &Path, place: &str) -> Result<()> {
        self.has.insert(place.trim_start_matches('/').to_owned());
        let mut bytes = Vec::new();
        fs::File::open(found)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .at("read", found)?;
        match elf::parse(&bytes).map(|elf| elf.interpreter) {
            Some(Some(loader)) => self.dynamic(found, place, Path::new(&loader), bytes)?,
            Some(None) => self.file(place, elf::strip(bytes)),
            None => {
                for interpreter in interpreters(&bytes) {
                    if !self.program(&interpreter)? {
                        return Err(VmError::missing(
                            format!(
                                "{} is a script for '{interpreter}', which is not there",
                                found.display()
                            ),
                            "install that",
                        ));
                    }
                }
                self.file(place, bytes);
            }
        }
        Ok(())
    }

    fn dynamic(&mut self, found: &Path, place: &str, loader: &Path, bytes: Vec<u8>) -> Result<()> {
        for library in libraries(loader, found)? {
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            let contents = fs::read(&library).at("read", &library)?;
            self.file(&format!("{FOLDER}/lib/{name}"), elf::strip(contents));
        }
        let name = loader.file_name().unwrap_or_default().to_string_lossy();
        let own = format!("{FOLDER}/{name}");
        self.file(&own, fs::read(loader).at("read", loader)?);
        let program = format!("{FOLDER}/programs{place}");
        let start = format!(
            "#!/bin/sh\nexec {own} --argv0 \"$0\" --library-path {FOLDER}/lib {program} \"$@\"\n"
        );
        self.file(&program, elf::strip(bytes));
        self.file(place, start.into_bytes());
        Ok(())
    }

    fn file(&mut self, path: &str, contents: Vec<u8>) {
        self.files.push(GuestFile { path: path.to_owned(), mode: 0o755, contents });
    }
}

/// Returns the programs that the first line of a script names: its interpreter, and the program
/// that `env` must find.
fn interpreters(script: &[u8]) -> Vec<String> {
    let Some(line) =
        script.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next())
    else {
        return Vec::new();
    };
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let interpreter = words.next().map(str::to_owned);
    let by_env = interpreter.as_deref().is_some_and(|path| path.ends_with("/env"));
    let named = words.find(|word| !word.starts_with('-')).filter(|_| by_env).map(str::to_owned);
    interpreter.into_iter().chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packing() -> Packing {
        let has = ["bin/sh", "bin/cat"].map(str::to_owned).into();
        Packing { has, files: Vec::new() }
    }

    fn script(folder: &Path, name: &str, text: &str) -> String {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    #[test]
    fn programs_of_the_image_are_not_packed() {
        let mut packing = packing();
        assert!(packing.program("cat").unwrap());
        assert!(packing.program("/bin/sh").unwrap());
        assert!(packing.files.is_empty());
        assert!(!packing.program("no-such-program").unwrap());
    }

    #[test]
    fn a_dynamic_program_comes_with_its_own_loader_and_libraries_and_runs_there() {
        let mut packing = packing();
        let this = std::env::current_exe().unwrap().display().to_string();
        assert!(packing.program(&this).unwrap());
        let paths: Vec<&str> = packing.files.iter().map(|file| file.path.as_str()).collect();
        for path in [
            "/agent/lib/libc.so.6",
            "/agent/ld-linux-x86-64.so.2",
            &format!("/agent/programs{this}"),
            &this,
        ] {
            assert!(paths.contains(&path), "{path}: {paths:?}");
        }
        let start = packing.files.iter().find(|file| file.path == this).unwrap();
        assert!(start.contents.starts_with(b"#!/bin/sh\nexec /agent/ld-linux"));
    }

    #[test]
    fn a_script_comes_with_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let mut packing = packing();
        assert!(packing.program(&script(folder.path(), "plain", "#!/bin/sh\ntrue\n")).unwrap());
        assert_eq!(packing.files.len(), 1, "its interpreter is in the image");
        let interpreter = script(folder.path(), "interpreter", "#!/bin/sh\ntrue\n");
        assert!(
            packing
                .program(&script(folder.path(), "other", &format!("#!{interpreter} -x\ntrue\n")))
                .unwrap()
        );
        assert!(packing.files.iter().any(|file| file.path == interpreter));
        let lost = script(folder.path(), "lost", "#!/no/such/interpreter\n");
        assert!(packing.program(&lost).unwrap_err().to_string().contains("'/no/such/interpreter'"));
        assert_eq!(interpreters(b"#!/usr/bin/env -S cat -n\n"), ["/usr/bin/env", "cat"]);
        assert!(interpreters(b"no script").is_empty());
    }
}
