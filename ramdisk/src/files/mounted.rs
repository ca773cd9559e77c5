//! A mounted file system: the tree, the open handles, and the calls that need more than one step.

use nix::errno::Errno;

use super::access::Access;
use super::granule::Granule;
use super::inode::InodeNumber;
use super::tree::{ROOT, Tree, TreePosition};
use super::{Fd, FileKind, FileModel, OpenFlags, Result, Stat, Synced};
use crate::Storage;

/// The tree and its open handles.
#[derive(Debug)]
pub struct MountedSimFiles {
    pub tree: Tree,
    /// True if every change is durable when its call returns.
    pub synchronous: bool,
    /// The open handles by number. `None` for a number that is free.
    open: Vec<Option<Handle>>,
}

/// An open file.
#[derive(Clone, Copy, Debug)]
struct Handle {
    file: InodeNumber,
    synced: Option<Synced>,
}

impl MountedSimFiles {
    /// Mounts the tree with no open handles. The errors are those of [`Tree::load`].
    pub fn new(
        storage: Storage,
        base: u32,
        granule: Granule,
        noted: bool,
        model: FileModel,
    ) -> Result<MountedSimFiles> {
        Ok(MountedSimFiles {
            tree: Tree::load(storage, base, granule, noted, model)?,
            synchronous: false,
            open: Vec::new(),
        })
    }

    /// Returns the file of a handle. `EBADF` if it is not open.
    pub fn file(&self, fd: Fd) -> Result<InodeNumber> {
        Ok(self.handle(fd)?.file)
    }

    fn handle(&self, fd: Fd) -> Result<Handle> {
        self.open.get(fd.0 as usize).copied().flatten().ok_or(Errno::EBADF)
    }

    /// Opens a file under the smallest free number.
    pub fn open(&mut self, path: &str, flags: OpenFlags, synced: Option<Synced>) -> Result<Fd> {
        let place = self.tree.place(path)?;
        let inode = place.map_or(Some(ROOT), |place| place.inode);
        let file = match (inode, place) {
            (Some(_), _) if flags.create && flags.exclusive => return Err(Errno::EEXIST),
            (Some(number), _) => match self.tree.inode(number).kind() {
                FileKind::File => number,
                FileKind::Directory => return Err(Errno::EISDIR),
                FileKind::Symlink => return Err(Errno::ELOOP),
            },
            (None, Some(place)) if flags.create => {
                self.tree.create(&place, FileKind::File, Access::of_new(FileKind::File))?
            }
            (None, _) => return Err(Errno::ENOENT),
        };
        if flags.truncate {
            self.tree.resize(file, 0)?;
        }
        Ok(self.hold(file, synced))
    }

    /// Opens a handle of a file under the smallest free number.
    pub fn hold(&mut self, file: InodeNumber, synced: Option<Synced>) -> Fd {
        self.tree.inode_mut(file).handles += 1;
        let fd = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        self.open.resize(self.open.len().max(fd + 1), None);
        self.open[fd] = Some(Handle { file, synced });
        Fd(fd as u32)
    }

    /// Writes through a handle. The write is durable if the file was opened with `synced`.
    pub fn write(&mut self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let Handle { file, synced } = self.handle(fd)?;
        self.tree.write(file, offset, data)?;
        match synced {
            None => {}
            Some(Synced::Data) => self.tree.sync_data(file),
            Some(Synced::All) => self.tree.sync(file),
        }
        Ok(())
    }

    /// Closes a handle, and forgets the file if it can no longer be reached.
    pub fn close(&mut self, fd: Fd) -> Result<()> {
        let file = self.file(fd)?;
        self.open[fd.0 as usize] = None;
        self.tree.inode_mut(file).handles -= 1;
        self.tree.forget_if_lost(file);
        Ok(())
    }

    /// Returns the status of an inode.
    pub fn stat(&self, inode: InodeNumber) -> Stat {
        let found = self.tree.inode(inode);
        Stat { kind: found.kind(), inode, size: found.size(), links: found.links }
    }

    /// Returns the position of an existing path, with its inode and kind. `ENOENT` if nothing is
    /// there, `at_root` for the root.
    pub fn existing<'p>(
        &self,
        path: &'p str,
        at_root: Errno,
    ) -> Result<(TreePosition<'p>, InodeNumber, FileKind)> {
        let place = self.tree.place(path)?.ok_or(at_root)?;
        let number = place.inode.ok_or(Errno::ENOENT)?;
        Ok((place, number, self.tree.inode(number).kind()))
    }

    /// Returns the position of a path that does not exist, else `EEXIST`.
    pub fn vacant<'p>(&self, path: &'p str) -> Result<TreePosition<'p>> {
        let place = self.tree.place(path)?.ok_or(Errno::EEXIST)?;
        if place.inode.is_some() { Err(Errno::EEXIST) } else { Ok(place) }
    }

    /// Renames a node.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (old, moved, kind) = self.existing(from, Errno::EBUSY)?;
        let new = self.tree.place(to)?.ok_or(Errno::EBUSY)?;
        if kind == FileKind::Directory && self.tree.passes(to, moved)? {
            return Err(Errno::EINVAL);
        }
        self.move_name(&old, &new)
    }

    /// Makes a name lead to the node of another name, which is removed. The new name is written
    /// before the old one. The caller has checked that a directory does not move into itself.
    pub fn move_name(&mut self, old: &TreePosition<'_>, new: &TreePosition<'_>) -> Result<()> {
        let moved = old.inode.ok_or(Errno::ENOENT)?;
        let kind = self.tree.inode(moved).kind();
        match new.inode {
            Some(same) if same == moved => return Ok(()),
            Some(replaced) => match (kind, self.tree.inode(replaced).kind()) {
                (FileKind::Directory, FileKind::Directory) => self.must_be_empty(replaced)?,
                (FileKind::Directory, _) => return Err(Errno::ENOTDIR),
                (_, FileKind::Directory) => return Err(Errno::EISDIR),
                _ => {}
            },
            None => {}
        }
        let journal = self.tree.journal.as_ref();
        let allocates = journal.is_some_and(|journal| journal.model.allocates_at_rename());
        if allocates && new.inode.is_some() && kind == FileKind::File {
            self.tree.put_size(moved);
        }
        self.tree.point(new, Some(moved))?;
        self.tree.point(old, None)
    }

    /// Exchanges two names. Both are written, the first one first.
    pub fn exchange(&mut self, one: &str, other: &str) -> Result<()> {
        let (first, node, _) = self.existing(one, Errno::EBUSY)?;
        let (second, opposite, _) = self.existing(other, Errno::EBUSY)?;
        if node == opposite {
            return Ok(());
        }
        if self.tree.passes(other, node)? || self.tree.passes(one, opposite)? {
            return Err(Errno::EINVAL);
        }
        self.tree.point(&first, Some(opposite))?;
        self.tree.point(&second, Some(node))
    }

    /// Returns the inode of a path if it is a file or directory. Symbolic links have no attributes
    /// (`EPERM`, see xattr(7)).
    pub fn with_attributes(&self, path: &str) -> Result<InodeNumber> {
        let number = self.tree.lookup(path)?;
        if self.tree.inode(number).kind() == FileKind::Symlink {
            Err(Errno::EPERM)
        } else {
            Ok(number)
        }
    }

    /// Checks that a directory is empty. `ENOTEMPTY` if it has names, `ENOTDIR` if it is a file.
    pub fn must_be_empty(&self, directory: InodeNumber) -> Result<()> {
        if self.tree.directory(directory)?.is_empty() { Ok(()) } else { Err(Errno::ENOTEMPTY) }
    }
}
