//! The abstract file system (EX-98): inodes, their names, and what they hold.
//!
//! Invariant: a directory has exactly one name, but for the root, which has none; a file may have
//! several.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use super::attributes::Attributes;

/// An inode, by its place: never used twice.
pub type Id = usize;

/// A file system in memory; the root is there from the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abstract {
    nodes: Vec<ModelNode>,
    /// Of each node.
    attributes: Vec<Attributes>,
    /// What was written to the open file that has no name; nothing between two steps.
    nameless: Vec<u8>,
}

/// What an inode is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModelNode {
    /// Its bytes.
    File(Vec<u8>),
    /// The inode that each name leads to.
    Directory(BTreeMap<String, Id>),
    /// What a symbolic link holds.
    Symlink(String),
}

/// Between two steps only what has a name counts.
impl Hash for Abstract {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.attributes.hash(state);
    }
}

impl Abstract {
    /// The root directory.
    pub const ROOT: Id = 0;

    /// An empty one.
    pub fn new() -> Abstract {
        Abstract {
            nodes: vec![ModelNode::Directory(BTreeMap::new())],
            attributes: vec![Attributes::new(true)],
            nameless: Vec::new(),
        }
    }

    /// An inode, with a name or without.
    pub fn node(&self, id: Id) -> &ModelNode {
        &self.nodes[id]
    }

    /// The mode and the extended attributes of an inode; those of a symbolic link are never looked
    /// at.
    pub fn attributes(&self, id: Id) -> &Attributes {
        &self.attributes[id]
    }

    /// The same, to change them.
    pub fn attributes_mut(&mut self, id: Id) -> &mut Attributes {
        &mut self.attributes[id]
    }

    /// The names in a directory; none in anything else.
    pub fn names(&self, id: Id) -> impl Iterator<Item = (&str, Id)> {
        let names = match &self.nodes[id] {
            ModelNode::Directory(names) => Some(names),
            ModelNode::File(_) | ModelNode::Symlink(_) => None,
        };
        names.into_iter().flatten().map(|(name, id)| (name.as_str(), *id))
    }

    /// Every path but the root's and the inode it leads to: a directory before what is in it, names
    /// in order.
    pub fn paths(&self) -> Vec<(String, Id)> {
        let mut paths = Vec::new();
        self.paths_in(Abstract::ROOT, "", &mut paths);
        paths
    }

    fn paths_in(&self, at: Id, parent: &str, paths: &mut Vec<(String, Id)>) {
        for (name, id) in self.names(at) {
            let path = format!("{parent}/{name}");
            paths.push((path.clone(), id));
            self.paths_in(id, &path, paths);
        }
    }

    pub fn is_directory(&self, id: Id) -> bool {
        matches!(self.nodes[id], ModelNode::Directory(_))
    }

    pub fn is_file(&self, id: Id) -> bool {
        matches!(self.nodes[id], ModelNode::File(_))
    }

    pub fn is_symlink(&self, id: Id) -> bool {
        matches!(self.nodes[id], ModelNode::Symlink(_))
    }

    /// A file's bytes; none of anything else.
    pub fn bytes(&self, id: Id) -> &[u8] {
        match &self.nodes[id] {
            ModelNode::File(bytes) => bytes,
            ModelNode::Directory(_) | ModelNode::Symlink(_) => &[],
        }
    }

    /// The inode that a path leads to.
    pub fn find(&self, path: &str) -> Option<Id> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(Abstract::ROOT, |at, name| match &self.nodes[at] {
            ModelNode::Directory(names) => names.get(name).copied(),
            ModelNode::File(_) | ModelNode::Symlink(_) => None,
        })
    }

    /// The inode that the next one to be made will be.
    pub fn next(&self) -> Id {
        self.nodes.len()
    }

    /// Makes an inode with a name, in a directory that is there.
    pub fn add(&mut self, path: &str, node: ModelNode) -> Id {
        self.attributes.push(Attributes::new(matches!(node, ModelNode::Directory(_))));
        self.nodes.push(node);
        let id = self.nodes.len() - 1;
        self.point(path, Some(id));
        id
    }

    /// Makes a path lead to an inode, or nowhere.
    ///
    /// # Panics
    /// If its directory is not there.
    pub fn point(&mut self, path: &str, to: Option<Id>) {
        let (parent, name) = split(path);
        let parent = self.find(parent).expect("its directory is there");
        let ModelNode::Directory(names) = &mut self.nodes[parent] else {
            panic!("{path} stands in a file")
        };
        match to {
            Some(id) => names.insert(name.to_owned(), id),
            None => names.remove(name),
        };
    }

    /// What was written to the open file that has no name, to change it.
    pub fn nameless_mut(&mut self) -> &mut Vec<u8> {
        &mut self.nameless
    }

    /// A file's bytes, to change them.
    ///
    /// # Panics
    /// If it is no file.
    pub fn bytes_mut(&mut self, id: Id) -> &mut Vec<u8> {
        match &mut self.nodes[id] {
            ModelNode::File(bytes) => bytes,
            ModelNode::Directory(_) | ModelNode::Symlink(_) => panic!("inode {id} is no file"),
        }
    }
}

/// The directory of a path that is not the root's, and its name there.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').expect("a path begins with a slash")
}
