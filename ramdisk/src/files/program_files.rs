//! Simulated files as a running program uses them: by the numbers of nodes, with times, and with a
//! record of the calls.

use std::time::SystemTime;

use nix::errno::Errno;

use super::access::Access;
use super::call::{FsCall, NAMELESS, WriteMethod};
use super::clock::{FileClock, FileTimes};
use super::nodes::{Entry, FileNode, NewNode};
use super::{Fallocate, Fd, FileKind, Files as _, OpenFlags, Renaming, Result, SimFiles};

/// A recorder of a program's calls.
pub trait CallRecorder {
    /// Returns true if calls are recorded now.
    fn is_on(&self) -> bool;
    /// Makes a call and records it. `make` returns its result.
    fn record(&self, call: FsCall, make: &mut dyn FnMut() -> Result<()>);
    /// Returns the error of the next call that changes or syncs files, which asks once. A call that
    /// fails changes nothing, but for a sync ([`SimFiles::write_back_fails`]). `None` if it works.
    fn error_of_next(&self) -> Option<Errno> {
        None
    }
}

/// Simulated files of a program.
pub struct ProgramFiles {
    files: SimFiles,
    clock: FileClock,
    recorder: Box<dyn CallRecorder>,
}

/// A node with its times.
#[derive(Clone, Copy, Debug)]
pub struct TimedNode {
    /// Its kind, number, size, names, mode and owner. The size of a symbolic link is that of its
    /// target.
    pub node: FileNode,
    /// Its times.
    pub times: FileTimes,
}

/// A time that a program sets.
#[derive(Clone, Copy, Debug)]
pub enum NewTime {
    /// The time of the call.
    Now,
    /// A time that the program names.
    Given(SystemTime),
}

/// A change of attributes. `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeChange {
    /// The bits 07777 of the mode.
    pub mode: Option<u32>,
    /// The user.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
    /// The size of a file in bytes.
    pub size: Option<u64>,
    /// The time of the last read.
    pub accessed: Option<NewTime>,
    /// The time of the last change of the contents.
    pub modified: Option<NewTime>,
}

impl ProgramFiles {
    /// Returns the files of a program whose calls are recorded.
    pub fn new(files: SimFiles, recorder: Box<dyn CallRecorder>) -> ProgramFiles {
        ProgramFiles { files, clock: FileClock::default(), recorder }
    }

    /// Returns the simulated files.
    pub fn files(&self) -> &SimFiles {
        &self.files
    }

    /// Makes a call that is recorded. `text` is called only if calls are recorded.
    fn call<T>(
        &self,
        text: impl FnOnce() -> FsCall,
        make: impl FnOnce(&SimFiles) -> Result<T>,
    ) -> Result<T> {
        if let Some(errno) = self.recorder.error_of_next() {
            return Err(errno);
        }
        self.record(text, make)
    }

    /// Makes a call that syncs, and records it. If it fails, so does the write of what it syncs.
    fn sync_call(
        &self,
        text: impl FnOnce() -> FsCall,
        make: impl FnOnce(&SimFiles) -> Result<()>,
    ) -> Result<()> {
        match self.recorder.error_of_next() {
            Some(errno) => self.files.write_back_fails(make).and(Err(errno)),
            None => self.record(text, make),
        }
    }

    fn record<T>(
        &self,
        text: impl FnOnce() -> FsCall,
        make: impl FnOnce(&SimFiles) -> Result<T>,
    ) -> Result<T> {
        if !self.recorder.is_on() {
            return make(&self.files);
        }
        let (mut make, mut result) = (Some(make), None);
        self.recorder.record(text(), &mut || {
            let make = make.take().expect("a call is made once");
            let made = result.insert(make(&self.files));
            made.as_ref().map(drop).map_err(|errno| *errno)
        });
        result.expect("a recorder makes the call")
    }

    /// Returns the path of a node for a record, or [`NAMELESS`].
    pub fn path(&self, number: u32) -> String {
        self.files.path_of(number).unwrap_or_else(|| NAMELESS.to_owned())
    }

    fn path_in(&self, directory: u32, name: &str) -> String {
        format!("{}/{name}", self.path(directory).trim_end_matches('/'))
    }

    fn timed(&self, mut node: FileNode) -> TimedNode {
        if node.stat.kind == FileKind::Symlink {
            // A target that a crash has lost is empty.
            node.stat.size = self.target(node.stat.inode).map_or(0, |to| to.len() as u64);
        }
        TimedNode { node, times: self.clock.times(node.stat.inode) }
    }

    /// Returns the node that a name in a directory leads to.
    ///
    /// # Errors
    /// Those of [`SimFiles::find`].
    pub fn find(&self, directory: u32, name: &str) -> Result<TimedNode> {
        Ok(self.timed(self.files.find(directory, name)?))
    }

    /// Returns the status of a node.
    ///
    /// # Errors
    /// `ESTALE` if the node is unknown, as in all calls by number.
    pub fn node(&self, number: u32) -> Result<TimedNode> {
        Ok(self.timed(self.files.node(number)?))
    }

    /// Returns the target of a symbolic link.
    ///
    /// # Errors
    /// `EINVAL` if the node is none.
    pub fn target(&self, number: u32) -> Result<String> {
        self.files.target_of(number)
    }

    /// Changes attributes of a node: chmod(2), chown(2), truncate(2), utimensat(2).
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn change(&mut self, number: u32, change: NodeChange) -> Result<TimedNode> {
        let NodeChange { mode, user, group, size, accessed, modified } = change;
        if let Some(mode) = mode {
            let text = || FsCall::Chmod { path: self.path(number), mode: mode & 0o7777 };
            self.call(text, |files| files.set_mode_of(number, mode))?;
        }
        if user.is_some() || group.is_some() {
            let access = self.files.node(number)?.access;
            let (user, group) = (user.unwrap_or(access.user), group.unwrap_or(access.group));
            self.files.set_owner_of(number, user, group)?;
        }
        if let Some(size) = size {
            let text = || FsCall::Ftruncate { path: self.path(number), size };
            self.call(text, |files| files.resize_node(number, size))?;
        }
        self.clock.touch(number, size.is_some());
        let now = self.clock.tick();
        let at = |time: Option<NewTime>, before: SystemTime| match time {
            None => before,
            Some(NewTime::Now) => now,
            Some(NewTime::Given(time)) => time,
        };
        let times = self.clock.times(number);
        let (accessed, modified) = (at(accessed, times.accessed), at(modified, times.modified));
        self.clock.set(number, FileTimes { accessed, modified, ..times });
        self.node(number)
    }

    /// Makes a node with a name.
    ///
    /// # Errors
    /// `EEXIST` if the name exists, and those of [`SimFiles::make`].
    pub fn make(
        &mut self,
        directory: u32,
        name: &str,
        new: NewNode<'_>,
        born: Access,
    ) -> Result<TimedNode> {
        let text = || {
            let path = self.path_in(directory, name);
            match new {
                NewNode::File => FsCall::Open { path, flags: OpenFlags::CREATE },
                NewNode::Directory => FsCall::Mkdir { path },
                NewNode::Symlink(target) => FsCall::Symlink { target: target.to_owned(), path },
            }
        };
        let node = self.call(text, |files| files.make(directory, name, new, born))?;
        self.clock.born(node.stat.inode);
        self.clock.touch(directory, true);
        Ok(self.timed(node))
    }

    /// Removes a name of a file or symbolic link.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn unlink(&mut self, directory: u32, name: &str) -> Result<()> {
        let text = || FsCall::Unlink { path: self.path_in(directory, name) };
        self.call(text, |files| files.remove_name(directory, name))?;
        self.clock.touch(directory, true);
        Ok(())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Those of rmdir(2).
    pub fn rmdir(&mut self, directory: u32, name: &str) -> Result<()> {
        let text = || FsCall::Rmdir { path: self.path_in(directory, name) };
        self.call(text, |files| files.remove_directory(directory, name))?;
        self.clock.touch(directory, true);
        Ok(())
    }

    /// Renames a node.
    ///
    /// # Errors
    /// Those of renameat2(2).
    pub fn rename(
        &mut self,
        (directory, name): (u32, &str),
        (new_directory, new_name): (u32, &str),
        how: Option<Renaming>,
    ) -> Result<()> {
        let text = || {
            let from = self.path_in(directory, name);
            let to = self.path_in(new_directory, new_name);
            match how {
                None => FsCall::Rename { from, to },
                Some(Renaming::NoReplace) => FsCall::RenameNoReplace { from, to },
                Some(Renaming::Exchange) => FsCall::Exchange { from, to },
            }
        };
        let (from, to) = ((directory, name), (new_directory, new_name));
        self.call(text, |files| files.move_node(from, to, how))?;
        self.clock.touch(directory, true);
        self.clock.touch(new_directory, true);
        Ok(())
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// Those of link(2).
    pub fn link(&mut self, number: u32, directory: u32, name: &str) -> Result<TimedNode> {
        let text = || FsCall::Link { from: self.path(number), to: self.path_in(directory, name) };
        let node = self.call(text, |files| files.link_node(number, directory, name))?;
        self.clock.touch(number, false);
        self.clock.touch(directory, true);
        Ok(self.timed(node))
    }

    /// Opens a file or directory.
    ///
    /// # Errors
    /// `ESTALE`.
    pub fn open(&self, number: u32) -> Result<Fd> {
        self.files.open_node(number)
    }

    /// Closes a file or directory.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close(&self, fd: Fd) -> Result<()> {
        self.files.close(fd)
    }

    /// Reads an open file.
    ///
    /// # Errors
    /// Those of pread(2).
    pub fn read(&self, fd: Fd, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        self.files.pread(fd, offset, bytes)
    }

    /// Writes to an open file. What is written by a method that syncs is durable at the return.
    ///
    /// # Errors
    /// Those of pwrite(2).
    pub fn write(
        &mut self,
        number: u32,
        fd: Fd,
        offset: u64,
        data: &[u8],
        method: WriteMethod,
    ) -> Result<()> {
        let text =
            || FsCall::Pwrite { path: self.path(number), offset, data: data.to_vec(), method };
        self.call(text, |files| {
            files.pwrite(fd, offset, data)?;
            match method {
                WriteMethod::DataSynced => files.sync_node(number, true),
                WriteMethod::Synced => files.sync_node(number, false),
                _ => Ok(()),
            }
        })?;
        self.clock.touch(number, true);
        Ok(())
    }

    /// Makes a node durable: fsync(2), or fdatasync(2) of a file with `data_only`.
    ///
    /// # Errors
    /// `ESTALE`.
    pub fn sync(&self, number: u32, data_only: bool) -> Result<()> {
        let text = || {
            let path = self.path(number);
            let is_file =
                self.files.node(number).is_ok_and(|node| node.stat.kind == FileKind::File);
            match (is_file, data_only) {
                (false, _) => FsCall::FsyncDir { path },
                (true, true) => FsCall::Fdatasync { path },
                (true, false) => FsCall::Fsync { path },
            }
        };
        self.sync_call(text, |files| files.sync_node(number, data_only))
    }

    /// Makes everything durable, by the call sync(2) or syncfs(2).
    ///
    /// # Errors
    /// None for simulated files.
    pub fn sync_all(&self, call: FsCall) -> Result<()> {
        self.sync_call(|| call, |files| files.sync())
    }

    /// Changes a range of an open file: `offset` and length in bytes.
    ///
    /// # Errors
    /// Those of fallocate(2).
    pub fn fallocate(
        &mut self,
        number: u32,
        fd: Fd,
        how: Fallocate,
        (offset, len): (u64, u64),
    ) -> Result<()> {
        let text = || FsCall::Fallocate { path: self.path(number), mode: how, offset, len };
        self.call(text, |files| files.fallocate(fd, how, offset, len))?;
        self.clock.touch(number, true);
        Ok(())
    }

    /// Returns the names of a directory.
    ///
    /// # Errors
    /// `ENOTDIR`.
    pub fn entries(&self, number: u32) -> Result<Vec<Entry>> {
        self.files.entries(number)
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// Those of setxattr(2).
    pub fn set_attribute(&mut self, number: u32, name: &str, value: &[u8]) -> Result<()> {
        let text = || FsCall::Setxattr {
            path: self.path(number),
            name: name.to_owned(),
            value: value.to_vec(),
        };
        self.call(text, |files| files.set_attribute_of(number, name, value))?;
        self.clock.touch(number, false);
        Ok(())
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// Those of removexattr(2).
    pub fn remove_attribute(&mut self, number: u32, name: &str) -> Result<()> {
        let text = || FsCall::Removexattr { path: self.path(number), name: name.to_owned() };
        self.call(text, |files| files.remove_attribute_of(number, name))?;
        self.clock.touch(number, false);
        Ok(())
    }

    /// Returns the extended attributes, each with its value, in order of their names.
    ///
    /// # Errors
    /// `ESTALE`.
    pub fn attributes(&self, number: u32) -> Result<Vec<(String, Vec<u8>)>> {
        self.files.attributes_of(number)
    }
}
