//! What can be said of single names, for a shell: where each name on the path leads to one thing whatever a crash does, what that must be.
//! So each tree that is legal is as they say; but there are others that are, for all of a tree at once is more than its names one by one.

use explode_runtime::check::{Contents, Demand, Violation};

use super::contents;
use super::history::{History, Place};
use crate::fs::topology::{Abstract, Id, Node};

/// The promises that single names can break.
const SINGLE: [&str; 3] = ["flushed-name", "deleted-name", contents::FLUSHED];

/// What must be so, if what was found broken is among it.
pub fn demands(fs: &Abstract, history: &History, violation: &Violation) -> Option<Vec<Demand>> {
    if !SINGLE.contains(&violation.promise.as_str()) {
        return None;
    }
    let mut all = Vec::new();
    below(fs, history, Abstract::ROOT, "", &mut all);
    // A violation begins with its path.
    let path = violation.message.split(' ').next()?;
    let broken = all.iter().any(|demand| match demand {
        Demand::File(of, any) | Demand::Perhaps(of, any) => {
            // With more than one it may be one for its forced bytes, and another for those that were not.
            of == path && (violation.promise != contents::FLUSHED || any.len() == 1)
        }
        Demand::Directory(of) | Demand::Nothing(of) | Demand::Symlink(of, _) => of == path,
        Demand::Mode(..) | Demand::Xattrs(..) | Demand::Command { .. } => false,
    });
    broken.then_some(all)
}

/// What is said of the names in a directory that is where it is whatever a crash does, and of those below.
fn below(fs: &Abstract, history: &History, directory: Id, parent: &str, all: &mut Vec<Demand>) {
    for place in history.places().filter(|place| place.directory == directory) {
        let path = format!("{parent}/{}", place.name);
        let demand = of_name(fs, history, &place, &path);
        if let Some(Demand::Directory(_)) = demand {
            place.leads[0].iter().for_each(|id| below(fs, history, *id, &path, all));
        }
        all.extend(demand);
    }
}

fn of_name(fs: &Abstract, history: &History, place: &Place<'_>, path: &str) -> Option<Demand> {
    let path = path.to_owned();
    let ids: Vec<Id> = place.leads.iter().copied().flatten().collect();
    let alive = |id: &Id| fs.paths().iter().any(|(_, other)| other == id);
    let must_be = !place.leads.contains(&None) && ids.iter().all(|id| history.is_made(*id));
    // What is gone may be anything.
    if !ids.iter().all(alive) {
        return None;
    }
    match ids.as_slice() {
        [] => Some(Demand::Nothing(path)),
        [id] if fs.is_directory(*id) => must_be.then_some(Demand::Directory(path)),
        [id] if fs.is_symlink(*id) => match fs.node(*id) {
            Node::Symlink(target) if must_be => Some(Demand::Symlink(path, target.clone())),
            _ => None,
        },
        files if files.iter().all(|id| fs.is_file(*id)) => {
            let any = files.iter().map(|id| forced(history, *id)).collect();
            Some(if must_be { Demand::File(path, any) } else { Demand::Perhaps(path, any) })
        }
        _ => None,
    }
}

/// What of a file was forced.
fn forced(history: &History, id: Id) -> Contents {
    let promised = history.file(id).and_then(|written| written.forced.promised(true));
    promised.map_or(Contents { least: 0, most: None, parts: Vec::new() }, |contents| contents.demand())
}
