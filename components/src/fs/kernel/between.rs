//! The files of a file system between whose calls the kernel does background work
//! (`docs/model/scheduling.md`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::rc::Rc;

use explode_kernel::KernelDisks;
use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Synced, WriteFlag,
};
use explode_runtime::base::StepError;
use explode_runtime::faults::background::{BackgroundAction, BackgroundWork};
use nix::errno::Errno;

use super::MountedFiles;
use crate::forward::forward;

/// The calls of mounted files. After each one that changes or syncs anything, successful or not,
/// the kernel may do background work.
pub(super) struct BetweenCalls {
    files: Rc<dyn Files>,
    /// Lets the kernel do background work after a call of this name.
    kernel: Box<dyn Fn(&str)>,
    /// The open files that were made, written or truncated.
    changed: RefCell<BTreeSet<u32>>,
}

/// The background work that the kernel may do, and the files and disks for it.
struct KernelHandle {
    files: Rc<MountedFiles>,
    disks: KernelDisks,
    between: BackgroundWork,
}

/// One piece of background work, with the file's path if it concerns one file.
enum BackgroundTask {
    Writeback,
    File(String),
    Commit,
    Reclaim,
}

impl BackgroundTask {
    fn name(&self) -> String {
        match self {
            BackgroundTask::Writeback => "write back all".to_owned(),
            BackgroundTask::File(path) => format!("write back {path}"),
            BackgroundTask::Commit => "commit".to_owned(),
            BackgroundTask::Reclaim => "reclaim".to_owned(),
        }
    }
}

impl BetweenCalls {
    pub fn new(
        files: Rc<MountedFiles>,
        disks: KernelDisks,
        between: BackgroundWork,
    ) -> BetweenCalls {
        let kernel = KernelHandle { files: Rc::clone(&files), disks, between };
        BetweenCalls::with(files, Box::new(move |call| kernel.after(call)))
    }

    fn with(files: Rc<dyn Files>, kernel: Box<dyn Fn(&str)>) -> BetweenCalls {
        BetweenCalls { files, kernel, changed: RefCell::default() }
    }

    fn after<T>(&self, call: &str, made: Result<T>) -> Result<T> {
        (self.kernel)(call);
        made
    }

    fn opened(&self, call: &str, flags: OpenFlags, opened: Result<Fd>) -> Result<Fd> {
        if !flags.create && !flags.truncate {
            return opened;
        }
        opened.iter().for_each(|fd| _ = self.changed.borrow_mut().insert(fd.0));
        self.after(call, opened)
    }
}

impl KernelHandle {
    fn after(&self, call: &str) {
        let things = RefCell::new(Vec::new());
        let name = || {
            *things.borrow_mut() = self.things()?;
            Ok(things.borrow().iter().map(BackgroundTask::name).collect())
        };
        self.disks.between_calls(call, name, |thing| self.run(&things.borrow()[thing]));
    }

    fn things(&self) -> std::result::Result<Vec<BackgroundTask>, StepError> {
        let may = |own, thing| self.between.has(own).then_some(thing);
        let mut things: Vec<BackgroundTask> =
            may(BackgroundAction::Writeback, BackgroundTask::Writeback).into_iter().collect();
        if self.between.has(BackgroundAction::File) {
            let mut files = Vec::new();
            self.find(String::new(), &mut files).map_err(|errno| {
                StepError::new(format!("looking for files to write back: {}", errno.desc()))
            })?;
            things.extend(files.into_iter().map(BackgroundTask::File));
        }
        things.extend(may(BackgroundAction::Commit, BackgroundTask::Commit));
        things.extend(may(BackgroundAction::Reclaim, BackgroundTask::Reclaim));
        Ok(things)
    }

    /// Collects every file below a directory, in the order of names.
    fn find(&self, directory: String, files: &mut Vec<String>) -> Result<()> {
        for (name, kind) in
            self.files.readdir(if directory.is_empty() { "/" } else { &directory })?
        {
            let path = format!("{directory}/{name}");
            match kind {
                FileKind::File => files.push(path),
                FileKind::Directory => self.find(path, files)?,
                FileKind::Symlink => {}
            }
        }
        Ok(())
    }

    fn run(&self, thing: &BackgroundTask) -> std::result::Result<(), StepError> {
        let failed = |errno: Errno| StepError::new(format!("{}: {}", thing.name(), errno.desc()));
        match thing {
            BackgroundTask::Writeback => self.disks.write_back(),
            BackgroundTask::File(path) => self.files.start_write_back(path).map_err(failed),
            BackgroundTask::Commit => self.disks.commit(self.files.root().map_err(failed)?.as_fd()),
            BackgroundTask::Reclaim => self.disks.reclaim(),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Files for BetweenCalls {
    forward!(pread fstat stat readdir readlink mode xattrs read_file);

    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.opened("open", flags, self.files.open(path, flags))
    }
    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        self.opened("open", flags, self.files.open_synced(path, flags, synced))
    }
    fn open_directory(&self, path: &str) -> Result<Fd> {
        self.files.open_directory(path)
    }
    fn open_flagged(&self, path: &str, flags: OpenFlags, flag: WriteFlag) -> Result<Fd> {
        self.opened("open", flags, self.files.open_flagged(path, flags, flag))
    }
    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.changed.borrow_mut().insert(fd.0);
        self.after("pwrite", self.files.pwrite(fd, offset, data))
    }
    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.changed.borrow_mut().insert(fd.0);
        self.after("msync", self.files.write_mapped(fd, offset, data))
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
    fn copy_range(&self, from: Fd, to: Fd, offset: u64, len: u64) -> Result<()> {
        self.changed.borrow_mut().insert(to.0);
        self.after("copy_file_range", self.files.copy_range(from, to, offset, len))
    }
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.after("fsync of a directory", self.files.sync_dir(path))
    }
    fn sync(&self) -> Result<()> {
        self.after("sync", self.files.sync())
    }
    fn sync_machine(&self) -> Result<()> {
        self.after("sync", self.files.sync_machine())
    }
    fn syncfs(&self) -> Result<()> {
        self.after("syncfs", self.files.syncfs())
    }

    /// Closes a file. If the file was changed, the kernel may do background work, because the close
    /// may change more: ext4 then allocates blocks for data that was written after a truncate to
    /// nothing.
    fn close(&self, fd: Fd) -> Result<()> {
        let closed = self.files.close(fd);
        if self.changed.borrow_mut().remove(&fd.0) { self.after("close", closed) } else { closed }
    }
    fn can(&self, ability: FsAbility) -> bool {
        self.files.can(ability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noting::{Noting, calls};

    /// Returns files that record the calls that arrive and the points at which the kernel may work.
    fn between() -> (Rc<Noting>, BetweenCalls) {
        let noting = Rc::new(Noting::default());
        let kernel = Rc::clone(&noting);
        let after = Box::new(move |call: &str| kernel.note(format!("after {call}")));
        (Rc::clone(&noting), BetweenCalls::with(noting, after))
    }

    /// The calls that neither change anything nor make anything durable. Opening and closing an
    /// existing file are among them.
    const READ_ONLY: [&str; 14] = [
        "open",
        "open_synced",
        "open_flagged",
        "open_directory",
        "close",
        "pread",
        "fstat",
        "stat",
        "readdir",
        "readlink",
        "mode",
        "xattrs",
        "read_file",
        "can",
    ];

    #[test]
    fn every_call_arrives_as_itself_and_the_kernel_may_act_after_each_that_changes_something() {
        for call in calls() {
            let (noting, files) = between();
            assert_eq!((call.make)(&files), call.answer, "{}", call.name);
            let arrived = noting.take();
            assert_eq!(arrived[0], call.noted);
            let after = arrived[1..].iter().all(|noted| noted.starts_with("after "));
            let times = usize::from(!READ_ONLY.contains(&call.name));
            assert!(after && arrived.len() == 1 + times, "{arrived:?}");
        }
    }

    #[test]
    fn a_synced_file_that_is_made_and_a_mapping_that_is_written_are_changes() {
        let (noting, files) = between();
        let fd = files.open_synced("/a", OpenFlags::CREATE, Synced::All).unwrap();
        files.close(fd).unwrap();
        let after = || {
            noting
                .take()
                .into_iter()
                .filter(|noted| noted.starts_with("after "))
                .collect::<Vec<_>>()
        };
        assert_eq!(after(), ["after open", "after close"]);
        let fd = files.open("/a", OpenFlags::EXISTING).unwrap();
        files.write_mapped(fd, 0, b"one").unwrap();
        files.close(fd).unwrap();
        files.close(fd).unwrap();
        assert_eq!(after(), ["after msync", "after close"]);
        // The first is sync(2), the second syncfs(2).
        files.sync_machine().unwrap();
        files.syncfs().unwrap();
        assert_eq!(noting.take(), ["sync_machine()", "after sync", "syncfs()", "after syncfs"]);
    }
}
