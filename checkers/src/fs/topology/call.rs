//! The eight system calls (EX-96), on every node of a topology.
//!
//! A new name is the first letter that is free in its directory. Sizes and offsets are few: a file is cut to nothing or to a part of
//! a block, which may also make it longer, and a block is written at its beginning or far behind (EX-97).

use explode_ramdisk::files::{Fd, Files, OpenFlags, Result as FilesResult, Synced};

use super::abstract_fs::{Abstract, Id, Node, split};
use super::{BLOCK, Limits};
use crate::fs::sync::pattern;

/// A size in the middle of a block.
const MIDDLE: usize = 1000;

/// One system call; paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Ftruncate { path: String, size: usize },
    Pwrite { path: String, at: usize },
    Creat { path: String },
    Mkdir { path: String },
    Unlink { path: String },
    Rmdir { path: String },
    Link { from: String, to: String },
    Rename { from: String, to: String },
}

/// How pwrite writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// pwrite(2).
    Plain,
    /// The same through a file that was opened so.
    Synced(Synced),
    /// Through a shared mapping, and msync(2); a file that is too short is made longer before.
    Mapped,
}

impl Call {
    /// Every call that succeeds and changes something, within the limits: node by node, in the order of [`Abstract::paths`].
    pub fn possible(fs: &Abstract, limits: &Limits) -> Vec<Call> {
        let paths = fs.paths();
        let dirs = paths.iter().filter(|(_, id)| fs.is_directory(*id)).count();
        let files = paths.len() - dirs;
        let folders: Vec<(&str, Id)> = [("", Abstract::ROOT)]
            .into_iter()
            .chain(paths.iter().filter(|(_, id)| fs.is_directory(*id)).map(|(path, id)| (path.as_str(), *id)))
            .collect();
        let mut calls = Vec::new();
        for (path, id) in &folders {
            let fresh = || fresh(fs, path, *id);
            if files < limits.files {
                calls.extend(fresh().map(|path| Call::Creat { path }));
            }
            if dirs < limits.dirs {
                calls.extend(fresh().map(|path| Call::Mkdir { path }));
            }
            if *id != Abstract::ROOT && fs.names(*id).next().is_none() {
                calls.push(Call::Rmdir { path: (*path).to_owned() });
            }
        }
        for (path, id) in &paths {
            if !fs.is_directory(*id) {
                calls.extend(of_file(fs, path, *id, limits));
                if files < limits.files {
                    let to = folders.iter().filter_map(|(folder, at)| fresh(fs, folder, *at));
                    calls.extend(to.map(|to| Call::Link { from: path.clone(), to }));
                }
            }
            let to = targets(fs, path, *id, &folders, &paths);
            calls.extend(to.map(|to| Call::Rename { from: path.clone(), to }));
        }
        calls
    }

    /// Its name in traces.
    pub fn name(&self) -> String {
        match self {
            Call::Ftruncate { path, size } => format!("ftruncate {path} {size}"),
            Call::Pwrite { path, at } => format!("pwrite {path} {at}"),
            Call::Creat { path } => format!("creat {path}"),
            Call::Mkdir { path } => format!("mkdir {path}"),
            Call::Unlink { path } => format!("unlink {path}"),
            Call::Rmdir { path } => format!("rmdir {path}"),
            Call::Link { from, to } => format!("link {from} {to}"),
            Call::Rename { from, to } => format!("rename {from} {to}"),
        }
    }

    /// What pwrite writes, the `version`th time that anything is written; it says of which inode it is, and holds no zero.
    pub fn bytes(&self, fs: &Abstract, version: u32) -> Vec<u8> {
        match self {
            Call::Pwrite { path, at } => {
                let inode = fs.find(path).unwrap_or_default();
                pattern::pattern(char::from(b'a' + (inode % 26) as u8), version, *at, BLOCK)
            }
            _ => Vec::new(),
        }
    }

    /// Makes it; `bytes` are those of a pwrite.
    pub fn make(&self, files: &dyn Files, bytes: &[u8], write: Write) -> FilesResult<()> {
        let opened = |path: &str, flags| files.open(path, flags);
        match self {
            Call::Ftruncate { path, size } => {
                closing(files, opened(path, OpenFlags::EXISTING)?, |fd| files.ftruncate(fd, *size as u64))
            }
            Call::Pwrite { path, at } => {
                let fd = match write {
                    Write::Synced(synced) => files.open_synced(path, OpenFlags::EXISTING, synced)?,
                    Write::Plain | Write::Mapped => opened(path, OpenFlags::EXISTING)?,
                };
                closing(files, fd, |fd| match write {
                    Write::Plain | Write::Synced(_) => files.pwrite(fd, *at as u64, bytes),
                    Write::Mapped => {
                        let end = (at + bytes.len()) as u64;
                        if files.fstat(fd)?.size < end {
                            files.ftruncate(fd, end)?;
                        }
                        files.write_mapped(fd, *at as u64, bytes)
                    }
                })
            }
            Call::Creat { path } => {
                files.close(opened(path, OpenFlags { exclusive: true, ..OpenFlags::CREATE })?)
            }
            Call::Mkdir { path } => files.mkdir(path),
            Call::Unlink { path } => files.unlink(path),
            Call::Rmdir { path } => files.rmdir(path),
            Call::Link { from, to } => files.link(from, to),
            Call::Rename { from, to } => files.rename(from, to),
        }
    }

    /// Makes it to the abstract file system.
    ///
    /// # Panics
    /// If it is none of [`possible`](Call::possible).
    pub fn apply(&self, fs: &mut Abstract, bytes: &[u8]) {
        let at = |fs: &Abstract, path: &str| fs.find(path).expect("it is there");
        match self {
            Call::Ftruncate { path, size } => {
                let id = at(fs, path);
                fs.bytes_mut(id).resize(*size, 0);
            }
            Call::Pwrite { path, at: offset } => {
                let id = at(fs, path);
                let file = fs.bytes_mut(id);
                let end = offset + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*offset..end].copy_from_slice(bytes);
            }
            Call::Creat { path } => drop(fs.add(path, Node::File(Vec::new()))),
            Call::Mkdir { path } => drop(fs.add(path, Node::Directory(Default::default()))),
            Call::Unlink { path } | Call::Rmdir { path } => fs.point(path, None),
            Call::Link { from, to } => {
                let id = at(fs, from);
                fs.point(to, Some(id));
            }
            Call::Rename { from, to } => {
                let id = at(fs, from);
                fs.point(from, None);
                fs.point(to, Some(id));
            }
        }
    }

    /// The directories whose names it changes, innermost names first; none for a call that changes a file.
    pub fn directories(&self) -> Vec<&str> {
        let of = |path| match split(path).0 {
            "" => "/",
            parent => parent,
        };
        match self {
            Call::Ftruncate { .. } | Call::Pwrite { .. } => Vec::new(),
            Call::Creat { path } | Call::Mkdir { path } | Call::Unlink { path } | Call::Rmdir { path } => {
                vec![of(path)]
            }
            Call::Link { to, .. } => vec![of(to)],
            Call::Rename { from, to } if split(from).0 == split(to).0 => vec![of(to)],
            Call::Rename { from, to } => vec![of(to), of(from)],
        }
    }

    /// The path at which its object is afterwards, if it is anywhere.
    pub fn object(&self) -> Option<&str> {
        match self {
            Call::Ftruncate { path, .. } | Call::Pwrite { path, .. } => Some(path),
            Call::Creat { path } | Call::Mkdir { path } => Some(path),
            Call::Unlink { .. } | Call::Rmdir { .. } => None,
            Call::Link { to, .. } | Call::Rename { to, .. } => Some(to),
        }
    }
}

/// The calls on one file by one name.
fn of_file(fs: &Abstract, path: &str, id: Id, limits: &Limits) -> Vec<Call> {
    let mut calls = Vec::new();
    if limits.contents {
        let size = fs.bytes(id).len();
        let sizes = [0, MIDDLE].into_iter().filter(|wanted| *wanted != size);
        calls.extend(sizes.map(|size| Call::Ftruncate { path: path.to_owned(), size }));
        calls.extend([0, limits.far].map(|at| Call::Pwrite { path: path.to_owned(), at }));
    }
    calls.push(Call::Unlink { path: path.to_owned() });
    calls
}

/// The paths that a node can be renamed to: a new name in each directory, and each name that it can replace.
fn targets<'a>(
    fs: &'a Abstract,
    path: &'a str,
    id: Id,
    folders: &'a [(&str, Id)],
    paths: &'a [(String, Id)],
) -> impl Iterator<Item = String> {
    let below = format!("{path}/");
    let inside = move |other: &str| fs.is_directory(id) && (other == path || other.starts_with(&below));
    let apart = inside.clone();
    let outside = folders.iter().filter(move |(folder, _)| !inside(folder));
    let new = outside.filter_map(|(folder, at)| fresh(fs, folder, *at));
    let replaced = paths.iter().filter(move |(path, other)| {
        let empty = !fs.is_directory(*other) || fs.names(*other).next().is_none();
        *other != id && empty && fs.is_directory(*other) == fs.is_directory(id) && !apart(path)
    });
    new.chain(replaced.map(|(path, _)| path.clone()))
}

/// The path of the first letter that is free in a directory.
fn fresh(fs: &Abstract, folder: &str, id: Id) -> Option<String> {
    let used = |letter: &char| fs.names(id).any(|(name, _)| name == letter.to_string());
    ('a'..='z').find(|letter| !used(letter)).map(|letter| format!("{folder}/{letter}"))
}

/// Works on an open file and closes it.
fn closing(files: &dyn Files, fd: Fd, work: impl FnOnce(Fd) -> FilesResult<()>) -> FilesResult<()> {
    let worked = work(fd);
    files.close(fd).and(worked)
}
