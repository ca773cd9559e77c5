//! Answers requests from simulated files, on the thread that owns them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Duration;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{
    Access, CallRecorder, Fallocate, Fd, FileKind, FileNode, FileTimes, FsCall, NewNode, NewTime,
    NodeChange, ProgramFiles, Renaming, TimedNode, WriteMethod,
};
use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use nix::errno::Errno;

use crate::hook::Hook;
use crate::names;

/// The result of a request.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// A function that makes a call of a program and records it.
pub type CallHook = Box<dyn Fn(FsCall, &mut dyn FnMut() -> Result<()>)>;

thread_local! {
    /// The recorder of the calls of the program that runs.
    pub(crate) static CALL_HOOK: Hook<CallHook> = const { RefCell::new(None) };
}

/// The recorder that is the hook of this thread.
struct ByHook;

impl CallRecorder for ByHook {
    fn is_on(&self) -> bool {
        CALL_HOOK.with_borrow(Option::is_some)
    }

    fn record(&self, call: FsCall, make: &mut dyn FnMut() -> Result<()>) {
        CALL_HOOK.with_borrow(|hook| match hook {
            Some(hook) => hook(call, make),
            // The caller has the result.
            None => _ = make(),
        });
    }
}

/// The time for which the kernel may keep names and attributes. Nothing changes the files but the
/// kernel itself.
pub(crate) const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The size of a block in answers.
pub(crate) const BLOCK: u32 = 4096;

/// Simulated files that a mount serves.
pub(crate) struct FileServer {
    files: ProgramFiles,
    /// The number of open files and directories.
    open: u64,
}

/// Returns the number of a node, which the kernel numbers from 1.
pub(crate) fn number(ino: INodeNo) -> Result<u32> {
    ino.0.checked_sub(1).and_then(|number| u32::try_from(number).ok()).ok_or(Errno::ESTALE)
}

fn ino(number: u32) -> INodeNo {
    INodeNo(u64::from(number) + 1)
}

/// Returns the type of a node for the kernel.
pub(crate) fn file_type(kind: FileKind, access: Access) -> FileType {
    match kind {
        FileKind::File if access.special() == Access::FIFO => FileType::NamedPipe,
        FileKind::File if access.special() == Access::SOCKET => FileType::Socket,
        FileKind::File => FileType::RegularFile,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
    }
}

/// Returns a time that a request sets.
pub(crate) fn new_time(time: TimeOrNow) -> NewTime {
    match time {
        TimeOrNow::Now => NewTime::Now,
        TimeOrNow::SpecificTime(time) => NewTime::Given(time),
    }
}

/// Returns the attributes of a node for the kernel.
fn attributes(TimedNode { node, times }: TimedNode) -> FileAttr {
    let FileNode { stat, access } = node;
    let FileTimes { accessed, modified, changed } = times;
    FileAttr {
        ino: ino(stat.inode),
        size: stat.size,
        blocks: stat.size.div_ceil(u64::from(BLOCK)) * u64::from(BLOCK / 512),
        atime: accessed,
        mtime: modified,
        ctime: changed,
        crtime: changed,
        kind: file_type(stat.kind, access),
        perm: (access.mode & 0o7777) as u16,
        // 1 means an unknown number of subdirectories.
        nlink: if stat.kind == FileKind::Directory { 1 } else { stat.links },
        uid: access.user,
        gid: access.group,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

impl FileServer {
    pub fn new(files: SimFiles) -> FileServer {
        FileServer { files: ProgramFiles::new(files, Box::new(ByHook)), open: 0 }
    }

    pub fn find(&mut self, directory: u32, name: &str) -> Result<FileAttr> {
        self.files.find(directory, name).map(attributes)
    }

    pub fn node(&mut self, number: u32) -> Result<FileAttr> {
        self.files.node(number).map(attributes)
    }

    pub fn change(&mut self, number: u32, change: NodeChange) -> Result<FileAttr> {
        self.files.change(number, change).map(attributes)
    }

    pub fn target(&mut self, number: u32) -> Result<OsString> {
        self.files.target(number).map(|target| names::name(&target))
    }

    pub fn make(
        &mut self,
        directory: u32,
        name: &str,
        new: NewNode<'_>,
        born: Access,
    ) -> Result<FileAttr> {
        self.files.make(directory, name, new, born).map(attributes)
    }

    pub fn unlink(&mut self, directory: u32, name: &str) -> Result<()> {
        self.files.unlink(directory, name)
    }

    pub fn rmdir(&mut self, directory: u32, name: &str) -> Result<()> {
        self.files.rmdir(directory, name)
    }

    pub fn rename(
        &mut self,
        from: (u32, &str),
        to: (u32, &str),
        how: Option<Renaming>,
    ) -> Result<()> {
        self.files.rename(from, to, how)
    }

    pub fn link(&mut self, number: u32, directory: u32, name: &str) -> Result<FileAttr> {
        self.files.link(number, directory, name).map(attributes)
    }

    pub fn open(&mut self, number: u32) -> Result<Fd> {
        let fd = self.files.open(number)?;
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
        let len = self.files.read(fd, offset, &mut bytes)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    pub fn write(&mut self, number: u32, fd: Fd, offset: u64, data: Vec<u8>) -> Result<()> {
        self.files.write(number, fd, offset, &data, WriteMethod::Plain)
    }

    pub fn sync(&mut self, number: u32, data_only: bool) -> Result<()> {
        self.files.sync(number, data_only)
    }

    /// Makes everything durable: sync(2) or syncfs(2).
    pub fn sync_all(&mut self, call: FsCall) -> Result<()> {
        self.files.sync_all(call)
    }

    pub fn fallocate(&mut self, number: u32, fd: Fd, how: Fallocate, at: (u64, u64)) -> Result<()> {
        self.files.fallocate(number, fd, how, at)
    }

    /// Returns the names of a directory behind a place: each name's place, node, type and name.
    pub fn entries(
        &mut self,
        number: u32,
        behind: u64,
    ) -> Result<Vec<(u64, INodeNo, FileType, OsString)>> {
        let entries = self.files.entries(number)?;
        let entries = entries.into_iter().filter(|entry| entry.slot + 3 > behind);
        let shown = entries.map(|at| {
            let kind = file_type(at.kind, at.born);
            (at.slot + 3, ino(at.inode), kind, names::name(&at.name))
        });
        Ok(shown.collect())
    }

    pub fn set_attribute(&mut self, number: u32, name: &str, value: &[u8]) -> Result<()> {
        self.files.set_attribute(number, name, value)
    }

    pub fn remove_attribute(&mut self, number: u32, name: &str) -> Result<()> {
        self.files.remove_attribute(number, name)
    }

    pub fn attribute(&mut self, number: u32, name: &str) -> Result<Vec<u8>> {
        let found = self.files.attributes(number)?.into_iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value).ok_or(Errno::ENODATA)
    }

    /// Returns the names of the extended attributes, each with a NUL after it.
    pub fn attribute_names(&mut self, number: u32) -> Result<Vec<u8>> {
        let names = self.files.attributes(number)?.into_iter();
        Ok(names.flat_map(|(name, _)| name.into_bytes().into_iter().chain([0])).collect())
    }
}
