//! Calls on nodes by their numbers, as a kernel makes them for a mounted file system.
//!
//! Names are looked up one directory at a time. An unknown node is `ESTALE`. Reads, writes and
//! syncs of open files are those of [`Files`](super::Files).

use nix::errno::Errno;

use super::access::Access;
use super::inode::{InodeNumber, SIZE_SECTOR};
use super::mounted::MountedSimFiles;
use super::path::NAME_BYTES;
use super::tree::TreePosition;
use super::{Fd, FileKind, Renaming, Result, SimFiles, Stat};
use crate::ReadRange;

/// The status of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNode {
    /// Its kind, number, size and number of names.
    pub stat: Stat,
    /// Its mode and owner.
    pub access: Access,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The place of the name in the directory, which stays the same while the name exists.
    pub slot: u64,
    /// The number of its node.
    pub inode: u32,
    /// The kind of its node.
    pub kind: FileKind,
    /// The mode and owner of its node at its creation.
    pub born: Access,
}

/// A node that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewNode<'t> {
    /// An empty file.
    File,
    /// An empty directory.
    Directory,
    /// A symbolic link with its target.
    Symlink(&'t str),
}

impl MountedSimFiles {
    /// Returns the number of a node that is known. Its size counts as read.
    fn known(&self, number: InodeNumber) -> Result<InodeNumber> {
        let inode = self.tree.inodes.get(&number).ok_or(Errno::ESTALE)?;
        if inode.kind() == FileKind::File {
            self.tree.storage.note_sector(self.tree.device(number), SIZE_SECTOR);
        }
        Ok(number)
    }

    /// Records that all names of a directory were read.
    fn note_names(&self, directory: InodeNumber) {
        self.tree.storage.note(ReadRange::Device { dev: self.tree.device(directory) });
    }

    /// Returns the position of a name that is to be made. Its slot depends on all other names.
    fn new_position<'p>(&self, directory: InodeNumber, name: &'p str) -> Result<TreePosition<'p>> {
        self.note_names(directory);
        self.position(directory, name)
    }

    /// Returns the position of a name in a directory.
    fn position<'p>(&self, directory: InodeNumber, name: &'p str) -> Result<TreePosition<'p>> {
        if name.len() > NAME_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        let found = self.tree.directory(self.known(directory)?)?.names.get(name);
        let inode = found.and_then(|found| found.leads_to);
        match found {
            Some(found) if inode.is_some() => {
                self.tree.storage.note_sector(self.tree.device(directory), found.slot);
            }
            _ => self.note_names(directory),
        }
        Ok(TreePosition { directory, name, inode })
    }

    /// Returns the position of a name that exists, with its inode.
    fn present<'p>(
        &self,
        directory: InodeNumber,
        name: &'p str,
    ) -> Result<(TreePosition<'p>, InodeNumber)> {
        let place = self.position(directory, name)?;
        Ok((place, place.inode.ok_or(Errno::ENOENT)?))
    }

    fn status(&self, number: InodeNumber) -> Result<FileNode> {
        let stat = self.stat(self.known(number)?);
        if stat.kind != FileKind::Directory {
            self.tree.storage.note(ReadRange::Links { base: self.tree.base });
        }
        Ok(FileNode { stat, access: self.tree.access(number)? })
    }

    /// Returns true if a directory is `inner` or above it.
    fn contains(&self, outer: InodeNumber, inner: InodeNumber) -> bool {
        let mut met = vec![outer];
        let mut next = 0;
        while let Some(&at) = met.get(next) {
            next += 1;
            if self.tree.directory(at).is_ok() {
                self.note_names(at);
            }
            let names = self.tree.directory(at).map(|directory| directory.names.values());
            for child in names.into_iter().flatten().filter_map(|name| name.leads_to) {
                if !met.contains(&child) {
                    met.push(child);
                }
            }
        }
        met.contains(&inner)
    }
}

impl SimFiles {
    /// Returns the node that a name in a directory leads to.
    pub fn find(&self, directory: u32, name: &str) -> Result<FileNode> {
        let mounted = self.0.borrow();
        let (_, number) = mounted.present(directory, name)?;
        mounted.status(number)
    }

    /// Returns the status of a node.
    pub fn node(&self, number: u32) -> Result<FileNode> {
        self.0.borrow().status(number)
    }

    /// Returns the names in a directory in the order in which they were first made, each with the
    /// number of its slot, and the number and kind of its node.
    pub fn entries(&self, directory: u32) -> Result<Vec<Entry>> {
        let mounted = self.0.borrow();
        let names = &mounted.tree.directory(mounted.known(directory)?)?.names;
        mounted.note_names(directory);
        let present = names.iter().filter_map(|(name, at)| Some((name, at.slot, at.leads_to?)));
        let mut entries: Vec<Entry> = present
            .map(|(name, slot, inode)| {
                let node = mounted.tree.inode(inode);
                Entry { name: name.clone(), slot, inode, kind: node.kind(), born: node.born }
            })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.slot);
        Ok(entries)
    }

    /// Returns the first path of a node. `None` if no name leads to it.
    pub fn path_of(&self, number: u32) -> Option<String> {
        self.0.borrow().tree.path(number)
    }

    /// Returns the target of a symbolic link.
    pub fn target_of(&self, number: u32) -> Result<String> {
        let mounted = self.0.borrow();
        mounted.tree.target(mounted.known(number)?)
    }

    /// Makes a node with a name, as one change. `EEXIST` if the name exists.
    pub fn make(
        &self,
        directory: u32,
        name: &str,
        new: NewNode<'_>,
        born: Access,
    ) -> Result<FileNode> {
        let call = match new {
            NewNode::File => "open",
            NewNode::Directory => "mkdir",
            NewNode::Symlink(_) => "symlink",
        };
        self.operation(call, |mounted| {
            let place = mounted.new_position(directory, name)?;
            if place.inode.is_some() {
                return Err(Errno::EEXIST);
            }
            let tree = &mut mounted.tree;
            let number = match new {
                NewNode::File => tree.create(&place, FileKind::File, born),
                NewNode::Directory => tree.create(&place, FileKind::Directory, born),
                NewNode::Symlink(target) => tree.create_symlink(&place, target, born),
            }?;
            mounted.status(number)
        })
    }

    /// Opens a file or directory by its number.
    pub fn open_node(&self, number: u32) -> Result<Fd> {
        let mut mounted = self.0.borrow_mut();
        let number = mounted.known(number)?;
        Ok(mounted.hold(number, None))
    }

    /// Makes a node durable, with its attributes and, for a directory, its names. With `data_only`
    /// a file's attributes stay as they are.
    pub fn sync_node(&self, number: u32, data_only: bool) -> Result<()> {
        let mut mounted = self.0.borrow_mut();
        let number = mounted.known(number)?;
        if data_only && mounted.tree.inode(number).kind() == FileKind::File {
            mounted.tree.sync_data(number);
        } else {
            mounted.tree.sync(number);
        }
        Ok(())
    }

    /// Sets the size of a file.
    pub fn resize_node(&self, number: u32, size: u64) -> Result<()> {
        self.operation("truncate", |mounted| {
            let number = mounted.known(number)?;
            mounted.tree.resize(number, size)
        })
    }

    /// Sets the bits 07777 of the mode of a node.
    pub fn set_mode_of(&self, number: u32, mode: u32) -> Result<()> {
        self.operation("chmod", |mounted| {
            let number = mounted.known(number)?;
            mounted.tree.set_mode(number, mode);
            Ok(())
        })
    }

    /// Sets the user and the group of a node.
    pub fn set_owner_of(&self, number: u32, user: u32, group: u32) -> Result<()> {
        self.operation("chown", |mounted| {
            let number = mounted.known(number)?;
            mounted.tree.set_owner(number, user, group);
            Ok(())
        })
    }

    /// Gives a file a second name in a directory.
    pub fn link_node(&self, number: u32, directory: u32, name: &str) -> Result<FileNode> {
        self.operation("link", |mounted| {
            let number = mounted.known(number)?;
            let place = mounted.new_position(directory, name)?;
            if place.inode.is_some() {
                return Err(Errno::EEXIST);
            }
            mounted.tree.point(&place, Some(number))?;
            mounted.status(number)
        })
    }

    /// Removes a name of a file or symbolic link (`unlink(2)`).
    pub fn remove_name(&self, directory: u32, name: &str) -> Result<()> {
        self.operation("unlink", |mounted| {
            let (place, number) = mounted.present(directory, name)?;
            if mounted.tree.inode(number).kind() == FileKind::Directory {
                return Err(Errno::EISDIR);
            }
            mounted.tree.point(&place, None)
        })
    }

    /// Removes the name of an empty directory (`rmdir(2)`).
    pub fn remove_directory(&self, directory: u32, name: &str) -> Result<()> {
        self.operation("rmdir", |mounted| {
            let (place, number) = mounted.present(directory, name)?;
            if mounted.tree.directory(number).is_ok() {
                mounted.note_names(number);
            }
            mounted.must_be_empty(number)?;
            mounted.tree.point(&place, None)
        })
    }

    /// Renames a node (`renameat2(2)`).
    pub fn move_node(
        &self,
        (directory, name): (u32, &str),
        (new_directory, new_name): (u32, &str),
        how: Option<Renaming>,
    ) -> Result<()> {
        self.operation("rename", |mounted| {
            let (old, moved) = mounted.present(directory, name)?;
            let new = mounted.new_position(new_directory, new_name)?;
            if let Some(replaced) = new.inode.filter(|inode| mounted.tree.directory(*inode).is_ok())
            {
                mounted.note_names(replaced);
            }
            let is_directory = |number| mounted.tree.inode(number).kind() == FileKind::Directory;
            let into_itself =
                |number, target| is_directory(number) && mounted.contains(number, target);
            if into_itself(moved, new_directory) {
                return Err(Errno::EINVAL);
            }
            match (how, new.inode) {
                (None, _) | (Some(Renaming::NoReplace), None) => mounted.move_name(&old, &new),
                (Some(Renaming::NoReplace), Some(_)) => Err(Errno::EEXIST),
                (Some(Renaming::Exchange), None) => Err(Errno::ENOENT),
                (Some(Renaming::Exchange), Some(other)) if other == moved => Ok(()),
                (Some(Renaming::Exchange), Some(other)) if into_itself(other, directory) => {
                    Err(Errno::EINVAL)
                }
                (Some(Renaming::Exchange), Some(other)) => {
                    mounted.tree.point(&old, Some(other))?;
                    mounted.tree.point(&new, Some(moved))
                }
            }
        })
    }

    /// Sets an extended attribute of a node.
    pub fn set_attribute_of(&self, number: u32, name: &str, value: &[u8]) -> Result<()> {
        self.operation("setxattr", |mounted| {
            let number = mounted.known(number)?;
            mounted.tree.set_attribute(number, name, value)
        })
    }

    /// Removes an extended attribute of a node.
    pub fn remove_attribute_of(&self, number: u32, name: &str) -> Result<()> {
        self.operation("removexattr", |mounted| {
            let number = mounted.known(number)?;
            mounted.tree.remove_attribute(number, name)
        })
    }

    /// Returns the extended attributes of a node in order of their names.
    pub fn attributes_of(&self, number: u32) -> Result<Vec<(String, Vec<u8>)>> {
        let mounted = self.0.borrow();
        mounted.tree.attributes(mounted.known(number)?)
    }
}
