//! The calls that are possible on a topology.
//!
//! A new name is the first letter that is free in its directory, unless the caller chooses names.
//! Calls use each name of a file, except clones, which use only the first name of each file.

use explode_ramdisk::files::{Fallocate, FsCall, WriteMethod};

use super::call::{TopologyCall, XATTR};
use super::{BLOCK, Limits};
use crate::fs::model::Attributes;
use crate::fs::model::groups::Group;
use crate::fs::model::{Abstract, Id};

/// A size in the middle of a block.
const MIDDLE: usize = 1000;
/// The targets of symbolic links. File systems keep a short target in the inode and a long one in a
/// block.
const TARGETS: [&str; 2] = [
    "a",
    concat!("a-long-target/", "that-does-not-fit-into-an-inode/", "of-ext2-ext4-or-anybody-else"),
];
/// The sizes of extended attributes in bytes. File systems keep a short value in the inode and a
/// long one in a block.
const VALUES: [usize; 2] = [5, 300];

impl TopologyCall {
    /// Returns every call that succeeds within the limits, node by node, in the order of
    /// [`Abstract::paths`]. Each call changes something, except the fallocate that keeps the size.
    pub fn possible(fs: &Abstract, limits: &Limits) -> Vec<TopologyCall> {
        TopologyCall::possible_by(fs, limits, &|at| first_letter(fs, at))
    }

    /// Returns every call as [`possible`](TopologyCall::possible) does, with the new names that the
    /// caller chooses, one per directory.
    pub fn possible_by(
        fs: &Abstract,
        limits: &Limits,
        new: &dyn Fn(Id) -> Option<String>,
    ) -> Vec<TopologyCall> {
        let fresh = |folder: &str, at: Id| new(at).map(|name| format!("{folder}/{name}"));
        let paths = fs.paths();
        let dirs = paths.iter().filter(|(_, id)| fs.is_directory(*id)).count();
        let files = paths.len() - dirs;
        let folders: Vec<(&str, Id)> = [("", Abstract::ROOT)]
            .into_iter()
            .chain(
                paths
                    .iter()
                    .filter(|(_, id)| fs.is_directory(*id))
                    .map(|(path, id)| (path.as_str(), *id)),
            )
            .collect();
        let mut calls = Vec::new();
        for (path, id) in &folders {
            let fresh = || fresh(path, *id);
            if files < limits.files {
                calls.extend(fresh().map(|path| TopologyCall::creat(&path)));
                calls.extend(fresh().into_iter().flat_map(|path| other_files(&path, limits)));
            }
            if dirs < limits.dirs {
                calls.extend(fresh().map(|path| FsCall::Mkdir { path }.into()));
            }
            if *id != Abstract::ROOT && fs.names(*id).next().is_none() {
                calls.push(FsCall::Rmdir { path: (*path).to_owned() }.into());
            }
        }
        for (at, (path, id)) in paths.iter().enumerate() {
            if !fs.is_directory(*id) {
                calls.extend(of_file(fs, path, *id, limits));
                if files < limits.files {
                    let to = folders.iter().filter_map(|(folder, at)| fresh(folder, *at));
                    calls.extend(to.map(|to| FsCall::Link { from: path.clone(), to }.into()));
                }
            }
            let to = targets(fs, path, *id, &folders, &paths, &fresh);
            calls.extend(to.map(|to| FsCall::Rename { from: path.clone(), to }.into()));
            calls.extend(of_node(fs, path, *id, limits));
            if limits.calls.has(Group::NoReplace) {
                let folder = &path[..path.rfind('/').unwrap_or_default()];
                let to = fs.find(folder).and_then(|id| fresh(folder, id));
                calls
                    .extend(to.map(|to| FsCall::RenameNoReplace { from: path.clone(), to }.into()));
            }
            calls.extend(with_another(fs, &paths, at, limits));
        }
        calls
    }
}

/// Returns the calls on the node at index `at` of `paths` and another node.
fn with_another(
    fs: &Abstract,
    paths: &[(String, Id)],
    at: usize,
    limits: &Limits,
) -> Vec<TopologyCall> {
    let (path, id) = &paths[at];
    let mut calls = Vec::new();
    if limits.calls.has(Group::Exchange) {
        let inside = |outer: &str, inner: &str| inner.starts_with(&format!("{outer}/"));
        let apart = |other: &str| !inside(path, other) && !inside(other, path);
        let others = paths[at + 1..].iter().filter(|(other, node)| node != id && apart(other));
        calls.extend(
            others.map(|(other, _)| {
                FsCall::Exchange { from: path.clone(), to: other.clone() }.into()
            }),
        );
    }
    let is_first = |at: usize| paths[..at].iter().all(|(_, id)| *id != paths[at].1);
    if limits.calls.has(Group::Reflink) && is_first(at) && !fs.bytes(*id).is_empty() {
        let others = paths.iter().enumerate().filter(|(other, (_, node))| {
            fs.is_file(*node) && node != id && is_first(*other) && fs.bytes(*node) != fs.bytes(*id)
        });
        calls.extend(
            others.map(|(_, (other, _))| TopologyCall::Clone {
                from: path.clone(),
                to: other.clone(),
            }),
        );
    }
    if limits.calls.has(Group::Copy) && is_first(at) && fs.bytes(*id).len() >= BLOCK {
        let others = paths
            .iter()
            .enumerate()
            .filter(|(other, (_, node))| fs.is_file(*node) && node != id && is_first(*other));
        calls.extend(others.map(|(_, (other, _))| TopologyCall::copy(path, other)));
    }
    calls
}

/// Returns the calls, except creat, that make a file or a symbolic link.
fn other_files(path: &str, limits: &Limits) -> Vec<TopologyCall> {
    let mut calls = Vec::new();
    if limits.calls.has(Group::Symlink) {
        let link = |target: &str| {
            FsCall::Symlink { target: target.to_owned(), path: path.to_owned() }.into()
        };
        calls.extend(TARGETS.map(link));
    }
    if limits.calls.has(Group::Tmpfile) {
        calls.push(TopologyCall::Tmpfile { path: path.to_owned() });
    }
    calls
}

/// Returns the calls on a file or symbolic link by one of its names.
fn of_file(fs: &Abstract, name: &str, id: Id, limits: &Limits) -> Vec<TopologyCall> {
    let path = || name.to_owned();
    let mut calls = Vec::new();
    if fs.is_file(id) {
        let bytes = fs.bytes(id);
        let size = bytes.len();
        if limits.calls.has(Group::Contents) {
            let sizes = [0, MIDDLE].into_iter().filter(|wanted| *wanted != size);
            let sizes = sizes.map(|size| FsCall::Ftruncate { path: path(), size: size as u64 });
            calls.extend(sizes.map(TopologyCall::One));
            calls.extend([0, limits.far].map(|at| TopologyCall::pwrite(name, at)));
        }
        let written = bytes.iter().take(BLOCK).any(|byte| *byte != 0);
        let candidates = [
            (Group::Allocate, Fallocate::Allocate, 0, size < BLOCK),
            (Group::Allocate, Fallocate::KeepSize, limits.far, size < limits.far),
            (Group::Punch, Fallocate::PunchHole, 0, written),
            (Group::Zero, Fallocate::ZeroRange, 0, written || size < BLOCK),
            (Group::Shift, Fallocate::CollapseRange, 0, size > BLOCK),
            (Group::Shift, Fallocate::InsertRange, 0, size > 0 && size <= limits.far),
        ];
        let possible = candidates
            .into_iter()
            .filter(|(group, .., changes)| *changes && limits.calls.has(*group));
        calls.extend(possible.map(|(_, mode, at, _)| TopologyCall::fallocate(name, mode, at)));
        calls.extend(flagged(name, size, limits));
        let longer = limits.far + MIDDLE;
        if limits.calls.has(Group::Extend) && size < longer {
            calls.push(FsCall::Ftruncate { path: path(), size: longer as u64 }.into());
        }
        if limits.calls.has(Group::Mmap) && size >= BLOCK {
            calls.push(TopologyCall::store(name));
        }
        if limits.calls.has(Group::Held)
            && fs.paths().iter().filter(|(_, other)| *other == id).count() == 1
        {
            calls.push(TopologyCall::UnlinkHeld { path: path() });
        }
    }
    calls.push(FsCall::Unlink { path: path() }.into());
    calls
}

/// Returns the calls that open a file of this size with a flag of their own.
fn flagged(name: &str, size: usize, limits: &Limits) -> Vec<TopologyCall> {
    let mut calls = Vec::new();
    let mut add = |group, wanted: &[(usize, WriteMethod)]| {
        if limits.calls.has(group) {
            calls.extend(wanted.iter().map(|(at, how)| TopologyCall::write(name, *at, *how)));
        }
    };
    add(Group::Append, &[(size, WriteMethod::Appended)]);
    add(Group::Direct, &[(0, WriteMethod::Direct), (limits.far, WriteMethod::Direct)]);
    let synced = [WriteMethod::Synced, WriteMethod::DataSynced];
    add(Group::OSync, &synced.map(|how| (0, how)));
    add(Group::OSync, &synced.map(|how| (limits.far, how)));
    if limits.calls.has(Group::Truncate) && size > 0 {
        calls.push(TopologyCall::truncate(name));
    }
    calls
}

/// Returns the calls on a file or directory that change neither names nor contents.
fn of_node(fs: &Abstract, path: &str, id: Id, limits: &Limits) -> Vec<TopologyCall> {
    let mut calls = Vec::new();
    if fs.is_symlink(id) {
        return calls;
    }
    let has = fs.attributes(id);
    if limits.calls.has(Group::Chmod) {
        let new = Attributes::new(fs.is_directory(id)).mode;
        let mode = if has.mode == new { new & 0o700 } else { new };
        calls.push(FsCall::Chmod { path: path.to_owned(), mode }.into());
    }
    if limits.calls.has(Group::Xattr) {
        let len = has.xattrs.get(XATTR).map(Vec::len);
        let others = VALUES.into_iter().filter(|other| Some(*other) != len);
        calls.extend(others.map(|len| TopologyCall::setxattr(path, len)));
        calls.extend(len.map(|_| TopologyCall::removexattr(path)));
    }
    calls
}

/// Returns the paths to which a node can be renamed: a new name in each directory, and each name
/// that it can replace.
fn targets<'a>(
    fs: &'a Abstract,
    path: &'a str,
    id: Id,
    folders: &'a [(&str, Id)],
    paths: &'a [(String, Id)],
    fresh: &'a dyn Fn(&str, Id) -> Option<String>,
) -> impl Iterator<Item = String> {
    let below = format!("{path}/");
    let inside =
        move |other: &str| fs.is_directory(id) && (other == path || other.starts_with(&below));
    let apart = inside.clone();
    let outside = folders.iter().filter(move |(folder, _)| !inside(folder));
    let new = outside.filter_map(|(folder, at)| fresh(folder, *at));
    let replaced = paths.iter().filter(move |(path, other)| {
        let empty = !fs.is_directory(*other) || fs.names(*other).next().is_none();
        *other != id && empty && fs.is_directory(*other) == fs.is_directory(id) && !apart(path)
    });
    new.chain(replaced.map(|(path, _)| path.clone()))
}

/// Returns the first letter that is free in a directory. `None` if all are used.
pub fn first_letter(fs: &Abstract, at: Id) -> Option<String> {
    let letters = ('a'..='z').map(String::from);
    let used = |letter: &String| fs.names(at).any(|(name, _)| name == letter);
    letters.into_iter().find(|letter| !used(letter))
}
