//! The order of the workspace: in each crate a room uses only rooms that are listed before it, no
//! two files use each other, and no two crates depend on each other, directly or not.
//!
//! Rooms are the top-level modules of a crate. The head of its main file lists them, bottom first:
//!
//! ```text
//! //! # Rooms, bottom first
//! //!
//! //! - [`base`]: options, errors, exit codes
//! //! - `choose`: choice points and choices
//! //!
//! //! Of `explode_runtime` it uses `base`, `choose`.
//! ```
//!
//! The last line is optional. With it, no other room of that crate may be used.
//!
//! A file uses the files that define the items which its code names. `mod` lines and re-exports are
//! not uses, so a `mod.rs` of such lines is in no circle. A `mod.rs` that defines items for its
//! child modules and uses theirs is in one.
//!
//! Other rules: no code decides by the text of a message; no two public types have the same name;
//! lines, functions and files are short; some words are not used; each doc comment says what its item
//! is or does.
//!
//! Each page of `docs/` is in its summary, and each relative link of a page has a target.
//!
//! Test code is exempt, and so are comments and strings. The text is read as tokens, and names are
//! resolved through re-exports. A use without a name, such as the call of a method, is not found.
//!
//! There are no exceptions.

mod check;
mod circles;
mod doc_comments;
mod imports;
mod manifest;
mod messages;
mod names;
mod pages;
mod production;
mod promises;
mod rooms;
mod scope;
mod size;
mod tests;
mod tokens;
mod types;
mod uses;
mod words;
mod workspace;

use std::path::{Path, PathBuf};
use std::{env, fs};

use check::Findings;
use workspace::{Files, KBUILD};

#[test]
fn the_workspace_is_in_order() {
    let root = root();
    let files = files(&root);
    let mut problems = Findings::new(&files).all();
    problems.extend(promises::problems(&files));
    problems.extend(size::problems(&files));
    problems.extend(types::problems(&files));
    problems.extend(words::problems(&files));
    problems.extend(doc_comments::problems(&files));
    let pages = pages::read(&root);
    problems.extend(pages::problems(&pages, |path| root.join(path).exists()));
    problems.extend(words::problems(&pages));
    assert!(problems.is_empty(), "\n\n{}\n", problems.join("\n"));
}

/// Returns the workspace's folder. Cargo names it; the default is the current one.
fn root() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Reads the manifests, and the sources of all crates and kernel modules.
fn files(root: &Path) -> Files {
    let mut files = Files::new();
    let mut add = |path: &str| {
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            files.insert(path.to_owned(), text);
        }
    };
    add("Cargo.toml");
    let manifest = manifest::manifest(&fs::read_to_string(root.join("Cargo.toml")).unwrap());
    let mut folders = vec!["src".to_owned()];
    for member in manifest.members {
        add(&format!("{member}/Cargo.toml"));
        folders.push(format!("{member}/src"));
    }
    folders.extend(
        KBUILD
            .iter()
            .filter_map(|(_, main)| main.rsplit_once('/'))
            .map(|(folder, _)| folder.to_owned()),
    );
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                add(&path);
            }
        }
    }
    files
}
