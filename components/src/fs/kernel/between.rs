//! The files of a file system between whose calls the kernel does things on its own (`docs/threads.md`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::rc::Rc;

use explode_ramdisk::files::{Fallocate, Fd, Files, Kind, OpenFlags, Renaming, Result};
use explode_runtime::between::{Between, Own};
use explode_runtime::devices::KernelDisks;
use explode_runtime::recover::Fault;
use nix::errno::Errno;

use super::MountedFiles;
use crate::forward::forward;

/// The calls of mounted files. After each one that changes or syncs anything, whether it has succeeded or not, the kernel may do
/// something.
pub(super) struct BetweenCalls {
    files: Rc<MountedFiles>,
    disks: KernelDisks,
    between: Between,
    /// The open files that were made, written or cut.
    changed: RefCell<BTreeSet<u32>>,
}

/// Something to do, with the name of the file that it is done to.
enum Thing {
    Writeback,
    File(String),
    Commit,
    Reclaim,
}

impl Thing {
    fn name(&self) -> String {
        match self {
            Thing::Writeback => "write back all".to_owned(),
            Thing::File(path) => format!("write back {path}"),
            Thing::Commit => "commit".to_owned(),
            Thing::Reclaim => "reclaim".to_owned(),
        }
    }
}

impl BetweenCalls {
    pub fn new(files: Rc<MountedFiles>, disks: KernelDisks, between: Between) -> BetweenCalls {
        BetweenCalls { files, disks, between, changed: RefCell::default() }
    }

    fn after<T>(&self, call: &str, made: Result<T>) -> Result<T> {
        let things = RefCell::new(Vec::new());
        let name = || {
            *things.borrow_mut() = self.things()?;
            Ok(things.borrow().iter().map(Thing::name).collect())
        };
        self.disks.between_calls(call, name, |thing| self.run(&things.borrow()[thing]));
        made
    }

    fn things(&self) -> std::result::Result<Vec<Thing>, Fault> {
        let may = |own, thing| self.between.has(own).then_some(thing);
        let mut things: Vec<Thing> = may(Own::Writeback, Thing::Writeback).into_iter().collect();
        if self.between.has(Own::File) {
            let mut files = Vec::new();
            self.find(String::new(), &mut files)
                .map_err(|errno| Fault::new(format!("looking for files to write back: {}", errno.desc())))?;
            things.extend(files.into_iter().map(Thing::File));
        }
        things.extend(may(Own::Commit, Thing::Commit));
        things.extend(may(Own::Reclaim, Thing::Reclaim));
        Ok(things)
    }

    /// Every file below a directory, by name.
    fn find(&self, directory: String, files: &mut Vec<String>) -> Result<()> {
        for (name, kind) in self.files.readdir(if directory.is_empty() { "/" } else { &directory })? {
            let path = format!("{directory}/{name}");
            match kind {
                Kind::File => files.push(path),
                Kind::Directory => self.find(path, files)?,
                Kind::Symlink => {}
            }
        }
        Ok(())
    }

    fn run(&self, thing: &Thing) -> std::result::Result<(), Fault> {
        let failed = |errno: Errno| Fault::new(format!("{}: {}", thing.name(), errno.desc()));
        match thing {
            Thing::Writeback => self.disks.write_back(),
            Thing::File(path) => self.files.start_write_back(path).map_err(failed),
            Thing::Commit => self.disks.commit(self.files.root().map_err(failed)?.as_fd()),
            Thing::Reclaim => self.disks.reclaim(),
        }
    }
}

impl Files for BetweenCalls {
    forward!(pread fstat stat readdir readlink);

    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        let opened = self.files.open(path, flags);
        if !flags.create && !flags.truncate {
            return opened;
        }
        opened.iter().for_each(|fd| _ = self.changed.borrow_mut().insert(fd.0));
        self.after("open", opened)
    }
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.changed.borrow_mut().insert(fd.0);
        self.after("pwrite", self.files.pwrite(fd, offset, data))
    }
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.changed.borrow_mut().insert(fd.0);
        self.after("ftruncate", self.files.ftruncate(fd, size))
    }
    fn fsync(&self, fd: Fd) -> Result<()> {
        self.after("fsync", self.files.fsync(fd))
    }
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.after("fdatasync", self.files.fdatasync(fd))
    }
    fn mkdir(&self, path: &str) -> Result<()> {
        self.after("mkdir", self.files.mkdir(path))
    }
    fn rmdir(&self, path: &str) -> Result<()> {
        self.after("rmdir", self.files.rmdir(path))
    }
    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.after("link", self.files.link(from, to))
    }
    fn unlink(&self, path: &str) -> Result<()> {
        self.after("unlink", self.files.unlink(path))
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.after("rename", self.files.rename(from, to))
    }
    fn symlink(&self, target: &str, path: &str) -> Result<()> {
        self.after("symlink", self.files.symlink(target, path))
    }
    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        self.after("chmod", self.files.chmod(path, mode))
    }
    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        self.after("setxattr", self.files.setxattr(path, name, value))
    }
    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        self.after("removexattr", self.files.removexattr(path, name))
    }
    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        self.after("renameat2", self.files.rename_with(from, to, how))
    }
    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        let opened = self.files.open_unnamed(directory);
        opened.iter().for_each(|fd| _ = self.changed.borrow_mut().insert(fd.0));
        self.after("open of a file without a name", opened)
    }
    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        self.after("linkat", self.files.link_open(fd, to))
    }
    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        self.changed.borrow_mut().insert(fd.0);
        self.after("fallocate", self.files.fallocate(fd, how, offset, len))
    }
    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        self.changed.borrow_mut().insert(to.0);
        self.after("clone", self.files.clone_file(from, to))
    }
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.after("fsync of a directory", self.files.sync_dir(path))
    }
    fn sync(&self) -> Result<()> {
        self.after("sync", self.files.sync())
    }

    /// One that changed something may change more: ext4 gives blocks then to what was written after a truncate to nothing.
    fn close(&self, fd: Fd) -> Result<()> {
        let closed = self.files.close(fd);
        if self.changed.borrow_mut().remove(&fd.0) { self.after("close", closed) } else { closed }
    }
    fn mode(&self, path: &str) -> Result<u32> {
        self.files.mode(path)
    }
    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.files.xattrs(path)
    }
}
