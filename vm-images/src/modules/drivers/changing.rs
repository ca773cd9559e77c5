//! Drivers of a tree that the user may edit. They are built again when the contents of their
//! sources change, and only the affected objects are compiled.
//!
//! The overlay of a driver is kept with its objects. Its copies follow the tree by contents.
//! Headers around it are read in the tree itself, where make uses their times. If the contents of
//! one have changed since, the overlay is made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::overlay;
use super::part::{KIND, Part, build_part};
use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::Building;
use crate::host;
use crate::kernel::BuiltKernel;
use crate::modules::uses::{self, Files};
use crate::tools::{self, Tools};

/// Returns the entry with the modules of these parts. `base` has the inputs that are known before
/// the build.
pub(super) fn get(
    build: &Build<'_>,
    kernel: &BuiltKernel,
    parts: &[Part],
    base: &CacheKey,
) -> Result<PathBuf> {
    let find = || uses::find(build.cache, KIND, &kernel.tree, base);
    if let Some(entry) = find() {
        return Ok(entry);
    }
    host::check()?;
    let tools = tools::get(build)?;
    let names: Vec<_> = parts.iter().map(Part::file).collect();
    let place =
        CacheKey::new(1).with("tree", kernel.tree.display()).with("modules", names.join(" "));
    build.cache.work(KIND, &place, build.progress, |building| {
        // Another process may have built it meanwhile.
        if let Some(entry) = find() {
            return Ok(entry);
        }
        let files = build_parts(building, &tools, kernel, parts, base)?;
        uses::enter(build, KIND, &kernel.tree, base, &files, &building.dir, &names)
    })
}

/// Builds the parts. Returns the files of the tree from which they were made.
fn build_parts(
    building: &Building<'_>,
    tools: &Tools,
    kernel: &BuiltKernel,
    parts: &[Part],
    base: &CacheKey,
) -> Result<Files> {
    let (tree, overlay) = (&kernel.tree, building.dir.join("overlay"));
    let state = building.dir.join("state");
    if !fs::read_to_string(&state).is_ok_and(|state| holds(&state, tree, base)) && overlay.exists()
    {
        fs::remove_dir_all(&overlay).at("remove", &overlay)?;
    }
    // A build that is ended by a signal leaves no state.
    if state.exists() {
        fs::remove_file(&state).at("remove", &state)?;
    }
    fs::create_dir_all(&overlay).at("make the folder", &overlay)?;
    let started = SystemTime::now();
    let mut copied = Files::new();
    let mut symbols = Vec::new();
    let built = parts.iter().try_for_each(|part| {
        overlay::update(tree, &overlay, Path::new(part.folder), &mut copied)?;
        build_part(building, tools, kernel, part, &overlay, &mut symbols)
    });
    let mut files = uses::of_objects(tree, &overlay)?;
    files.retain(|file| !parts.iter().any(|part| Path::new(file).starts_with(part.folder)));
    if let Err(changed) = uses::unchanged_since(tree, &files, started) {
        return built.and(Err(changed));
    }
    let lines: String =
        files.iter().map(|file| format!("{} {file}\n", uses::content(&tree.join(file)))).collect();
    fs::write(&state, format!("{}\n{lines}", base.hash())).at("write", &state)?;
    built.map_err(|error| in_tree(error, tree, &overlay))?;
    // The entry's key is computed from the files in the tree, so the copies must have the same
    // contents.
    for file in &copied {
        if uses::content(&tree.join(file)) != uses::content(&overlay.join(file)) {
            return Err(uses::changed(tree, file));
        }
    }
    files.extend(copied);
    Ok(files)
}

/// Replaces the paths of copies in the errors of a build by those of the originals, which the user
/// edits.
fn in_tree(error: VmError, tree: &Path, overlay: &Path) -> VmError {
    let (copy, original) = (overlay.display().to_string(), tree.display().to_string());
    match error {
        VmError::Build { text, heading, lines, log } => {
            VmError::Build { text, heading, lines: lines.replace(&copy, &original), log }
        }
        other => other,
    }
}

/// Returns true if the headers around the overlay are unchanged since it was built.
fn holds(state: &str, tree: &Path, base: &CacheKey) -> bool {
    let mut lines = state.lines();
    lines.next() == Some(&base.hash())
        && lines.all(|line| {
            line.split_once(' ')
                .is_some_and(|(content, file)| uses::content(&tree.join(file)) == content)
        })
}
