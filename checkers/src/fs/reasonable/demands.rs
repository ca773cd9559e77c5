//! The promises about single names. If no name on a path can be changed by a crash, the promise
//! says what the path leads to. Every legal tree keeps these promises. Some trees that are not
//! legal keep them as well, because a whole tree must satisfy more than its names one by one.
//!
//! A shell script can test these promises. They are also the promises that remain if a profile
//! excludes the structure: on a disk whose structure is broken, forced data must still be there.

use explode_ramdisk::files::Files;
use explode_runtime::verdict::{CheckError, ShellDemand, Verdict, Violation};

use super::contents;
use super::words::{DELETED_NAME, FLUSHED_NAME, READABLE};
use crate::fs::model::promise::{PathPromise, PromisedContents, PromisedObject, is_the_machines};
use crate::fs::model::{Abstract, Groups, Id, ModelNode, Seen};
use crate::fs::model::{FLUSHED_ATTRIBUTES, History, NamePlace};

/// The promises that single names can break.
const SINGLE: [&str; 3] = [FLUSHED_NAME, DELETED_NAME, contents::FLUSHED];

/// Returns the demands on single names, and the one that everything can be read if that is broken.
/// `None` if the broken promise is not among them. `calls` are those whose attributes are read.
pub fn demands(
    fs: &Abstract,
    history: &History,
    calls: Groups,
    violation: &Violation,
) -> Option<Vec<ShellDemand>> {
    let all: Vec<ShellDemand> =
        promises(fs, history).iter().flat_map(|(promise, _)| promise.demands()).collect();
    if violation.promise == READABLE {
        let readable = ShellDemand::Readable { attributes: calls.are_of_attributes() };
        return Some([all, vec![readable]].concat());
    }
    if !SINGLE.contains(&violation.promise.as_str()) {
        return None;
    }
    // A violation begins with its path.
    let path = violation.message.split(' ').next()?;
    let broken = all.iter().any(|demand| match demand {
        ShellDemand::File(of, any) | ShellDemand::Perhaps(of, any) => {
            // A file with several possible contents may match one of them in its forced bytes, and
            // another in its unsynced bytes.
            of == path && (violation.promise != contents::FLUSHED || any.len() == 1)
        }
        ShellDemand::Directory(of) | ShellDemand::Nothing(of) | ShellDemand::Symlink(of, _) => {
            of == path
        }
        ShellDemand::Mode(..)
        | ShellDemand::Xattrs(..)
        | ShellDemand::Readable { .. }
        | ShellDemand::Any(_)
        | ShellDemand::Command { .. } => false,
    });
    broken.then_some(all)
}

/// Checks name by name that forced data is there, whatever else is wrong.
///
/// # Errors
/// Returns the first violation.
pub fn judge(
    files: &dyn Files,
    fs: &Abstract,
    history: &History,
    calls: Groups,
) -> Result<(), CheckError> {
    promises(fs, history).iter().try_for_each(|(promise, id)| {
        match &promise.object {
            // A file that was never forced need not be readable either.
            PromisedObject::Perhaps(any) if any.iter().any(is_nothing) => return Ok(()),
            _ => promise.judge(files)?,
        }
        let Some(id) = id.filter(|_| calls.are_of_attributes()) else { return Ok(()) };
        let path = &promise.path;
        match Seen::of(files, path, calls) {
            Ok(seen) => Ok(history.judge(fs, id, &seen, false).map_err(|violation| {
                let message = format!("{path} {}", violation.message);
                Violation { message, ..violation }
            })?),
            Err(errno) if is_the_machines(errno) => {
                Err(CheckError::broken(format!("{path}: {errno}")))
            }
            Err(errno) => {
                let text = format!("{path} has attributes that cannot be read: {errno}");
                Err(Violation::new(Verdict::Corrupt, FLUSHED_ATTRIBUTES, text).into())
            }
        }
    })
}

/// Returns true if nothing is promised about the contents of a file.
fn is_nothing(contents: &PromisedContents) -> bool {
    contents.least == 0 && contents.most.is_none() && contents.parts.is_empty()
}

/// Returns the promise about each name, with the inode of a file or directory that must be there.
fn promises(fs: &Abstract, history: &History) -> Vec<(PathPromise, Option<Id>)> {
    let mut all = Vec::new();
    below(fs, history, Abstract::ROOT, "", &mut all);
    all
}

/// Adds the promises about the names in a directory whose own path no crash can change, and about
/// those below.
fn below(
    fs: &Abstract,
    history: &History,
    directory: Id,
    parent: &str,
    all: &mut Vec<(PathPromise, Option<Id>)>,
) {
    for place in history.places().filter(|place| place.directory == directory) {
        let path = format!("{parent}/{}", place.name);
        let promised = of_name(fs, history, &place);
        if let Some((PromisedObject::Directory(_), Some(id))) = promised {
            below(fs, history, id, &path, all);
        }
        all.extend(promised.map(|(object, id)| (PathPromise { path, object }, id)));
    }
}

fn of_name(
    fs: &Abstract,
    history: &History,
    place: &NamePlace<'_>,
) -> Option<(PromisedObject, Option<Id>)> {
    let ids: Vec<Id> = place.leads.iter().copied().flatten().collect();
    let alive = |id: &Id| fs.paths().iter().any(|(_, other)| other == id);
    let must_be = !place.leads.contains(&None) && ids.iter().all(|id| history.is_made(*id));
    // An inode that has lost its last name may be anything.
    if !ids.iter().all(alive) {
        return None;
    }
    match ids.as_slice() {
        [] => Some((PromisedObject::Nothing(DELETED_NAME), None)),
        [id] if fs.is_directory(*id) => {
            must_be.then_some((PromisedObject::Directory(FLUSHED_NAME), Some(*id)))
        }
        [id] if fs.is_symlink(*id) => match fs.node(*id) {
            ModelNode::Symlink(target) if must_be => {
                Some((PromisedObject::Symlink(contents::FLUSHED, target.clone()), None))
            }
            _ => None,
        },
        files if files.iter().all(|id| fs.is_file(*id)) => {
            let any: Vec<PromisedContents> = files.iter().map(|id| forced(history, *id)).collect();
            Some(match (must_be, files) {
                (true, [id]) => {
                    (PromisedObject::File(FLUSHED_NAME, forced(history, *id)), Some(*id))
                }
                (true, _) => (PromisedObject::OneOf(FLUSHED_NAME, any), None),
                (false, _) => (PromisedObject::Perhaps(any), None),
            })
        }
        _ => None,
    }
}

/// Returns the forced contents of a file.
fn forced(history: &History, id: Id) -> PromisedContents {
    let promised = history.file(id).and_then(|written| written.forced.promised(true));
    let nothing =
        PromisedContents { promise: "", whole: false, least: 0, most: None, parts: Vec::new() };
    PromisedContents { promise: contents::FLUSHED, ..promised.unwrap_or(nothing) }
}
