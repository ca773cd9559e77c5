//! The simulated files of one mount with the open files of the store, and the calls on them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use explode_ramdisk::files::{
    Access, Fallocate, Fd, FileKind, NewNode, NewTime, NodeChange, ProgramFiles, Renaming, Result,
    TimedNode, WriteMethod,
};
use nix::errno::Errno;

use crate::locks::{HeldRange, Lock, Locks, WHOLE};
use crate::mirror::Mirror;
use crate::walk::{End, LastLink, Route, walk};

/// The path at which simulated files stand, from the view of the store.
pub const PREFIX: &str = "/explode";

/// The number of an open file description (open(2)).
pub type OpenId = u64;

/// Simulated files and what is open on them.
pub struct StoreFiles {
    pub files: ProgramFiles,
    open: BTreeMap<OpenId, OpenDescription>,
    next: OpenId,
    /// The locks of whole files.
    locks: Locks,
    /// The locks of ranges.
    ranges: Locks,
    /// The mirrors of files that are or were mapped.
    mirrors: BTreeMap<u32, Mirror>,
    /// The first call that was refused, in words.
    pub refused: Option<String>,
    /// The path at which the root stands.
    prefix: String,
}

/// The mode in which a file was opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenMode {
    pub read: bool,
    pub write: bool,
    pub append: bool,
    /// The method of writes.
    pub method: WriteMethod,
    /// The flags of open(2) that `fcntl` returns.
    pub flags: i32,
}

/// An open file description.
#[derive(Clone, Copy, Debug)]
pub struct OpenDescription {
    fd: Fd,
    pub node: u32,
    pub kind: FileKind,
    /// The position of read(2) and write(2).
    pub position: u64,
    pub mode: OpenMode,
}

/// The flags of open(2) for what is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub mode: OpenMode,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    pub must_be_directory: bool,
    pub last: LastLink,
    /// The mode of a new file.
    pub permissions: u32,
}

/// The place of a read or write.
#[derive(Clone, Copy, Debug)]
pub enum IoPosition {
    /// The position of the open file, which moves on.
    Current,
    /// A byte offset.
    At(u64),
}

impl StoreFiles {
    /// Returns files whose root stands at a path: [`PREFIX`], or below it.
    pub fn new(files: ProgramFiles, prefix: &str) -> StoreFiles {
        StoreFiles {
            files,
            open: BTreeMap::new(),
            next: 1,
            locks: Locks::default(),
            ranges: Locks::default(),
            mirrors: BTreeMap::new(),
            refused: None,
            prefix: prefix.to_owned(),
        }
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn walk(&self, route: &Route, last: LastLink) -> Result<End> {
        walk(&self.files, &self.prefix, route, last)
    }

    /// Returns the directory and the name at the end of a path, for a call that makes the name.
    /// Only a directory may be made under a name with a `/` after it.
    fn vacant(&self, route: &Route, kind: FileKind) -> Result<(u32, String)> {
        match self.walk(route, LastLink::Name)? {
            End::Name { node: None, .. }
                if route.names.ends_with('/') && kind != FileKind::Directory =>
            {
                Err(Errno::ENOENT)
            }
            End::Name { directory, name, node: None } => Ok((directory, name)),
            End::Name { .. } | End::Nameless(_) => Err(Errno::EEXIST),
        }
    }

    /// Returns the directory, the name and the node at the end of a path.
    fn named(&self, route: &Route, nameless: Errno) -> Result<(u32, String, TimedNode)> {
        match self.walk(route, LastLink::Name)? {
            End::Name { directory, name, node } => {
                let node = node.ok_or(Errno::ENOENT)?;
                if route.names.ends_with('/') && node.node.stat.kind != FileKind::Directory {
                    return Err(Errno::ENOTDIR);
                }
                Ok((directory, name, node))
            }
            End::Nameless(_) => Err(nameless),
        }
    }

    pub fn status(&self, route: &Route, last: LastLink) -> Result<TimedNode> {
        self.walk(route, last)?.node()
    }

    pub fn open(&mut self, route: &Route, opening: &Opening) -> Result<OpenId> {
        let Opening { mode, create, exclusive, truncate, must_be_directory, .. } = *opening;
        if create && route.names.ends_with('/') {
            return self.walk(route, LastLink::Name).and(Err(Errno::EISDIR));
        }
        let last = if create && exclusive { LastLink::Keep } else { opening.last };
        let end = self.walk(route, last)?;
        let (node, kind) = match (end.node(), end) {
            (Ok(_), _) if create && exclusive => return Err(Errno::EEXIST),
            (Ok(found), _) => (found.node.stat.inode, found.node.stat.kind),
            (Err(Errno::ENOENT), End::Name { directory, name, .. }) if create => {
                let born = owned(opening.permissions);
                let made = self.files.make(directory, &name, NewNode::File, born)?;
                (made.node.stat.inode, FileKind::File)
            }
            (Err(errno), _) => return Err(errno),
        };
        match kind {
            FileKind::Symlink => return Err(Errno::ELOOP),
            FileKind::Directory if mode.write || create => return Err(Errno::EISDIR),
            FileKind::File if must_be_directory => return Err(Errno::ENOTDIR),
            FileKind::File if truncate && self.size(node)? > 0 => self.resize(node, 0)?,
            FileKind::Directory | FileKind::File => {}
        }
        let fd = self.files.open(node)?;
        let id = self.next;
        self.next += 1;
        self.open.insert(id, OpenDescription { fd, node, kind, position: 0, mode });
        Ok(id)
    }

    pub fn close(&mut self, id: OpenId) -> Result<()> {
        let open = self.open.remove(&id).ok_or(Errno::EBADF)?;
        self.locks.unlock(open.node, id, WHOLE);
        self.ranges.unlock(open.node, id, WHOLE);
        self.files.close(open.fd)
    }

    pub fn opened(&self, id: OpenId) -> Result<OpenDescription> {
        self.open.get(&id).copied().ok_or(Errno::EBADF)
    }

    pub fn set_flags(&mut self, id: OpenId, append: bool) -> Result<()> {
        self.open.get_mut(&id).ok_or(Errno::EBADF)?.mode.append = append;
        Ok(())
    }

    fn size(&self, node: u32) -> Result<u64> {
        Ok(self.files.node(node)?.node.stat.size)
    }

    fn moved(&mut self, id: OpenId, position: u64) {
        self.open.entry(id).and_modify(|open| open.position = position);
    }

    pub fn read(&mut self, id: OpenId, at: IoPosition, bytes: &mut [u8]) -> Result<usize> {
        let open = self.opened(id)?;
        match open.kind {
            _ if !open.mode.read => return Err(Errno::EBADF),
            FileKind::File => {}
            FileKind::Directory | FileKind::Symlink => return Err(Errno::EISDIR),
        }
        let offset = match at {
            IoPosition::Current => open.position,
            IoPosition::At(offset) => offset,
        };
        let count = self.files.read(open.fd, offset, bytes)?;
        if matches!(at, IoPosition::Current) {
            self.moved(id, offset + count as u64);
        }
        Ok(count)
    }

    pub fn write(&mut self, id: OpenId, at: IoPosition, bytes: &[u8]) -> Result<usize> {
        let open = self.writable(id)?;
        let offset = match at {
            _ if open.mode.append => self.size(open.node)?,
            IoPosition::Current => open.position,
            IoPosition::At(offset) => offset,
        };
        if !bytes.is_empty() {
            self.files.write(open.node, open.fd, offset, bytes, open.mode.method)?;
            if let Some(mirror) = self.mirrors.get(&open.node) {
                mirror.write(offset, bytes)?;
            }
        }
        if matches!(at, IoPosition::Current) {
            self.moved(id, offset + bytes.len() as u64);
        }
        Ok(bytes.len())
    }

    /// Returns an open file that may be written.
    fn writable(&self, id: OpenId) -> Result<OpenDescription> {
        let open = self.opened(id)?;
        if open.mode.write { Ok(open) } else { Err(Errno::EBADF) }
    }

    pub fn seek(&mut self, id: OpenId, offset: i64, whence: i32) -> Result<i64> {
        let open = self.opened(id)?;
        let size = self.size(open.node)?;
        let from = match whence {
            libc::SEEK_SET => 0,
            libc::SEEK_CUR => open.position,
            libc::SEEK_END => size,
            // The whole file is data, with a hole after its end.
            libc::SEEK_DATA | libc::SEEK_HOLE => {
                let at = u64::try_from(offset).ok().filter(|at| *at < size);
                let at = at.ok_or(Errno::ENXIO)?;
                let found = if whence == libc::SEEK_DATA { at } else { size };
                self.moved(id, found);
                return Ok(found as i64);
            }
            _ => return Err(Errno::EINVAL),
        };
        let position = i64::try_from(from).ok().and_then(|from| from.checked_add(offset));
        let position = position.filter(|at| *at >= 0).ok_or(Errno::EINVAL)?;
        self.moved(id, position as u64);
        Ok(position)
    }

    pub fn truncate(&mut self, id: OpenId, size: i64) -> Result<()> {
        let open = self.opened(id)?;
        if !open.mode.write || open.kind != FileKind::File {
            return Err(Errno::EINVAL);
        }
        self.resize(open.node, size)
    }

    pub fn truncate_path(&mut self, route: &Route, size: i64) -> Result<()> {
        let node = self.status(route, LastLink::Follow)?.node.stat;
        match node.kind {
            FileKind::Directory => Err(Errno::EISDIR),
            FileKind::Symlink => Err(Errno::EINVAL),
            FileKind::File => self.resize(node.inode, size),
        }
    }

    fn resize(&mut self, node: u32, size: i64) -> Result<()> {
        let size = u64::try_from(size).map_err(|_| Errno::EINVAL)?;
        let change = NodeChange { size: Some(size), ..NodeChange::default() };
        self.files.change(node, change)?;
        self.mirrors.get(&node).map_or(Ok(()), |mirror| mirror.resize(size))
    }

    /// Returns the mirror of an open file with its present contents.
    pub fn mirror(&mut self, id: OpenId) -> Result<&Mirror> {
        let open = self.opened(id)?;
        match open.kind {
            FileKind::File if open.mode.read => {}
            FileKind::File => return Err(Errno::EACCES),
            FileKind::Directory | FileKind::Symlink => return Err(Errno::ENODEV),
        }
        self.fill_mirror(&open)
    }

    /// Fills the mirror of a file, which is made if there is none. All contents count as read.
    fn fill_mirror(&mut self, open: &OpenDescription) -> Result<&Mirror> {
        let mut bytes = vec![0; self.size(open.node)? as usize];
        self.files.read(open.fd, 0, &mut bytes)?;
        let mirror = match self.mirrors.entry(open.node) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Mirror::new()?),
        };
        mirror.resize(bytes.len() as u64)?;
        mirror.write(0, &bytes)?;
        Ok(mirror)
    }

    pub fn fallocate(&mut self, id: OpenId, mode: i32, offset: i64, len: i64) -> Result<()> {
        let open = self.writable(id)?;
        let range = u64::try_from(offset).ok().zip(u64::try_from(len).ok());
        let range = range.filter(|(_, len)| *len > 0).ok_or(Errno::EINVAL)?;
        let keep = libc::FALLOC_FL_KEEP_SIZE;
        let how = match mode {
            0 => Fallocate::Allocate,
            _ if mode == keep => Fallocate::KeepSize,
            _ if mode == keep | libc::FALLOC_FL_PUNCH_HOLE => Fallocate::PunchHole,
            libc::FALLOC_FL_ZERO_RANGE => Fallocate::ZeroRange,
            libc::FALLOC_FL_COLLAPSE_RANGE => Fallocate::CollapseRange,
            libc::FALLOC_FL_INSERT_RANGE => Fallocate::InsertRange,
            _ => return Err(Errno::EOPNOTSUPP),
        };
        self.files.fallocate(open.node, open.fd, how, range)?;
        if self.mirrors.contains_key(&open.node) {
            self.fill_mirror(&open)?;
        }
        Ok(())
    }

    pub fn sync(&mut self, id: OpenId, data_only: bool) -> Result<()> {
        let open = self.opened(id)?;
        self.files.sync(open.node, data_only)
    }

    pub fn mkdir(&mut self, route: &Route, permissions: u32) -> Result<()> {
        let (directory, name) = self.vacant(route, FileKind::Directory)?;
        self.files.make(directory, &name, NewNode::Directory, owned(permissions)).map(drop)
    }

    pub fn rmdir(&mut self, route: &Route) -> Result<()> {
        let (directory, name, _) = self.named(route, Errno::EINVAL)?;
        self.files.rmdir(directory, &name)
    }

    pub fn unlink(&mut self, route: &Route) -> Result<()> {
        let (directory, name, _) = self.named(route, Errno::EISDIR)?;
        self.files.unlink(directory, &name)
    }

    pub fn rename(&mut self, from: &Route, to: &Route, how: Option<Renaming>) -> Result<()> {
        // The directories of both are looked up first.
        self.walk(from, LastLink::Name)?;
        let new = self.walk(to, LastLink::Name)?;
        let (directory, name, node) = self.named(from, Errno::EBUSY)?;
        let is_directory = node.node.stat.kind == FileKind::Directory;
        match new {
            End::Nameless(_) => Err(Errno::EBUSY),
            End::Name { .. } if to.names.ends_with('/') && !is_directory => Err(Errno::ENOTDIR),
            End::Name { node: Some(above), .. }
                if how != Some(Renaming::Exchange) && self.is_above(&above, directory) =>
            {
                Err(Errno::ENOTEMPTY)
            }
            End::Name { directory: new, name: new_name, .. } => {
                self.files.rename((directory, &name), (new, &new_name), how)
            }
        }
    }

    /// Returns true if a node is a directory, or above it.
    fn is_above(&self, node: &TimedNode, directory: u32) -> bool {
        let path = |number| self.files.files().path_of(number);
        let paths = path(node.node.stat.inode).zip(path(directory));
        paths.is_some_and(|(above, path)| {
            path.strip_prefix(&above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    pub fn link(&mut self, from: &Route, to: &Route, last: LastLink) -> Result<()> {
        let node = self.status(from, last)?.node.stat;
        let (directory, name) = self.vacant(to, FileKind::File)?;
        if node.kind == FileKind::Directory {
            return Err(Errno::EPERM);
        }
        self.files.link(node.inode, directory, &name).map(drop)
    }

    pub fn symlink(&mut self, target: &str, route: &Route) -> Result<()> {
        let (directory, name) = self.vacant(route, FileKind::Symlink)?;
        self.files.make(directory, &name, NewNode::Symlink(target), owned(0o777)).map(drop)
    }

    pub fn target(&self, route: &Route) -> Result<String> {
        let node = self.status(route, LastLink::Keep)?;
        self.files.target(node.node.stat.inode)
    }

    /// Returns the path of the node that a path leads to, without symbolic links.
    pub fn real_path(&self, route: &Route) -> Result<String> {
        let node = self.status(route, LastLink::Follow)?;
        let path = self.files.files().path_of(node.node.stat.inode).ok_or(Errno::ENOENT)?;
        Ok(format!("{}{}", self.prefix, path.trim_end_matches('/')))
    }

    pub fn change(&mut self, node: u32, change: NodeChange) -> Result<()> {
        self.files.change(node, change).map(drop)
    }

    /// Copies a range of one open file to another. Returns the number of bytes.
    pub fn copy(
        &mut self,
        (from, from_at): (OpenId, IoPosition),
        (to, to_at): (OpenId, IoPosition),
        len: usize,
    ) -> Result<usize> {
        let mut bytes = vec![0; len.min(MOST_COPIED)];
        let count = self.read(from, from_at, &mut bytes)?;
        self.write(to, to_at, &bytes[..count])
    }
}

/// The most bytes that one call copies.
const MOST_COPIED: usize = 1 << 20;

/// Returns the access of a new node of this process.
fn owned(permissions: u32) -> Access {
    Access { mode: permissions & 0o7777, user: 0, group: 0 }
}

/// Returns a time of a system call.
pub fn new_time(time: &libc::timespec) -> Result<Option<NewTime>> {
    match time.tv_nsec {
        libc::UTIME_OMIT => Ok(None),
        libc::UTIME_NOW => Ok(Some(NewTime::Now)),
        nanos @ 0..1_000_000_000 => {
            let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
            let whole = if time.tv_sec < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
            Ok(Some(NewTime::Given(whole + Duration::from_nanos(nanos as u64))))
        }
        _ => Err(Errno::EINVAL),
    }
}

impl StoreFiles {
    /// Takes or gives back the lock of a file (flock(2)). `None` if another open file holds it.
    pub fn flock(&mut self, id: OpenId, lock: Option<Lock>) -> Option<Result<()>> {
        let node = match self.opened(id) {
            Ok(open) => open.node,
            Err(errno) => return Some(Err(errno)),
        };
        take(&mut self.locks, (node, id), WHOLE, lock).then_some(Ok(()))
    }

    /// Takes or gives back the lock of a range (fcntl(2)). `None` if another open file holds it.
    pub fn lock_range(
        &mut self,
        id: OpenId,
        asked: &libc::flock,
        lock: Option<Lock>,
    ) -> Option<Result<()>> {
        match self.range(id, asked) {
            Err(errno) => Some(Err(errno)),
            Ok((node, range)) => take(&mut self.ranges, (node, id), range, lock).then_some(Ok(())),
        }
    }

    /// Returns a lock that excludes a lock of a range.
    pub fn range_conflict(
        &self,
        id: OpenId,
        asked: &libc::flock,
        lock: Lock,
    ) -> Result<Option<HeldRange>> {
        let (node, range) = self.range(id, asked)?;
        Ok(self.ranges.conflict(node, id, &range, lock).cloned())
    }

    /// Returns the node and the bytes of a lock of a range.
    fn range(&self, id: OpenId, asked: &libc::flock) -> Result<(u32, Range<u64>)> {
        let open = self.opened(id)?;
        let from = match i32::from(asked.l_whence) {
            libc::SEEK_SET => 0,
            libc::SEEK_CUR => open.position as i64,
            libc::SEEK_END => self.size(open.node)? as i64,
            _ => return Err(Errno::EINVAL),
        };
        let start = from.checked_add(asked.l_start).ok_or(Errno::EOVERFLOW)?;
        let (start, end) = match asked.l_len {
            0 => (start, None),
            len if len < 0 => (start.checked_add(len).ok_or(Errno::EINVAL)?, Some(start)),
            len => (start, Some(start.checked_add(len).ok_or(Errno::EOVERFLOW)?)),
        };
        let start = u64::try_from(start).map_err(|_| Errno::EINVAL)?;
        Ok((open.node, start..end.map_or(u64::MAX, |end| end as u64)))
    }
}

/// Takes or gives back a lock. Returns false if another open file holds it.
fn take(
    locks: &mut Locks,
    (node, id): (u32, OpenId),
    range: Range<u64>,
    lock: Option<Lock>,
) -> bool {
    match lock {
        Some(lock) => locks.lock(node, id, range, lock),
        None => {
            locks.unlock(node, id, range);
            true
        }
    }
}
