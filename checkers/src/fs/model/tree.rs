//! The abstract file system (EX-98): inodes with their names and contents.
//!
//! Invariant: a directory has exactly one name, except the root, which has none. A file may have
//! several names.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use super::attributes::Attributes;

/// The index of an inode, which is never used again.
pub type Id = usize;

/// A file system in memory. It always has a root directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abstract {
    nodes: Vec<ModelNode>,
    /// The attributes of each node.
    attributes: Vec<Attributes>,
    /// The data written to the open file that has no name. Empty between two steps.
    nameless: Vec<u8>,
}

/// The kind and the contents of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModelNode {
    /// The bytes of the file.
    File(Vec<u8>),
    /// The inode that each name leads to.
    Directory(BTreeMap<String, Id>),
    /// The target of the symbolic link.
    Symlink(String),
}

/// Leaves out the data of the file without a name, which is empty between two steps.
impl Hash for Abstract {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.attributes.hash(state);
    }
}

impl Abstract {
    /// The root directory.
    pub const ROOT: Id = 0;

    /// Returns an empty file system.
    pub fn new() -> Abstract {
        Abstract {
            nodes: vec![ModelNode::Directory(BTreeMap::new())],
            attributes: vec![Attributes::new(true)],
            nameless: Vec::new(),
        }
    }

    /// Returns an inode, with a name or without.
    pub fn node(&self, id: Id) -> &ModelNode {
        &self.nodes[id]
    }

    /// Returns the mode and the extended attributes of an inode. Those of a symbolic link are never
    /// compared.
    pub fn attributes(&self, id: Id) -> &Attributes {
        &self.attributes[id]
    }

    /// Returns the mode and the extended attributes of an inode, to change them.
    pub fn attributes_mut(&mut self, id: Id) -> &mut Attributes {
        &mut self.attributes[id]
    }

    /// Returns the names in a directory. Empty for any other inode.
    pub fn names(&self, id: Id) -> impl Iterator<Item = (&str, Id)> {
        let names = match &self.nodes[id] {
            ModelNode::Directory(names) => Some(names),
            ModelNode::File(_) | ModelNode::Symlink(_) => None,
        };
        names.into_iter().flatten().map(|(name, id)| (name.as_str(), *id))
    }

    /// Returns every path except the root's, with the inode that it leads to. A directory comes
    /// before its contents, and names are in order.
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

    /// Returns the bytes of a file. Empty for any other inode.
    pub fn bytes(&self, id: Id) -> &[u8] {
        match &self.nodes[id] {
            ModelNode::File(bytes) => bytes,
            ModelNode::Directory(_) | ModelNode::Symlink(_) => &[],
        }
    }

    /// Returns the inode that a path leads to. `None` if the path does not exist.
    pub fn find(&self, path: &str) -> Option<Id> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(Abstract::ROOT, |at, name| match &self.nodes[at] {
            ModelNode::Directory(names) => names.get(name).copied(),
            ModelNode::File(_) | ModelNode::Symlink(_) => None,
        })
    }

    /// Returns the inode that [`add`](Abstract::add) will make next.
    pub fn next(&self) -> Id {
        self.nodes.len()
    }

    /// Makes an inode with a name in an existing directory, and returns it.
    pub fn add(&mut self, path: &str, node: ModelNode) -> Id {
        self.attributes.push(Attributes::new(matches!(node, ModelNode::Directory(_))));
        self.nodes.push(node);
        let id = self.nodes.len() - 1;
        self.point(path, Some(id));
        id
    }

    /// Makes a path lead to an inode, or nowhere if `to` is `None`.
    ///
    /// # Panics
    /// If the directory of the path does not exist.
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

    /// Returns the data written to the open file that has no name, to change it.
    pub fn nameless_mut(&mut self) -> &mut Vec<u8> {
        &mut self.nameless
    }

    /// Returns the bytes of a file, to change them.
    ///
    /// # Panics
    /// If the inode is not a file.
    pub fn bytes_mut(&mut self, id: Id) -> &mut Vec<u8> {
        match &mut self.nodes[id] {
            ModelNode::File(bytes) => bytes,
            ModelNode::Directory(_) | ModelNode::Symlink(_) => panic!("inode {id} is no file"),
        }
    }
}

/// Splits a path other than the root's into its directory and its name there.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').expect("a path begins with a slash")
}
