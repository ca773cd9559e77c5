//! Answers requests from simulated files, on the thread that owns them.

use std::cell::RefCell;
use std::time::{Duration, SystemTime};

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{
    Access, Fallocate, Fd, FileKind, Files as _, FsCall, NAMELESS, NewNode, Node, OpenFlags,
    Renaming, WriteMethod,
};
use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use nix::errno::Errno;

use crate::clock::{Clock, Times};
use crate::hook::Hook;

/// The result of a request.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// A function that makes a call of a program and records it.
pub type CallHook = Box<dyn Fn(FsCall, &mut dyn FnMut() -> Result<()>)>;

thread_local! {
    /// The recorder of the calls of the program that runs.
    pub(crate) static CALL_HOOK: Hook<CallHook> = const { RefCell::new(None) };
}

/// The time for which the kernel may keep names and attributes. Nothing changes the files but the
/// kernel itself.
pub(crate) const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The size of a block in answers.
pub(crate) const BLOCK: u32 = 4096;

/// Simulated files that a mount serves.
pub(crate) struct FileServer {
    files: SimFiles,
    clock: Clock,
    /// The number of open files and directories.
    open: u64,
}

/// A change of attributes (`setattr`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub mode: Option<u32>,
    pub user: Option<u32>,
    pub group: Option<u32>,
    pub size: Option<u64>,
    pub accessed: Option<TimeOrNow>,
    pub modified: Option<TimeOrNow>,
}

/// Returns the number of a node, which the kernel numbers from 1.
pub(crate) fn number(ino: INodeNo) -> Result<u32> {
    ino.0.checked_sub(1).and_then(|number| u32::try_from(number).ok()).ok_or(Errno::ESTALE)
}

fn ino(number: u32) -> INodeNo {
    INodeNo(u64::from(number) + 1)
}

/// Returns the type of a node for the kernel.
pub(crate) fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::File => FileType::RegularFile,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
    }
}

impl FileServer {
    pub fn new(files: SimFiles) -> FileServer {
        FileServer { files, clock: Clock::new(), open: 0 }
    }

    /// Makes a call that is recorded. `text` is called only if calls are recorded.
    fn call<T>(
        &mut self,
        text: impl FnOnce(&FileServer) -> FsCall,
        make: impl FnOnce(&SimFiles) -> Result<T>,
    ) -> Result<T> {
        CALL_HOOK.with_borrow(|hook| {
            let Some(hook) = hook else { return make(&self.files) };
            let (mut make, mut result) = (Some(make), None);
            hook(text(self), &mut || {
                let make = make.take().ok_or(Errno::EIO)?;
                let made = result.insert(make(&self.files));
                made.as_ref().map(drop).map_err(|errno| *errno)
            });
            result.unwrap_or(Err(Errno::EIO))
        })
    }

    /// Returns the path of a node for a record.
    fn path(&self, number: u32) -> String {
        self.files.path_of(number).unwrap_or_else(|| NAMELESS.to_owned())
    }

    fn path_in(&self, directory: u32, name: &str) -> String {
        format!("{}/{name}", self.path(directory).trim_end_matches('/'))
    }

    fn attributes(&self, node: &Node) -> FileAttr {
        let Node { stat, access } = *node;
        let Times { accessed, modified, changed } = self.clock.times(stat.inode);
        let size = match stat.kind {
            // A target that a crash has lost is empty.
            FileKind::Symlink => self.files.target_of(stat.inode).map_or(0, |to| to.len() as u64),
            FileKind::File | FileKind::Directory => stat.size,
        };
        FileAttr {
            ino: ino(stat.inode),
            size,
            blocks: size.div_ceil(u64::from(BLOCK)) * u64::from(BLOCK / 512),
            atime: accessed,
            mtime: modified,
            ctime: changed,
            crtime: changed,
            kind: file_type(stat.kind),
            perm: access.mode as u16,
            // 1 means an unknown number of subdirectories.
            nlink: if stat.kind == FileKind::Directory { 1 } else { stat.links },
            uid: access.user,
            gid: access.group,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        }
    }

    pub fn find(&mut self, directory: u32, name: &str) -> Result<FileAttr> {
        Ok(self.attributes(&self.files.find(directory, name)?))
    }

    pub fn node(&mut self, number: u32) -> Result<FileAttr> {
        Ok(self.attributes(&self.files.node(number)?))
    }

    pub fn change(&mut self, number: u32, change: Change) -> Result<FileAttr> {
        let Change { mode, user, group, size, accessed, modified } = change;
        if let Some(mode) = mode {
            let text = |server: &FileServer| FsCall::Chmod {
                path: server.path(number),
                mode: mode & 0o7777,
            };
            self.call(text, |files| files.set_mode_of(number, mode))?;
        }
        if user.is_some() || group.is_some() {
            let access = self.files.node(number)?.access;
            let (user, group) = (user.unwrap_or(access.user), group.unwrap_or(access.group));
            self.files.set_owner_of(number, user, group)?;
        }
        if let Some(size) = size {
            let text = |server: &FileServer| FsCall::Ftruncate { path: server.path(number), size };
            self.call(text, |files| files.resize_node(number, size))?;
        }
        self.clock.touch(number, size.is_some());
        let now = self.clock.tick();
        let at = |time: Option<TimeOrNow>, before: SystemTime| match time {
            None => before,
            Some(TimeOrNow::Now) => now,
            Some(TimeOrNow::SpecificTime(time)) => time,
        };
        let times = self.clock.times(number);
        let (accessed, modified) = (at(accessed, times.accessed), at(modified, times.modified));
        self.clock.set(number, Times { accessed, modified, ..times });
        self.node(number)
    }

    pub fn target(&mut self, number: u32) -> Result<String> {
        self.files.target_of(number)
    }

    pub fn make(
        &mut self,
        directory: u32,
        name: &str,
        new: NewNode<'_>,
        born: Access,
    ) -> Result<FileAttr> {
        let text = |server: &FileServer| {
            let path = server.path_in(directory, name);
            match new {
                NewNode::File => FsCall::Open { path, flags: OpenFlags::CREATE },
                NewNode::Directory => FsCall::Mkdir { path },
                NewNode::Symlink(target) => FsCall::Symlink { target: target.to_owned(), path },
            }
        };
        let node = self.call(text, |files| files.make(directory, name, new, born))?;
        self.clock.born(node.stat.inode);
        self.clock.touch(directory, true);
        Ok(self.attributes(&node))
    }

    pub fn unlink(&mut self, directory: u32, name: &str) -> Result<()> {
        let text = |server: &FileServer| FsCall::Unlink { path: server.path_in(directory, name) };
        self.call(text, |files| files.remove_name(directory, name))?;
        self.clock.touch(directory, true);
        Ok(())
    }

    pub fn rmdir(&mut self, directory: u32, name: &str) -> Result<()> {
        let text = |server: &FileServer| FsCall::Rmdir { path: server.path_in(directory, name) };
        self.call(text, |files| files.remove_directory(directory, name))?;
        self.clock.touch(directory, true);
        Ok(())
    }

    pub fn rename(
        &mut self,
        (directory, name): (u32, &str),
        (new_directory, new_name): (u32, &str),
        how: Option<Renaming>,
    ) -> Result<()> {
        let text = |server: &FileServer| {
            let from = server.path_in(directory, name);
            let to = server.path_in(new_directory, new_name);
            match how {
                None => FsCall::Rename { from, to },
                Some(Renaming::NoReplace) => FsCall::RenameNoReplace { from, to },
                Some(Renaming::Exchange) => FsCall::Exchange { from, to },
            }
        };
        self.call(text, |files| {
            files.move_node((directory, name), (new_directory, new_name), how)
        })?;
        self.clock.touch(directory, true);
        self.clock.touch(new_directory, true);
        Ok(())
    }

    pub fn link(&mut self, number: u32, directory: u32, name: &str) -> Result<FileAttr> {
        let text = |server: &FileServer| FsCall::Link {
            from: server.path(number),
            to: server.path_in(directory, name),
        };
        let node = self.call(text, |files| files.link_node(number, directory, name))?;
        self.clock.touch(number, false);
        self.clock.touch(directory, true);
        Ok(self.attributes(&node))
    }

    pub fn open(&mut self, number: u32) -> Result<Fd> {
        let fd = self.files.open_node(number)?;
        self.open += 1;
        Ok(fd)
    }

    /// Returns the number of open files and directories.
    pub fn open_handles(&self) -> u64 {
        self.open
    }

    pub fn close(&mut self, fd: Fd) -> Result<()> {
        self.files.close(fd)?;
        self.open -= 1;
        Ok(())
    }

    pub fn read(&mut self, fd: Fd, offset: u64, size: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; size as usize];
        let len = self.files.pread(fd, offset, &mut bytes)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    pub fn write(&mut self, number: u32, fd: Fd, offset: u64, data: Vec<u8>) -> Result<()> {
        let bytes = &data;
        let text = |server: &FileServer| FsCall::Pwrite {
            path: server.path(number),
            offset,
            data: bytes.clone(),
            method: WriteMethod::Plain,
        };
        self.call(text, |files| files.pwrite(fd, offset, bytes))?;
        self.clock.touch(number, true);
        Ok(())
    }

    pub fn sync(&mut self, number: u32, data_only: bool) -> Result<()> {
        let text = |server: &FileServer| {
            let path = server.path(number);
            let is_file =
                server.files.node(number).is_ok_and(|node| node.stat.kind == FileKind::File);
            match (is_file, data_only) {
                (false, _) => FsCall::FsyncDir { path },
                (true, true) => FsCall::Fdatasync { path },
                (true, false) => FsCall::Fsync { path },
            }
        };
        self.call(text, |files| files.sync_node(number, data_only))
    }

    /// Makes everything durable: sync(2) or syncfs(2).
    pub fn sync_all(&mut self, call: FsCall) -> Result<()> {
        self.call(|_| call, |files| files.sync())
    }

    pub fn fallocate(&mut self, number: u32, fd: Fd, how: Fallocate, at: (u64, u64)) -> Result<()> {
        let (offset, len) = at;
        let text = |server: &FileServer| FsCall::Fallocate {
            path: server.path(number),
            mode: how,
            offset,
            len,
        };
        self.call(text, |files| files.fallocate(fd, how, offset, len))?;
        self.clock.touch(number, true);
        Ok(())
    }

    /// Returns the names of a directory behind a place: each name's place, node, type and name.
    pub fn entries(
        &mut self,
        number: u32,
        behind: u64,
    ) -> Result<Vec<(u64, INodeNo, FileType, String)>> {
        let entries = self.files.entries(number)?;
        let entries = entries.into_iter().filter(|entry| entry.slot + 3 > behind);
        Ok(entries.map(|at| (at.slot + 3, ino(at.inode), file_type(at.kind), at.name)).collect())
    }

    pub fn set_attribute(&mut self, number: u32, name: &str, value: &[u8]) -> Result<()> {
        let text = |server: &FileServer| FsCall::Setxattr {
            path: server.path(number),
            name: name.to_owned(),
            value: value.to_vec(),
        };
        self.call(text, |files| files.set_attribute_of(number, name, value))?;
        self.clock.touch(number, false);
        Ok(())
    }

    pub fn remove_attribute(&mut self, number: u32, name: &str) -> Result<()> {
        let text = |server: &FileServer| FsCall::Removexattr {
            path: server.path(number),
            name: name.to_owned(),
        };
        self.call(text, |files| files.remove_attribute_of(number, name))?;
        self.clock.touch(number, false);
        Ok(())
    }

    pub fn attribute(&mut self, number: u32, name: &str) -> Result<Vec<u8>> {
        let found = self.files.attributes_of(number)?.into_iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value).ok_or(Errno::ENODATA)
    }

    /// Returns the names of the extended attributes, each with a NUL after it.
    pub fn attribute_names(&mut self, number: u32) -> Result<Vec<u8>> {
        let names = self.files.attributes_of(number)?.into_iter();
        Ok(names.flat_map(|(name, _)| name.into_bytes().into_iter().chain([0])).collect())
    }
}
