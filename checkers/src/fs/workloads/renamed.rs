//! Renamed files: where a rename is one change, a file that had a durable name has one of its names
//! after every crash.
//!
//! The rest of the check treats a rename as two operations, so that both names may be missing. This
//! promise (`moved-name`) is judged where the profile keeps it. It is judged for files with one
//! name that were only renamed since a sync of everything: link, unlink, exchange and being
//! replaced end it. Directories may have moved as well.

use std::collections::BTreeMap;

use explode_ramdisk::files::{Files, FsCall};
use explode_runtime::verdict::{CheckError, ShellDemand, Verdict, Violation};

use crate::fs::model::promise::PromisedContents;
use crate::fs::model::{Abstract, History, Id, split};

/// The promise that is judged.
pub const MOVED: &str = "moved-name";

/// A directory and a name in it.
type Place = (Id, String);

/// The places of files and directories since the last sync.
#[derive(Clone, Debug, Default, Hash)]
pub struct RenamedFiles(BTreeMap<Id, Vec<Place>>);

impl RenamedFiles {
    /// Records that everything is durable.
    pub fn sync(&mut self, fs: &Abstract) {
        self.0.clear();
        let paths = fs.paths();
        for (path, id) in &paths {
            let names = paths.iter().filter(|(_, other)| other == id).count();
            if names == 1 && !fs.is_symlink(*id) {
                self.0.insert(*id, place(fs, path).into_iter().collect());
            }
        }
    }

    /// Follows a call that has succeeded. `fs` is the tree before it.
    pub fn follow(&mut self, fs: &Abstract, call: &FsCall) {
        match call {
            FsCall::Rename { from, to } | FsCall::RenameNoReplace { from, to } => {
                self.forget(fs, to);
                self.moves(fs, from, to);
            }
            FsCall::Exchange { from, to } => {
                self.forget(fs, from);
                self.forget(fs, to);
                self.moves(fs, from, to);
                self.moves(fs, to, from);
            }
            FsCall::Link { from: path, .. } | FsCall::Unlink { path } => self.forget(fs, path),
            FsCall::Mkdir { path } => {
                self.0.insert(fs.next(), place(fs, path).into_iter().collect());
            }
            _ => {}
        }
    }

    /// Adds the place `to` to those of the node at `from`.
    fn moves(&mut self, fs: &Abstract, from: &str, to: &str) {
        let places = fs.find(from).and_then(|id| self.0.get_mut(&id));
        if let (Some(places), Some(place)) = (places, place(fs, to)) {
            places.push(place);
        }
    }

    /// Promises nothing more about a file. Directories are kept, because files can be in them.
    fn forget(&mut self, fs: &Abstract, path: &str) {
        if let Some(id) = fs.find(path).filter(|id| !fs.is_directory(*id)) {
            self.0.remove(&id);
        }
    }

    /// Returns the paths at which a crash can leave a node.
    fn paths(&self, id: Id, below: &mut Vec<Id>) -> Vec<String> {
        if id == Abstract::ROOT {
            return vec![String::new()];
        }
        // A directory that was moved into another one, which was then moved into the first.
        if below.contains(&id) {
            return Vec::new();
        }
        below.push(id);
        let mut paths = Vec::new();
        for (directory, name) in self.0.get(&id).into_iter().flatten() {
            let parents = self.paths(*directory, below);
            paths.extend(parents.iter().map(|parent| format!("{parent}/{name}")));
        }
        below.pop();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the paths of each renamed file, and the contents that it must have at one of them.
    fn promised<'a>(
        &'a self,
        fs: &'a Abstract,
        history: &'a History,
    ) -> impl Iterator<Item = (Vec<String>, PromisedContents)> + 'a {
        self.0.keys().filter(|id| fs.is_file(**id)).filter_map(|id| {
            let paths = self.paths(*id, &mut Vec::new());
            let contents = history.file(*id)?.forced.promised(true)?;
            (paths.len() >= 2).then_some((paths, contents))
        })
    }

    /// Returns what [`judge`](RenamedFiles::judge) demands, in a form that a shell can test.
    pub fn demands(&self, fs: &Abstract, history: &History) -> Vec<ShellDemand> {
        let promised = self.promised(fs, history);
        let any = promised.map(|(paths, contents)| {
            let file = |path| ShellDemand::File(path, vec![contents.demand()]);
            ShellDemand::Any(paths.into_iter().map(file).collect())
        });
        any.collect()
    }

    /// Checks that each renamed file is at one of its paths, with the contents that it must have.
    pub fn judge(
        &self,
        files: &dyn Files,
        fs: &Abstract,
        history: &History,
    ) -> Result<(), CheckError> {
        for (paths, contents) in self.promised(fs, history) {
            let mut is_there = false;
            for path in &paths {
                match contents.judge(files, path) {
                    Ok(()) => is_there = true,
                    Err(CheckError::Violation(_)) => {}
                    Err(broken) => return Err(broken),
                }
            }
            if !is_there {
                let message = format!(
                    "a file was synced and renamed, and has none of its names: {}",
                    paths.join(", ")
                );
                return Err(Violation::new(Verdict::Lost, MOVED, message).into());
            }
        }
        Ok(())
    }
}

/// Returns the directory and the name of a path. `None` if the directory does not exist.
fn place(fs: &Abstract, path: &str) -> Option<Place> {
    let (parent, name) = split(path);
    Some((fs.find(parent)?, name.to_owned()))
}
