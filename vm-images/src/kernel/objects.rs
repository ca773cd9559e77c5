//! The objects of a built tree, and the files from which each was compiled. The kernel's build
//! writes them to `.NAME.o.cmd` for make.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::{ErrorContext, Result};

/// The folders at the top of a tree that contain no part of the kernel.
const ELSEWHERE: &[&str] = &["Documentation", "samples", "scripts", "tools"];

/// The archives whose members are linked into the kernel.
const LINKED: &[&str] = &["vmlinux.a", "lib/lib.a", "arch/x86/lib/lib.a"];

/// The build's record of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object<'a> {
    /// True if the object belongs to a module.
    pub module: bool,
    /// The source, the files that it includes, and a file for each option of the configuration that
    /// these use. Relative paths begin where make ran.
    pub files: Vec<&'a str>,
}

/// Parses a `.cmd` file. `None` if it is of something that was not compiled.
pub(crate) fn parse(text: &str) -> Option<Object<'_>> {
    let mut lines = text.lines();
    let command = lines.next()?;
    let module = command.contains(" -DMODULE") || command.contains(" --cfg MODULE");
    let source = lines.find(|line| line.starts_with("source_"))?.split_once(" := ")?.1;
    let uses = lines.skip_while(|line| !line.starts_with("deps_")).skip(1);
    let uses =
        uses.map(|line| line.trim_end_matches('\\').trim()).take_while(|line| !line.is_empty());
    let plain = |word: &'static str, path| str::strip_prefix(path, word).unwrap_or(path);
    let files = std::iter::once(source).chain(uses).map(|path| {
        let option = path.strip_prefix("$(wildcard ").and_then(|rest| rest.strip_suffix(')'));
        plain("./", option.unwrap_or(path))
    });
    Some(Object { module, files: files.collect() })
}

/// Returns true for a file that every build makes again.
pub(crate) fn is_generated(path: &str) -> bool {
    path.contains("include/generated/")
        || path.ends_with("_generated.rs")
        || path.ends_with(".rmeta")
}

/// Returns the `.cmd` files of the objects in a tree. Those of modules are included only if the
/// objects that are linked into the kernel are unknown.
pub(crate) fn of_tree(tree: &Path) -> Result<Vec<PathBuf>> {
    let linked = linked(tree);
    if !linked.is_empty() {
        return Ok(linked);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(tree).at("list", tree)? {
        let entry = entry.at("list", tree)?;
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        if entry.file_type().at("read", &entry.path())?.is_dir()
            && !hidden
            && !ELSEWHERE.iter().any(|elsewhere| name == *elsewhere)
        {
            below(&entry.path(), &mut found)?;
        }
    }
    Ok(found)
}

/// Adds the `.cmd` files of the objects in a folder and below.
pub(crate) fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).at("list", folder)? {
        let entry = entry.at("list", folder)?;
        if entry.file_type().at("read", &entry.path())?.is_dir() {
            below(&entry.path(), found)?;
        } else if entry.file_name().as_encoded_bytes().ends_with(b".o.cmd") {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Returns the `.cmd` files of the objects that are linked into the kernel. Empty if the archives
/// are gone.
fn linked(tree: &Path) -> Vec<PathBuf> {
    if !tree.join(LINKED[0]).is_file() {
        return Vec::new();
    }
    let mut found = BTreeSet::new();
    for archive in LINKED {
        let folder = tree.join(archive).parent().unwrap_or(tree).to_owned();
        for member in members(&fs::read(tree.join(archive)).unwrap_or_default()) {
            let object = folder.join(member);
            let name = object.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(object.with_file_name(format!(".{name}.cmd")));
        }
    }
    found.into_iter().filter(|path| path.is_file()).collect()
}

/// Returns the members of a thin archive. Its second entry is a table of their paths, each ended by
/// a slash and a line feed.
fn members(archive: &[u8]) -> Vec<String> {
    const HEADER: usize = 60;
    let mut at = 8;
    while archive.starts_with(b"!<thin>\n") && at + HEADER <= archive.len() {
        let header = String::from_utf8_lossy(&archive[at..at + HEADER]).into_owned();
        let Some(bytes) = header.get(48..58).and_then(|size| size.trim().parse::<usize>().ok())
        else {
            break;
        };
        let (begin, end) = (at + HEADER, (at + HEADER).saturating_add(bytes).min(archive.len()));
        if header.starts_with("//") {
            let table = String::from_utf8_lossy(&archive[begin..end]).into_owned();
            return table
                .split("/\n")
                .filter(|name| !name.trim().is_empty())
                .map(str::to_owned)
                .collect();
        }
        // The symbols of all members come before the table.
        at = begin + bytes.next_multiple_of(2);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const TEXT: &str = "savedcmd_fs/a/b.o := gcc -DMODULE -c -o fs/a/b.o \
                        fs/a/b.c \n\nsource_fs/a/b.o := fs/a/b.c\n\n\
                        deps_fs/a/b.o := \\\n    $(wildcard include/config/FOO) \\\n  \
                        ./include/linux/x.h \\\n\n\
                        fs/a/b.o: $(deps_fs/a/b.o)\n";

    #[test]
    fn the_files_of_an_object_are_read() {
        let files = vec!["fs/a/b.c", "include/config/FOO", "include/linux/x.h"];
        assert_eq!(parse(TEXT), Some(Object { module: true, files: files.clone() }));
        assert_eq!(parse(&TEXT.replace("-DMODULE ", "")), Some(Object { module: false, files }));
        assert_eq!(parse("savedcmd_fs/built-in.a := rm -f fs/built-in.a\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn linked_objects_are_read_from_the_archives() {
        let tree = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, TEXT).unwrap();
            path
        };
        let objects = ["fs/a.o", "fs/deep/b.o", "lib/c.o", "fs/left-over.o"];
        let commands = ["fs/.a.o.cmd", "fs/deep/.b.o.cmd", "lib/.c.o.cmd", "fs/.left-over.o.cmd"];
        objects.iter().for_each(|name| drop(file(name)));
        let commands = commands.map(file);
        file("scripts/.host.o.cmd");
        let mut all = of_tree(tree.path()).unwrap();
        all.sort();
        assert_eq!(all, {
            let mut commands = commands.to_vec();
            commands.sort();
            commands
        });
        let ar = |folder: &str, args: &[&str]| {
            let folder = tree.path().join(folder);
            assert!(Command::new("ar").args(args).current_dir(folder).status().unwrap().success());
        };
        ar("fs", &["cDPrST", "built-in.a", "a.o", "deep/b.o"]);
        ar(".", &["cDPrST", "vmlinux.a", "fs/built-in.a"]);
        ar("lib", &["cDPrsT", "lib.a", "c.o"]);
        assert_eq!(of_tree(tree.path()).unwrap(), commands[..3]);
    }
}
