//! Hands the requests of the kernel to the thread that owns the files.
//!
//! The mode of the mount is write-through: each write(2) is a request when it returns, and writes
//! to a file that is open with O_SYNC or O_DSYNC are followed by a request to sync. open(2) keeps
//! the page cache. Locks are left to the kernel.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use explode_ramdisk::files::{Access, Fallocate, Fd, NewNode, NodeChange, Renaming};
use fuser::{
    BsdFileFlags, Errno as FuseErrno, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use nix::errno::Errno;

use crate::mappings::Mappings;
use crate::names::text;
use crate::requests::{MountId, Requests};
use crate::server::{BLOCK, FOREVER, FileServer, Result, new_time, number};

/// One mount, as the kernel sees it.
pub(crate) struct Forward {
    pub mount: MountId,
    pub requests: Requests,
    pub mappings: Mappings,
}

/// The largest write that arrives as one request. The kernel sends at most 256 pages at a time.
const MOST_WRITTEN: u32 = 1 << 20;

fn refuse(errno: Errno) -> FuseErrno {
    FuseErrno::from_i32(errno as i32)
}

/// Returns the name of an extended attribute that simulated files keep, else `EOPNOTSUPP`.
/// `EILSEQ` if it is not UTF-8.
fn attribute(name: &OsStr) -> Result<String> {
    let name = name.to_str().map(str::to_owned).ok_or(Errno::EILSEQ)?;
    if name.starts_with("user.") || name.starts_with("trusted.") {
        Ok(name)
    } else {
        Err(Errno::EOPNOTSUPP)
    }
}

fn fd(handle: FileHandle) -> Fd {
    Fd(handle.0 as u32)
}

fn handle(Fd(fd): Fd) -> FileHandle {
    FileHandle(fd.into())
}

impl Forward {
    /// Lets the owner of the files do some work on them. If the owner has gone, the reply within
    /// the work is dropped, which answers the kernel with EIO.
    fn ask(&self, work: impl FnOnce(&mut FileServer) + Send + 'static) {
        let mount = self.mount;
        self.requests
            .send(Box::new(move |served| {
                if let Some(server) = served.get_mut(mount) {
                    work(server);
                }
            }))
            .ok();
    }

    /// Lets the owner do work, and replies with its result.
    fn answer<R: Send + 'static, T>(
        &self,
        reply: R,
        work: impl FnOnce(&mut FileServer) -> Result<T> + Send + 'static,
        well: impl FnOnce(R, T) + Send + 'static,
        wrong: impl FnOnce(R, FuseErrno) + Send + 'static,
    ) {
        self.ask(move |server| match work(server) {
            Ok(result) => well(reply, result),
            Err(errno) => wrong(reply, refuse(errno)),
        });
    }

    /// Lets the owner do work without a result.
    fn ask_empty(
        &self,
        reply: ReplyEmpty,
        work: impl FnOnce(&mut FileServer) -> Result<()> + Send + 'static,
    ) {
        self.answer(reply, work, |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    /// Lets the owner make a node durable, with the stores through mappings before it.
    fn ask_sync(&self, ino: INodeNo, data_only: bool, reply: ReplyEmpty) {
        let mount = self.mount;
        self.mappings.send(Box::new(move |served| {
            let Some(server) = served.get_mut(mount) else { return };
            match number(ino).and_then(|node| server.sync(node, data_only)) {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(refuse(errno)),
            }
        }));
    }

    /// Lets the owner do work whose result is a node.
    fn ask_entry(
        &self,
        reply: ReplyEntry,
        work: impl FnOnce(&mut FileServer) -> Result<fuser::FileAttr> + Send + 'static,
    ) {
        let well = |reply: ReplyEntry, node| reply.entry(&FOREVER, &node, Generation(0));
        self.answer(reply, work, well, ReplyEntry::error);
    }

    /// Lets the owner do work whose result is the attributes of a node.
    fn ask_attributes(
        &self,
        reply: ReplyAttr,
        work: impl FnOnce(&mut FileServer) -> Result<fuser::FileAttr> + Send + 'static,
    ) {
        let well = |reply: ReplyAttr, node| reply.attr(&FOREVER, &node);
        self.answer(reply, work, well, ReplyAttr::error);
    }

    fn ask_open(&self, ino: INodeNo, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_KEEP_CACHE;
        let well = move |reply: ReplyOpen, fd| reply.opened(handle(fd), flags);
        let open = move |server: &mut FileServer| server.open(number(ino)?);
        self.answer(reply, open, well, ReplyOpen::error);
    }

    /// Lets the owner do work whose result is for a buffer of `size` bytes. With 0 the reply is the
    /// number of bytes that are needed.
    fn ask_xattr(
        &self,
        size: u32,
        reply: ReplyXattr,
        work: impl FnOnce(&mut FileServer) -> Result<Vec<u8>> + Send + 'static,
    ) {
        self.ask(move |server| match work(server) {
            Ok(bytes) if size == 0 => reply.size(bytes.len() as u32),
            Ok(bytes) if bytes.len() > size as usize => reply.error(refuse(Errno::ERANGE)),
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(refuse(errno)),
        });
    }
}

/// Returns the access of a node that a request makes.
fn born(request: &Request, mode: u32) -> Access {
    Access { mode: mode & 0o7777, user: request.uid(), group: request.gid() }
}

impl Filesystem for Forward {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = InitFlags::FUSE_MAX_PAGES;
        let missing = |_| io::Error::other("the kernel's FUSE cannot send requests of 1 MiB");
        config.add_capabilities(wanted).map_err(missing)?;
        // The value is below the limit.
        config.set_max_write(MOST_WRITTEN).ok();
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = text(name);
        self.ask_entry(reply, move |server| server.find(number(parent)?, &name));
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.ask_attributes(reply, move |server| server.node(number(ino)?));
    }

    fn setattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _changed_by: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (accessed, modified) = (accessed.map(new_time), modified.map(new_time));
        let change = NodeChange { mode, user, group, size, accessed, modified };
        self.ask_attributes(reply, move |server| server.change(number(ino)?, change));
    }

    fn readlink(&self, _request: &Request, ino: INodeNo, reply: ReplyData) {
        let target = move |server: &mut FileServer| server.target(number(ino)?);
        self.answer(reply, target, |reply, to| reply.data(to.as_encoded_bytes()), ReplyData::error);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        let special = match mode & libc::S_IFMT {
            libc::S_IFREG | 0 => Ok(0),
            libc::S_IFIFO => Ok(Access::FIFO),
            libc::S_IFSOCK => Ok(Access::SOCKET),
            // Simulated files have no devices.
            _ => Err(Errno::EPERM),
        };
        let (name, born) = (text(name), born(request, mode));
        self.ask_entry(reply, move |server| {
            let born = Access { mode: born.mode | special?, ..born };
            server.make(number(parent)?, &name, NewNode::File, born)
        });
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let (name, born) = (text(name), born(request, mode));
        self.ask_entry(reply, move |server| {
            server.make(number(parent)?, &name, NewNode::Directory, born)
        });
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = text(name);
        self.ask_empty(reply, move |server| server.unlink(number(parent)?, &name));
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = text(name);
        self.ask_empty(reply, move |server| server.rmdir(number(parent)?, &name));
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let (name, target, born) = (text(name), text(target.as_os_str()), born(request, 0o777));
        self.ask_entry(reply, move |server| {
            server.make(number(parent)?, &name, NewNode::Symlink(&target), born)
        });
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (name, new_name) = (text(name), text(new_name));
        let how = match flags {
            flags if flags.is_empty() => Ok(None),
            RenameFlags::RENAME_NOREPLACE => Ok(Some(Renaming::NoReplace)),
            RenameFlags::RENAME_EXCHANGE => Ok(Some(Renaming::Exchange)),
            _ => Err(Errno::EINVAL),
        };
        self.ask_empty(reply, move |server| {
            let (from, to) = (number(parent)?, number(new_parent)?);
            server.rename((from, &name), (to, &new_name), how?)
        });
    }

    fn link(
        &self,
        _request: &Request,
        ino: INodeNo,
        new_parent: INodeNo,
        new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        let name = text(new_name);
        self.ask_entry(reply, move |server| server.link(number(ino)?, number(new_parent)?, &name));
    }

    fn open(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.ask_open(ino, reply);
    }

    fn opendir(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.ask_open(ino, reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let (name, born) = (text(name), born(request, mode));
        let make = move |server: &mut FileServer| {
            let node = server.make(number(parent)?, &name, NewNode::File, born)?;
            Ok((node, server.open(number(node.ino)?)?))
        };
        let well = |reply: ReplyCreate, (node, fd): (fuser::FileAttr, Fd)| {
            let flags = FopenFlags::FOPEN_KEEP_CACHE;
            reply.created(&FOREVER, &node, Generation(0), handle(fd), flags);
        };
        self.answer(reply, make, well, ReplyCreate::error);
    }

    fn read(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = move |server: &mut FileServer| server.read(fd(handle), offset, size);
        self.answer(reply, read, |reply, bytes| reply.data(&bytes), ReplyData::error);
    }

    fn write(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _how: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_vec();
        let len = data.len() as u32;
        let write =
            move |server: &mut FileServer| server.write(number(ino)?, fd(handle), offset, data);
        self.answer(reply, write, move |reply, ()| reply.written(len), ReplyWrite::error);
    }

    /// Answers close(2), which changes nothing.
    fn flush(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        // The kernel then sends no more of these.
        reply.error(refuse(Errno::ENOSYS));
    }

    fn release(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.ask_empty(reply, move |server| server.close(fd(handle)));
    }

    fn releasedir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.ask_empty(reply, move |server| server.close(fd(handle)));
    }

    fn fsync(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.ask_sync(ino, data_only, reply);
    }

    fn fsyncdir(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.ask_sync(ino, data_only, reply);
    }

    fn readdir(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        behind: u64,
        mut reply: ReplyDirectory,
    ) {
        self.ask(move |server| {
            let names = match number(ino).and_then(|node| server.entries(node, behind)) {
                Ok(names) => names,
                Err(errno) => return reply.error(refuse(errno)),
            };
            let dots = [(1, "."), (2, "..")].into_iter().filter(|(place, _)| *place > behind);
            let dots = dots.map(|(place, name)| (place, ino, FileType::Directory, name.into()));
            for (place, ino, kind, name) in dots.chain(names) {
                if reply.add(ino, place, kind, name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn statfs(&self, _request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let blocks = 1 << 28;
        reply.statfs(blocks, blocks, blocks, 1 << 20, 1 << 20, BLOCK, 255, BLOCK);
    }

    fn setxattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (name, value) = (attribute(name), value.to_vec());
        self.ask_empty(reply, move |server| {
            let (node, name) = (number(ino)?, name?);
            match (flags, server.attribute(node, &name)) {
                (libc::XATTR_CREATE, Ok(_)) => Err(Errno::EEXIST),
                (libc::XATTR_REPLACE, Err(errno)) => Err(errno),
                _ => server.set_attribute(node, &name, &value),
            }
        });
    }

    fn getxattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        match attribute(name) {
            // Programs ask for the capabilities of each file, which are not simulated.
            Err(Errno::EOPNOTSUPP) => reply.error(refuse(Errno::ENODATA)),
            Err(errno) => reply.error(refuse(errno)),
            Ok(name) => {
                self.ask_xattr(size, reply, move |server| server.attribute(number(ino)?, &name));
            }
        }
    }

    fn listxattr(&self, _request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.ask_xattr(size, reply, move |server| server.attribute_names(number(ino)?));
    }

    fn removexattr(&self, _request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = attribute(name);
        self.ask_empty(reply, move |server| server.remove_attribute(number(ino)?, &name?));
    }

    fn fallocate(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let how = match mode {
            0 => Ok(Fallocate::Allocate),
            libc::FALLOC_FL_KEEP_SIZE => Ok(Fallocate::KeepSize),
            mode if mode == libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE => {
                Ok(Fallocate::PunchHole)
            }
            libc::FALLOC_FL_ZERO_RANGE => Ok(Fallocate::ZeroRange),
            _ => Err(Errno::EOPNOTSUPP),
        };
        self.ask_empty(reply, move |server| {
            server.fallocate(number(ino)?, fd(handle), how?, (offset, length))
        });
    }
}
