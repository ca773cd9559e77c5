//! The calls that workloads consist of, and the ways of forcing what they change.

use explode_ramdisk::files::{FsCall, NAMELESS, OpenFiles, REMOVED_DIRECTORY};
use itertools::Itertools as _;

use crate::fs::model::{Abstract, Group, Groups, Id, split};
use crate::fs::start::Start;
use crate::fs::topology::{BLOCK, Limits, TopologyCall};

/// A set of calls and of ways of forcing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Twelve calls, and forcing of what a call has changed.
    Core,
    /// All calls, and forcing of any file or directory.
    Full,
}

impl Alphabet {
    pub const ALL: [(&'static str, Alphabet); 2] =
        [("core", Alphabet::Core), ("full", Alphabet::Full)];

    /// Returns the calls besides those that change names.
    pub fn groups(self) -> Groups {
        match self {
            Alphabet::Core => Groups::of(&[Group::Contents, Group::Allocate, Group::Punch]),
            Alphabet::Full => Groups::EVERY,
        }
    }

    /// Returns the limits of a tree: a name and a directory more than a committed start has. A
    /// file is written at its start and behind its second block.
    pub fn limits(self) -> Limits {
        let files = if self == Alphabet::Full { 5 } else { 4 };
        Limits { files, dirs: 3, far: 2 * BLOCK, calls: self.groups() }
    }

    /// Returns the calls that are possible on a tree. `open` are the open files. `new` returns the
    /// next new name in a directory.
    pub fn calls(
        self,
        fs: &Abstract,
        start: Start,
        open: &OpenFiles,
        limits: &Limits,
        new: &dyn Fn(Id) -> Option<String>,
    ) -> Vec<TopologyCall> {
        let mut limits = *limits;
        if start.is_open() {
            // The open files lose their names by unlink and rename.
            limits.calls = limits.calls.without("held").without("tmpfile");
        }
        let mut calls = TopologyCall::possible_by(fs, &limits, new);
        if open.paths().contains(&NAMELESS) {
            calls.push(TopologyCall::pwrite(NAMELESS, 0));
        }
        calls
    }

    /// Returns the ways of forcing after a call that has changed the tree `before` to `after`.
    pub fn forcings(
        self,
        call: &TopologyCall,
        before: &Abstract,
        after: &Abstract,
        open: &OpenFiles,
    ) -> Vec<Option<FsCall>> {
        let mut forced: Vec<String> = match self {
            Alphabet::Core => changed(call, before, after),
            Alphabet::Full => after.paths().into_iter().map(|(path, _)| path).collect(),
        };
        if self == Alphabet::Full {
            forced.push("/".to_owned());
        }
        let fsync = |path: &String| match after.find(path) {
            Some(id) if after.is_symlink(id) => None,
            Some(id) if after.is_directory(id) => Some(FsCall::FsyncDir { path: path.clone() }),
            Some(_) => Some(FsCall::Fsync { path: path.clone() }),
            None => None,
        };
        let nameless = open.paths().contains(&NAMELESS);
        let nameless = nameless.then(|| FsCall::Fsync { path: NAMELESS.to_owned() });
        let removed = open.has_removed_directory();
        let removed = removed.then(|| FsCall::FsyncDir { path: REMOVED_DIRECTORY.to_owned() });
        let fdatasync = |path: &String| {
            let id = after.find(path).filter(|id| self == Alphabet::Full && after.is_file(*id));
            id.map(|_| FsCall::Fdatasync { path: path.clone() })
        };
        let syncs = forced.iter().filter_map(fsync).chain(nameless).chain(removed);
        let syncs = syncs.chain(forced.iter().filter_map(fdatasync)).chain([FsCall::Syncfs]);
        [None].into_iter().chain(syncs.map(Some)).collect()
    }
}

/// Returns the paths of the objects that a call has changed, by each of their names, and of the
/// directories that contain them or have contained them.
fn changed(call: &TopologyCall, before: &Abstract, after: &Abstract) -> Vec<String> {
    let named = match call {
        TopologyCall::One(FsCall::Unlink { path }) => before.find(path),
        TopologyCall::One(FsCall::Rename { to, .. }) => before.find(to),
        _ => None,
    };
    let ids = call.objects().into_iter().filter_map(|path| after.find(path)).chain(named);
    let ids: Vec<Id> = ids.collect();
    let paths = after.paths();
    let objects = paths.iter().filter(|(_, id)| ids.contains(id)).map(|(path, _)| path.clone());
    let mut changed: Vec<String> = objects.collect();
    let mut directories: Vec<String> = call.directories().into_iter().map(str::to_owned).collect();
    if directories.is_empty() {
        directories = changed.iter().map(|path| parent(path)).collect();
    }
    changed.extend(directories);
    changed.into_iter().unique().collect()
}

/// Returns the directory of a path.
fn parent(path: &str) -> String {
    match split(path).0 {
        "" => "/".to_owned(),
        parent => parent.to_owned(),
    }
}
