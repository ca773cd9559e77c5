//! The tree of a recovered file system, by inodes. Several names may lead to one inode, and a cycle
//! of directories is read once.

use std::collections::BTreeMap;

use explode_ramdisk::files::{FileKind, Files, Stat};
use explode_runtime::verdict::CheckError;
use nix::errno::Errno;

use crate::fs::model::promise::is_the_machines;
use crate::fs::model::{Groups, Seen};

/// The inodes that can be reached, by their numbers.
#[derive(Clone, Debug)]
pub struct FoundTree {
    pub root: u32,
    pub nodes: BTreeMap<u32, FoundNode>,
    /// The compared attributes of each inode, except the root and symbolic links.
    pub attributes: BTreeMap<u32, Seen>,
}

/// An inode of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundNode {
    /// A directory: each name, and the inode that it leads to.
    Directory(BTreeMap<String, u32>),
    /// A file: one of its paths, the link count that it reports, the number of its names, and its
    /// contents.
    File { path: String, links: u32, names: u32, bytes: Vec<u8> },
    /// A symbolic link: the same properties, and its target.
    Symlink { path: String, links: u32, names: u32, target: String },
}

/// The reason for which a tree cannot be read.
#[derive(Debug)]
pub enum Unread {
    /// Damage to the file system: the path, and the error.
    Damaged(String),
    /// An error of the machine.
    Broken(CheckError),
}

impl FoundTree {
    /// Reads everything that can be reached, with the attributes that these calls can change.
    ///
    /// # Errors
    /// Returns an error if something cannot be read.
    pub fn of(files: &dyn Files, calls: Groups) -> Result<FoundTree, Unread> {
        let root = files.stat("/").map_err(|errno| unread("/", errno))?.inode;
        let mut tree = FoundTree { root, nodes: BTreeMap::new(), attributes: BTreeMap::new() };
        let mut waiting = vec![("/".to_owned(), root)];
        while let Some((path, inode)) = waiting.pop() {
            if tree.nodes.contains_key(&inode) {
                continue;
            }
            let mut names = BTreeMap::new();
            for (name, kind) in files.readdir(&path).map_err(|errno| unread(&path, errno))? {
                let below = format!("{}/{name}", path.trim_end_matches('/'));
                let stat = files.stat(&below).map_err(|errno| unread(&below, errno))?;
                let Stat { inode, links, .. } = stat;
                names.insert(name, inode);
                if kind != FileKind::Symlink && calls.are_of_attributes() {
                    let seen =
                        Seen::of(files, &below, calls).map_err(|errno| unread(&below, errno))?;
                    tree.attributes.insert(inode, seen);
                }
                match (kind, tree.nodes.get_mut(&inode)) {
                    (FileKind::Directory, _) => waiting.push((below, inode)),
                    (_, Some(FoundNode::File { names, .. } | FoundNode::Symlink { names, .. })) => {
                        *names += 1
                    }
                    (FileKind::File, _) => {
                        let bytes =
                            files.read_file(&below).map_err(|errno| unread(&below, errno))?;
                        tree.nodes
                            .insert(inode, FoundNode::File { path: below, links, names: 1, bytes });
                    }
                    (FileKind::Symlink, _) => {
                        let target =
                            files.readlink(&below).map_err(|errno| unread(&below, errno))?;
                        tree.nodes.insert(
                            inode,
                            FoundNode::Symlink { path: below, links, names: 1, target },
                        );
                    }
                }
            }
            tree.nodes.insert(inode, FoundNode::Directory(names));
        }
        Ok(tree)
    }
}

fn unread(path: &str, errno: Errno) -> Unread {
    match errno {
        errno if is_the_machines(errno) => {
            Unread::Broken(CheckError::broken(format!("{path}: {errno}")))
        }
        _ => Unread::Damaged(format!("{path} cannot be read: {errno}")),
    }
}
