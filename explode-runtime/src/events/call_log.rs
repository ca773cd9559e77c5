//! The files of a stack, whose calls are written down as its checker makes them.
//!
//! Invariant: every call of [`Files`] goes on to the files of the stack, those with a default of
//! the trait, too; else the replay of a trace with such a call diverges. A lint makes sure of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use explode_ramdisk::files::{
    Ability, Fallocate, Fd, Files, Kind, OpenFlags, Renaming, Result, Stat, Synced,
};

use super::timeline::{CallTimeline, PlacedCall};
use super::what::{Done, How, NAMELESS, What};

/// Where calls are written down; a copy is the same.
#[derive(Clone, Debug)]
pub struct CallLog {
    inner: Rc<RefCell<Inner>>,
    /// Where each call stands among the events.
    timeline: CallTimeline,
    /// The component that makes the calls; `None` for the checker.
    by: Option<Rc<str>>,
}

#[derive(Debug, Default)]
struct Inner {
    done: Vec<Done>,
    /// Are calls of files written down, too?
    calls: bool,
    failed: Vec<FailedStep>,
    /// The path of each open file, and how it is written.
    open: BTreeMap<Fd, (String, How)>,
}

/// A step of a checker's own commands has failed, and ended its mutate, which has this number from
/// 1; in words.
pub type FailedStep = (u32, String);

impl CallLog {
    /// An empty one, of the calls of files too or only of what the checker says.
    pub(crate) fn new(calls: bool) -> CallLog {
        let inner = Rc::new(RefCell::new(Inner { calls, ..Inner::default() }));
        CallLog { inner, timeline: CallTimeline::default(), by: None }
    }

    /// Sets how many events there are at any time: from now on each call gets a place among them.
    /// Does nothing if calls are not written down.
    pub(crate) fn place_by(&self, events: Rc<dyn Fn() -> u64>) {
        if self.inner.borrow().calls {
            self.timeline.place_by(events);
        }
    }

    /// These files, used by the component of this name. Its calls get places and nothing else: no
    /// script makes them.
    pub(crate) fn below(&self, by: &str, files: Rc<dyn Files>) -> Rc<dyn Files> {
        let calls = self.inner.borrow().calls;
        let below =
            CallLog { timeline: self.timeline.clone(), by: Some(by.into()), ..CallLog::new(calls) };
        below.around(files)
    }

    /// The calls so far with their places, in the order in which they began.
    pub(crate) fn placed(&self) -> Vec<PlacedCall> {
        self.timeline.calls()
    }

    /// These files, whose calls are written down.
    pub(crate) fn around(&self, files: Rc<dyn Files>) -> Rc<dyn Files> {
        if !self.inner.borrow().calls {
            return files;
        }
        Rc::new(Noted { files, log: self.clone() })
    }

    /// Something was done, without an error.
    pub fn note(&self, what: What) {
        self.timeline.note(self.by.as_deref(), &what);
        self.inner.borrow_mut().done.push(Done { what, error: None });
    }

    /// A step of the mutate of this number has failed.
    pub fn failed(&self, mutate: u32, how: String) {
        self.inner.borrow_mut().failed.push((mutate, how));
    }

    /// Those that have failed so far, in order.
    pub(crate) fn failed_steps(&self) -> Vec<FailedStep> {
        self.inner.borrow().failed.clone()
    }

    /// Everything so far.
    pub(crate) fn done(&self) -> Vec<Done> {
        self.inner.borrow().done.clone()
    }

    fn made<T>(&self, what: What, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let begun = self.timeline.begin(self.by.as_deref(), &what);
        let result = call();
        let error = result.as_ref().err().map(|errno| errno.desc().to_owned());
        self.timeline.end(begun, error.as_deref());
        self.inner.borrow_mut().done.push(Done { what, error });
        result
    }

    fn opened(
        &self,
        path: &str,
        how: How,
        flags: OpenFlags,
        open: impl FnOnce() -> Result<Fd>,
    ) -> Result<Fd> {
        let fd = match flags.create || flags.truncate {
            true => self.made(What::Create(path.to_owned(), flags.truncate), open),
            false => open(),
        }?;
        self.inner.borrow_mut().open.insert(fd, (path.to_owned(), how));
        Ok(fd)
    }

    fn file(&self, fd: Fd) -> (String, How) {
        self.inner
            .borrow()
            .open
            .get(&fd)
            .cloned()
            .unwrap_or_else(|| (NAMELESS.to_owned(), How::Plain))
    }

    /// Gives open files their new path: the renamed one, and those in a renamed directory.
    fn renamed(&self, from: &str, to: &str) {
        for (path, _) in self.inner.borrow_mut().open.values_mut() {
            match path.strip_prefix(from) {
                Some("") => to.clone_into(path),
                Some(below) if below.starts_with('/') => *path = format!("{to}{below}"),
                _ => {}
            }
        }
    }

    /// Two names have changed places.
    fn exchanged(&self, one: &str, other: &str) {
        // No path is like this one: all others begin with a slash.
        let between = "between";
        for (from, to) in [(one, between), (other, one), (between, other)] {
            self.renamed(from, to);
        }
    }
}

struct Noted {
    files: Rc<dyn Files>,
    log: CallLog,
}

#[deny(clippy::missing_trait_methods)]
impl Files for Noted {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.log.opened(path, How::Plain, flags, || self.files.open(path, flags))
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.log.inner.borrow_mut().open.remove(&fd);
        self.files.close(fd)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.files.pread(fd, offset, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let (path, how) = self.log.file(fd);
        self.log.made(What::Write(path, offset, data.to_vec(), how), || {
            self.files.pwrite(fd, offset, data)
        })
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.log.made(What::Resize(self.log.file(fd).0, size), || self.files.ftruncate(fd, size))
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.files.fstat(fd)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        self.log.made(What::Fsync(self.log.file(fd).0), || self.files.fsync(fd))
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.log.made(What::Fdatasync(self.log.file(fd).0), || self.files.fdatasync(fd))
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        self.files.stat(path)
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, Kind)>> {
        self.files.readdir(path)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.log.made(What::Mkdir(path.to_owned()), || self.files.mkdir(path))
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.log.made(What::Rmdir(path.to_owned()), || self.files.rmdir(path))
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.log.made(What::Link(from.to_owned(), to.to_owned()), || self.files.link(from, to))
    }

    fn unlink(&self, path: &str) -> Result<()> {
        let result = self.log.made(What::Unlink(path.to_owned()), || self.files.unlink(path));
        if result.is_ok() {
            self.log.renamed(path, NAMELESS);
        }
        result
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let what = What::Rename(from.to_owned(), to.to_owned());
        let result = self.log.made(what, || self.files.rename(from, to));
        if result.is_ok() && from != to {
            self.log.renamed(to, NAMELESS);
            self.log.renamed(from, to);
        }
        result
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.log.made(What::Fsync(path.to_owned()), || self.files.sync_dir(path))
    }

    /// Of a file system of the kernel it is syncfs(2).
    fn sync(&self) -> Result<()> {
        self.log.made(What::Syncfs, || self.files.sync())
    }

    fn can(&self, ability: Ability) -> bool {
        self.files.can(ability)
    }

    fn sync_machine(&self) -> Result<()> {
        self.log.made(What::Sync, || self.files.sync_machine())
    }

    fn syncfs(&self) -> Result<()> {
        self.log.made(What::Syncfs, || self.files.syncfs())
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        self.log.opened(path, synced.into(), flags, || self.files.open_synced(path, flags, synced))
    }

    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let path = self.log.file(fd).0;
        let what = What::Write(path, offset, data.to_vec(), How::Mapped);
        self.log.made(what, || self.files.write_mapped(fd, offset, data))
    }

    fn symlink(&self, target: &str, path: &str) -> Result<()> {
        let what = What::Symlink(target.to_owned(), path.to_owned());
        self.log.made(what, || self.files.symlink(target, path))
    }

    fn readlink(&self, path: &str) -> Result<String> {
        self.files.readlink(path)
    }

    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        self.log.made(What::Chmod(path.to_owned(), mode), || self.files.chmod(path, mode))
    }

    fn mode(&self, path: &str) -> Result<u32> {
        self.files.mode(path)
    }

    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        let what = What::Setxattr(path.to_owned(), name.to_owned(), value.to_vec());
        self.log.made(what, || self.files.setxattr(path, name, value))
    }

    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        let what = What::Removexattr(path.to_owned(), name.to_owned());
        self.log.made(what, || self.files.removexattr(path, name))
    }

    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.files.xattrs(path)
    }

    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        let what = match how {
            Renaming::NoReplace => What::RenameNoReplace,
            Renaming::Exchange => What::Exchange,
        };
        let what = what(from.to_owned(), to.to_owned());
        let result = self.log.made(what, || self.files.rename_with(from, to, how));
        match how {
            _ if result.is_err() => {}
            Renaming::NoReplace => self.log.renamed(from, to),
            Renaming::Exchange => self.log.exchanged(from, to),
        }
        result
    }

    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        self.log.made(What::Unnamed(directory.to_owned()), || self.files.open_unnamed(directory))
    }

    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        let (path, how) = self.log.file(fd);
        let what = What::LinkOpen(path.clone(), to.to_owned());
        let result = self.log.made(what, || self.files.link_open(fd, to));
        if result.is_ok() && path == NAMELESS {
            self.log.inner.borrow_mut().open.insert(fd, (to.to_owned(), how));
        }
        result
    }

    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        let what = What::Fallocate(self.log.file(fd).0, how, offset, len);
        self.log.made(what, || self.files.fallocate(fd, how, offset, len))
    }

    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        let what = What::Clone(self.log.file(from).0, self.log.file(to).0);
        self.log.made(what, || self.files.clone_file(from, to))
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        self.files.read_file(path)
    }
}

#[cfg(test)]
#[path = "../../../ramdisk/tests/files/noting.rs"]
mod noting;

#[cfg(test)]
mod tests {
    use explode_ramdisk::files::{Granule, SimFiles};
    use explode_ramdisk::{Image, Recording, Storage};
    use nix::errno::Errno;

    use super::noting::{Noting, calls};
    use super::*;

    fn simulated() -> SimFiles {
        let storage = Storage::new(Image::new(), Recording::Off);
        SimFiles::mount(storage, 0, Granule::default()).unwrap()
    }

    /// What was done, and has it succeeded?
    fn said(log: &CallLog) -> Vec<(What, bool)> {
        log.done().into_iter().map(|done| (done.what, done.error.is_none())).collect()
    }

    #[test]
    fn every_call_arrives_as_itself() {
        for call in calls() {
            let noting = Rc::new(Noting::default());
            let noted = CallLog::new(true).around(Rc::clone(&noting) as _);
            assert_eq!((call.make)(&*noted), call.answer, "{}", call.name);
            assert_eq!(noting.take(), [call.noted]);
        }
    }

    #[test]
    fn calls_with_a_default_go_on_to_the_files_and_are_written_down() {
        let (files, log) = (simulated(), CallLog::new(true));
        let noted = log.around(Rc::new(files.clone()));
        let fd = noted.open("/a", OpenFlags::CREATE).unwrap();
        noted.symlink("to", "/l").unwrap();
        noted.chmod("/a", 0o600).unwrap();
        noted.setxattr("/a", "user.a", b"one").unwrap();
        noted.setxattr("/a", "user.b", b"").unwrap();
        noted.removexattr("/a", "user.b").unwrap();
        assert_eq!(noted.removexattr("/a", "user.b"), Err(Errno::ENODATA));
        noted.fallocate(fd, Fallocate::Allocate, 0, 4096).unwrap();
        noted.rename_with("/a", "/b", Renaming::NoReplace).unwrap();
        noted.fsync(fd).unwrap();
        let other = noted.open("/c", OpenFlags::CREATE).unwrap();
        noted.clone_file(fd, other).unwrap();

        // Both ask the same files.
        for asked in [&*noted, &files] {
            assert_eq!(asked.readlink("/l"), Ok("to".to_owned()));
            assert_eq!(asked.mode("/b"), Ok(0o600));
            assert_eq!(asked.xattrs("/b"), Ok(vec![("user.a".to_owned(), b"one".to_vec())]));
            assert_eq!(asked.stat("/c").unwrap().size, 4096);
        }
        let text = str::to_owned;
        let attribute = |name, value: &[u8]| What::Setxattr(text("/a"), text(name), value.to_vec());
        let removed = || What::Removexattr(text("/a"), text("user.b"));
        assert_eq!(
            said(&log),
            [
                (What::Create(text("/a"), false), true),
                (What::Symlink(text("to"), text("/l")), true),
                (What::Chmod(text("/a"), 0o600), true),
                (attribute("user.a", b"one"), true),
                (attribute("user.b", b""), true),
                (removed(), true),
                (removed(), false),
                (What::Fallocate(text("/a"), Fallocate::Allocate, 0, 4096), true),
                (What::RenameNoReplace(text("/a"), text("/b")), true),
                (What::Fsync(text("/b")), true),
                (What::Create(text("/c"), false), true),
                (What::Clone(text("/b"), text("/c")), true),
            ]
        );
        assert!(log.done().iter().all(|done| done.beyond_commands().is_none()));
    }

    #[test]
    fn what_no_command_does_is_known_once_it_has_succeeded() {
        let log = CallLog::new(true);
        let noted = log.around(Rc::new(simulated()));
        let beyond = || log.done().last().unwrap().beyond_commands();
        let fd = noted.open_unnamed("/").unwrap();
        assert!(beyond().unwrap().contains("O_TMPFILE"));
        noted.pwrite(fd, 0, b"one").unwrap();
        assert!(beyond().unwrap().contains("never had one"));
        noted.link_open(fd, "/a").unwrap();
        assert!(beyond().unwrap().contains("never had one"));
        // From now on it has a name.
        noted.pwrite(fd, 0, b"two").unwrap();
        assert_eq!(beyond(), None);
        noted.rename_with("/a", "/b", Renaming::Exchange).unwrap_err();
        assert_eq!(beyond(), None);
        noted.mkdir("/b").unwrap();
        noted.rename_with("/a", "/b", Renaming::Exchange).unwrap();
        assert!(beyond().unwrap().contains("RENAME_EXCHANGE"));
        noted.fsync(fd).unwrap();
        assert_eq!(said(&log).pop(), Some((What::Fsync("/b".to_owned()), true)));
    }

    #[test]
    fn an_open_file_goes_with_its_directory() {
        let log = CallLog::new(true);
        let noted = log.around(Rc::new(simulated()));
        noted.mkdir("/d").unwrap();
        let fd = noted.open("/d/a", OpenFlags::CREATE).unwrap();
        noted.rename("/d", "/e").unwrap();
        noted.fsync(fd).unwrap();
        assert_eq!(said(&log).pop(), Some((What::Fsync("/e/a".to_owned()), true)));
    }
}
