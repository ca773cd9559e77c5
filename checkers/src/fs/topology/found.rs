//! The tree that a real file system reports, to be compared with the abstract one.

use std::collections::BTreeMap;
use std::fmt;

use explode_ramdisk::files::{FileKind, Files, Result as FilesResult, Stat};
use nix::errno::Errno;

use crate::fs::RESERVED;
use crate::fs::endless::goes_on;
use crate::fs::model::Seen;
use crate::fs::model::groups::Groups;
use crate::fs::model::{Abstract, ModelNode};

/// Every path, with the object that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FoundTopology(BTreeMap<String, FoundEntry>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FoundEntry {
    Directory(Seen),
    /// A file. `first` is the first path that leads to the same file, empty if that does not count.
    /// `links` is the link count that the file system reports.
    File {
        first: String,
        links: u32,
        bytes: Vec<u8>,
        seen: Seen,
    },
    /// A symbolic link with its target.
    Symlink {
        first: String,
        links: u32,
        target: String,
    },
}

/// The reason why a tree cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadableTopology {
    /// The names of a directory cannot be read.
    Directory(String, Errno),
    /// The node of a name cannot be read.
    Name(String, Errno),
    /// The directories have no end. The text says why.
    Endless(String),
}

impl fmt::Display for UnreadableTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnreadableTopology::Directory(path, errno) | UnreadableTopology::Name(path, errno) => {
                write!(f, "{path} cannot be read: {errno}")
            }
            UnreadableTopology::Endless(text) => write!(f, "{text}"),
        }
    }
}

impl FoundTopology {
    /// Returns the expected tree, with the attributes that these calls can change.
    pub fn expected(fs: &Abstract, calls: Groups) -> FoundTopology {
        let paths = fs.paths();
        let entry = |id| {
            let mut same =
                paths.iter().filter(|(_, other)| *other == id).map(|(path, _)| path.clone());
            let first = same.next().unwrap_or_default();
            let links = 1 + same.count() as u32;
            let seen = fs.attributes(id).seen(calls);
            match fs.node(id) {
                ModelNode::Directory(_) => FoundEntry::Directory(seen),
                ModelNode::File(bytes) => {
                    FoundEntry::File { first, links, bytes: bytes.clone(), seen }
                }
                ModelNode::Symlink(target) => {
                    FoundEntry::Symlink { first, links, target: target.clone() }
                }
            }
        };
        FoundTopology(paths.iter().map(|(path, id)| (path.clone(), entry(*id))).collect())
    }

    /// Reads the tree, without the empty reserved paths of the file system.
    ///
    /// # Errors
    /// Returns the path that cannot be read, and the reason.
    pub fn of(files: &dyn Files, calls: Groups) -> Result<FoundTopology, UnreadableTopology> {
        let mut found = FoundTopology(BTreeMap::new());
        let mut inodes = BTreeMap::new();
        found.read(files, calls, "", &mut inodes)?;
        for path in RESERVED {
            let is_empty = match found.0.get(path) {
                Some(FoundEntry::File { bytes, .. }) => bytes.is_empty(),
                _ => !found.0.keys().any(|below| below.starts_with(&format!("{path}/"))),
            };
            if is_empty {
                found.0.remove(path);
            }
        }
        Ok(found)
    }

    fn read(
        &mut self,
        files: &dyn Files,
        calls: Groups,
        folder: &str,
        inodes: &mut BTreeMap<u32, String>,
    ) -> Result<(), UnreadableTopology> {
        let at = if folder.is_empty() { "/" } else { folder };
        let names = files.readdir(at);
        for (name, kind) in
            names.map_err(|errno| UnreadableTopology::Directory(at.to_owned(), errno))?
        {
            let path = format!("{folder}/{name}");
            let entry = entry(files, calls, kind, &path, inodes)
                .map_err(|errno| UnreadableTopology::Name(path.clone(), errno))?;
            self.0.insert(path.clone(), entry);
            if kind == FileKind::Directory {
                goes_on(files, &path).map_err(UnreadableTopology::Endless)?;
                self.read(files, calls, &path, inodes)?;
            }
        }
        Ok(())
    }

    /// Returns the tree as an abstract file system. Attributes that were not read are those of a
    /// new node.
    pub fn into_abstract(self) -> Abstract {
        let mut fs = Abstract::new();
        // A directory comes before its contents.
        for (path, entry) in self.0 {
            let (node, first, seen) = match entry {
                FoundEntry::Directory(seen) => {
                    (ModelNode::Directory(BTreeMap::new()), path.clone(), seen)
                }
                FoundEntry::File { first, bytes, seen, .. } => {
                    (ModelNode::File(bytes), first, seen)
                }
                FoundEntry::Symlink { first, target, .. } => {
                    (ModelNode::Symlink(target), first, Seen::default())
                }
            };
            if first == path {
                let id = fs.add(&path, node);
                fs.attributes_mut(id).take(seen);
            } else {
                fs.point(&path, fs.find(&first));
            }
        }
        fs
    }

    /// Forgets which paths lead to the same file. The link count of each still counts.
    #[must_use = "this returns the tree"]
    pub fn without_inodes(mut self) -> FoundTopology {
        for entry in self.0.values_mut() {
            match entry {
                FoundEntry::File { first, .. } | FoundEntry::Symlink { first, .. } => first.clear(),
                FoundEntry::Directory(_) => {}
            }
        }
        self
    }

    /// Forgets the contents of the file at a path. The file is empty then.
    pub fn forget_bytes(&mut self, path: &str) {
        if let Some(FoundEntry::File { bytes, .. }) = self.0.get_mut(path) {
            bytes.clear();
        }
    }

    /// Returns the first difference from the expected tree. `None` if there is no difference.
    pub fn difference(&self, expected: &FoundTopology) -> Option<String> {
        let paths = expected.0.keys().chain(self.0.keys());
        let path = paths.into_iter().find(|path| self.0.get(*path) != expected.0.get(*path))?;
        let (found, wanted) = (self.0.get(path), expected.0.get(path));
        if let (Some(FoundEntry::File { bytes, .. }), Some(FoundEntry::File { bytes: other, .. })) =
            (found, wanted)
            && bytes.len() == other.len()
            && let Some(at) = (0..bytes.len()).find(|at| bytes[*at] != other[*at])
        {
            return Some(format!("{path} has another byte {at}: {}, not {}", bytes[at], other[at]));
        }
        Some(format!("{path} is {}; expected: {}", describe(found), describe(wanted)))
    }
}

/// Reads the object that a path leads to.
fn entry(
    files: &dyn Files,
    calls: Groups,
    kind: FileKind,
    path: &str,
    inodes: &mut BTreeMap<u32, String>,
) -> FilesResult<FoundEntry> {
    if kind == FileKind::Directory {
        return Ok(FoundEntry::Directory(Seen::of(files, path, calls)?));
    }
    let Stat { inode, links, .. } = files.stat(path)?;
    let first = inodes.entry(inode).or_insert_with(|| path.to_owned()).clone();
    if kind == FileKind::Symlink {
        return Ok(FoundEntry::Symlink { first, links, target: files.readlink(path)? });
    }
    let (bytes, seen) = (files.read_file(path)?, Seen::of(files, path, calls)?);
    Ok(FoundEntry::File { first, links, bytes, seen })
}

fn describe(entry: Option<&FoundEntry>) -> String {
    match entry {
        None => "not there".to_owned(),
        Some(FoundEntry::Directory(seen)) => format!("a directory{}", seen.describe()),
        Some(FoundEntry::File { first, links, bytes, seen }) => {
            let (bytes, same, seen) = (bytes.len(), same_as(first), seen.describe());
            format!("a file of {bytes} bytes and {links} links{same}{seen}")
        }
        Some(FoundEntry::Symlink { first, links, target }) => {
            format!("a symbolic link to '{target}', {links} links{}", same_as(first))
        }
    }
}

fn same_as(first: &str) -> String {
    if first.is_empty() { String::new() } else { format!(", the same as {first}") }
}
