//! The files of a stack as its checker sees them, with a log of its calls.
//!
//! Invariant: every call of [`Files`] is passed on to the files of the stack, even a call with a
//! default in the trait. Otherwise the replay of a trace with such a call diverges. A lint ensures
//! it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, FsCall, NAMELESS, OpenFiles, OpenFlags, Renaming,
    Result, Stat, Synced, WriteFlag, WriteMethod,
};

use super::logged_call::{LoggedAction, LoggedCall};
use super::placed_calls::{CallTimeline, PlacedCall};

/// The log of the calls. A clone shares the log.
#[derive(Clone, Debug)]
pub struct CallLog {
    inner: Rc<RefCell<CallLogState>>,
    /// The places of the calls among the events.
    timeline: CallTimeline,
    /// The component that makes the calls. `None` for the checker.
    by: Option<Rc<str>>,
}

#[derive(Debug, Default)]
struct CallLogState {
    done: Vec<LoggedCall>,
    /// True if calls of files are logged.
    calls: bool,
    failed: Vec<FailedCommand>,
    open: OpenFiles,
    /// True if time passes before each call.
    ticks: bool,
    tick: Option<Tick>,
}

/// A function that lets time pass.
#[derive(Clone)]
struct Tick(Rc<dyn Fn()>);

impl fmt::Debug for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tick")
    }
}

/// A failed step of a checker's own commands, which ended its mutate: the number of the mutate,
/// from 1, and the error in words.
pub type FailedCommand = (u32, String);

impl CallLog {
    /// Returns an empty log. Without `calls` it holds only what the checker notes.
    pub(crate) fn new(calls: bool) -> CallLog {
        let inner = Rc::new(RefCell::new(CallLogState { calls, ..CallLogState::default() }));
        CallLog { inner, timeline: CallTimeline::default(), by: None }
    }

    /// Sets whether time passes before each call.
    #[must_use = "this returns the log"]
    pub(crate) fn ticking(self, ticks: bool) -> CallLog {
        self.inner.borrow_mut().ticks = ticks;
        self
    }

    /// Sets the function that lets time pass.
    pub(crate) fn tick_by(&self, tick: Rc<dyn Fn()>) {
        let mut inner = self.inner.borrow_mut();
        inner.tick = Some(Tick(tick)).filter(|_| inner.ticks);
    }

    /// Sets the function that returns the current number of events. From now on each call gets a
    /// place among the events. Does nothing if calls are not logged.
    pub(crate) fn place_by(&self, events: Rc<dyn Fn() -> u64>) {
        if self.inner.borrow().calls {
            self.timeline.place_by(events);
        }
    }

    /// Wraps the files that the component `by` uses. Its calls get places only, because no script
    /// makes them.
    pub(crate) fn below(&self, by: &str, files: Rc<dyn Files>) -> Rc<dyn Files> {
        self.of(by).around(files)
    }

    /// Returns the log of the calls of the component `by`. They get places only.
    pub fn of(&self, by: &str) -> CallLog {
        let calls = self.inner.borrow().calls;
        CallLog { timeline: self.timeline.clone(), by: Some(by.into()), ..CallLog::new(calls) }
    }

    /// Makes a call that a program has asked for, and logs it.
    pub fn record(&self, call: FsCall, make: &mut dyn FnMut() -> Result<()>) {
        // The program gets the result from the caller.
        let _ = if self.inner.borrow().calls { self.made(call, make) } else { make() };
    }

    /// Returns the calls so far with their places, in the order in which they began.
    pub(crate) fn placed(&self) -> Vec<PlacedCall> {
        self.timeline.calls()
    }

    /// Wraps files so that their calls are logged.
    pub(crate) fn around(&self, files: Rc<dyn Files>) -> Rc<dyn Files> {
        if !self.inner.borrow().calls {
            return files;
        }
        Rc::new(LoggingFiles { files, log: self.clone() })
    }

    /// Logs an action that succeeded.
    pub fn note(&self, action: LoggedAction) {
        self.timeline.note(self.by.as_deref(), &action);
        self.inner.borrow_mut().done.push(LoggedCall { what: action, error: None });
    }

    /// Records that a step of this mutate failed, with the error in words.
    pub fn failed(&self, mutate: u32, how: String) {
        self.inner.borrow_mut().failed.push((mutate, how));
    }

    /// Returns the failed steps so far, in order.
    pub(crate) fn failed_commands(&self) -> Vec<FailedCommand> {
        self.inner.borrow().failed.clone()
    }

    /// Returns the log so far.
    pub(crate) fn done(&self) -> Vec<LoggedCall> {
        self.inner.borrow().done.clone()
    }

    fn made<T>(&self, call: FsCall, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let tick = self.inner.borrow().tick.clone();
        tick.into_iter().for_each(|Tick(tick)| tick());
        let action = LoggedAction::Call(call);
        let begun = self.timeline.begin(self.by.as_deref(), &action);
        let result = run();
        let error = result.as_ref().err().map(|errno| errno.desc().to_owned());
        self.timeline.end(begun, error.as_deref());
        let mut inner = self.inner.borrow_mut();
        if let (Ok(_), LoggedAction::Call(call)) = (&result, &action) {
            inner.open.follow(call);
        }
        inner.done.push(LoggedCall { what: action, error });
        result
    }

    fn opened(
        &self,
        path: &str,
        method: WriteMethod,
        flags: OpenFlags,
        open: impl FnOnce() -> Result<Fd>,
    ) -> Result<Fd> {
        let fd = if flags.create || flags.truncate {
            self.made(FsCall::Open { path: path.to_owned(), flags }, open)
        } else {
            open()
        }?;
        self.inner.borrow_mut().open.opened(fd, path, method);
        Ok(fd)
    }

    /// Returns the path of an open file.
    fn path(&self, fd: Fd) -> String {
        self.inner.borrow().open.get(fd).0
    }
}

struct LoggingFiles {
    files: Rc<dyn Files>,
    log: CallLog,
}

#[deny(clippy::missing_trait_methods)]
impl Files for LoggingFiles {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.log.opened(path, WriteMethod::Plain, flags, || self.files.open(path, flags))
    }

    fn close(&self, fd: Fd) -> Result<()> {
        self.log.inner.borrow_mut().open.closed(fd);
        self.files.close(fd)
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.files.pread(fd, offset, buf)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let (path, method) = self.log.inner.borrow().open.get(fd);
        let call = FsCall::Pwrite { path, offset, data: data.to_vec(), method };
        self.log.made(call, || self.files.pwrite(fd, offset, data))
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.log.made(FsCall::Ftruncate { path: self.log.path(fd), size }, || {
            self.files.ftruncate(fd, size)
        })
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.files.fstat(fd)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        let directory = self.log.inner.borrow().open.directory(fd).map(str::to_owned);
        let call = match directory {
            Some(path) => FsCall::FsyncDir { path },
            None => FsCall::Fsync { path: self.log.path(fd) },
        };
        self.log.made(call, || self.files.fsync(fd))
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.log.made(FsCall::Fdatasync { path: self.log.path(fd) }, || self.files.fdatasync(fd))
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        self.files.stat(path)
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        self.files.readdir(path)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.log.made(FsCall::Mkdir { path: path.to_owned() }, || self.files.mkdir(path))
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.log.made(FsCall::Rmdir { path: path.to_owned() }, || self.files.rmdir(path))
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        let call = FsCall::Link { from: from.to_owned(), to: to.to_owned() };
        self.log.made(call, || self.files.link(from, to))
    }

    fn unlink(&self, path: &str) -> Result<()> {
        self.log.made(FsCall::Unlink { path: path.to_owned() }, || self.files.unlink(path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let call = FsCall::Rename { from: from.to_owned(), to: to.to_owned() };
        self.log.made(call, || self.files.rename(from, to))
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.log.made(FsCall::FsyncDir { path: path.to_owned() }, || self.files.sync_dir(path))
    }

    /// Logs `Syncfs`, because for a file system of the kernel this call is syncfs(2).
    fn sync(&self) -> Result<()> {
        self.log.made(FsCall::Syncfs, || self.files.sync())
    }

    fn can(&self, ability: FsAbility) -> bool {
        self.files.can(ability)
    }

    fn sync_machine(&self) -> Result<()> {
        self.log.made(FsCall::Sync, || self.files.sync_machine())
    }

    fn syncfs(&self) -> Result<()> {
        self.log.made(FsCall::Syncfs, || self.files.syncfs())
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        self.log.opened(path, synced.into(), flags, || self.files.open_synced(path, flags, synced))
    }

    fn open_directory(&self, path: &str) -> Result<Fd> {
        let fd = self.files.open_directory(path)?;
        self.log.inner.borrow_mut().open.opened_directory(fd, path);
        Ok(fd)
    }

    fn open_flagged(&self, path: &str, flags: OpenFlags, flag: WriteFlag) -> Result<Fd> {
        self.log.opened(path, flag.into(), flags, || self.files.open_flagged(path, flags, flag))
    }

    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let (path, method) = (self.log.path(fd), WriteMethod::Mapped);
        let call = FsCall::Pwrite { path, offset, data: data.to_vec(), method };
        self.log.made(call, || self.files.write_mapped(fd, offset, data))
    }

    fn symlink(&self, target: &str, path: &str) -> Result<()> {
        let call = FsCall::Symlink { target: target.to_owned(), path: path.to_owned() };
        self.log.made(call, || self.files.symlink(target, path))
    }

    fn readlink(&self, path: &str) -> Result<String> {
        self.files.readlink(path)
    }

    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        self.log
            .made(FsCall::Chmod { path: path.to_owned(), mode }, || self.files.chmod(path, mode))
    }

    fn mode(&self, path: &str) -> Result<u32> {
        self.files.mode(path)
    }

    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        let (named, valued) = (name.to_owned(), value.to_vec());
        let call = FsCall::Setxattr { path: path.to_owned(), name: named, value: valued };
        self.log.made(call, || self.files.setxattr(path, name, value))
    }

    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        let call = FsCall::Removexattr { path: path.to_owned(), name: name.to_owned() };
        self.log.made(call, || self.files.removexattr(path, name))
    }

    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.files.xattrs(path)
    }

    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        let (old, new) = (from.to_owned(), to.to_owned());
        let call = match how {
            Renaming::NoReplace => FsCall::RenameNoReplace { from: old, to: new },
            Renaming::Exchange => FsCall::Exchange { from: old, to: new },
        };
        self.log.made(call, || self.files.rename_with(from, to, how))
    }

    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        let call = FsCall::OpenUnnamed { directory: directory.to_owned() };
        let fd = self.log.made(call, || self.files.open_unnamed(directory))?;
        self.log.inner.borrow_mut().open.opened(fd, NAMELESS, WriteMethod::Plain);
        Ok(fd)
    }

    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        let call = FsCall::LinkOpen { from: self.log.path(fd), to: to.to_owned() };
        self.log.made(call, || self.files.link_open(fd, to))?;
        self.log.inner.borrow_mut().open.linked(fd, to);
        Ok(())
    }

    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        let call = FsCall::Fallocate { path: self.log.path(fd), mode: how, offset, len };
        self.log.made(call, || self.files.fallocate(fd, how, offset, len))
    }

    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        let call = FsCall::Clone { from: self.log.path(from), to: self.log.path(to) };
        self.log.made(call, || self.files.clone_file(from, to))
    }

    fn copy_range(&self, from: Fd, to: Fd, offset: u64, len: u64) -> Result<()> {
        let (source, target) = (self.log.path(from), self.log.path(to));
        let call = FsCall::CopyRange { from: source, to: target, offset, len };
        self.log.made(call, || self.files.copy_range(from, to, offset, len))
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

    /// Returns the calls of a log, each with true if it succeeded.
    fn logged_calls(log: &CallLog) -> Vec<(FsCall, bool)> {
        let call = |action| match action {
            LoggedAction::Call(call) => call,
            other => panic!("{other:?} is no call"),
        };
        log.done().into_iter().map(|done| (call(done.what), done.error.is_none())).collect()
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
    fn calls_with_a_default_reach_the_files_and_are_logged() {
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

        // Both use the same files.
        for tree in [&*noted, &files] {
            assert_eq!(tree.readlink("/l"), Ok("to".to_owned()));
            assert_eq!(tree.mode("/b"), Ok(0o600));
            assert_eq!(tree.xattrs("/b"), Ok(vec![("user.a".to_owned(), b"one".to_vec())]));
            assert_eq!(tree.stat("/c").unwrap().size, 4096);
        }
        let lines: Vec<(String, bool)> =
            logged_calls(&log).iter().map(|(call, is_done)| (call.to_string(), *is_done)).collect();
        let lines: Vec<(&str, bool)> =
            lines.iter().map(|(line, is_done)| (line.as_str(), *is_done)).collect();
        assert_eq!(
            lines,
            [
                ("open /a O_CREAT", true),
                ("symlink to /l", true),
                ("chmod /a 0600", true),
                ("setxattr /a user.a (3 bytes)", true),
                ("setxattr /a user.b (0 bytes)", true),
                ("removexattr /a user.b", true),
                ("removexattr /a user.b", false),
                ("fallocate /a allocate 0+4096", true),
                ("rename /a /b RENAME_NOREPLACE", true),
                ("fsync /b", true),
                ("open /c O_CREAT", true),
                ("ficlone /b /c", true),
            ]
        );
        let value = FsCall::Setxattr {
            path: "/a".to_owned(),
            name: "user.a".to_owned(),
            value: b"one".to_vec(),
        };
        assert_eq!(logged_calls(&log)[3].0, value);
        assert!(log.done().iter().all(|done| done.beyond_commands().is_none()));
    }

    #[test]
    fn calls_without_a_shell_command_are_named_once_they_have_succeeded() {
        let log = CallLog::new(true);
        let noted = log.around(Rc::new(simulated()));
        let beyond = || log.done().last().unwrap().beyond_commands();
        let fd = noted.open_unnamed("/").unwrap();
        assert!(beyond().unwrap().contains("O_TMPFILE"));
        noted.pwrite(fd, 0, b"one").unwrap();
        assert!(beyond().unwrap().contains("never had one"));
        noted.link_open(fd, "/a").unwrap();
        assert!(beyond().unwrap().contains("never had one"));
        // From now on the file has a name.
        noted.pwrite(fd, 0, b"two").unwrap();
        assert_eq!(beyond(), None);
        noted.rename_with("/a", "/b", Renaming::Exchange).unwrap_err();
        assert_eq!(beyond(), None);
        noted.mkdir("/b").unwrap();
        noted.rename_with("/a", "/b", Renaming::Exchange).unwrap();
        assert!(beyond().unwrap().contains("RENAME_EXCHANGE"));
        noted.fsync(fd).unwrap();
        assert_eq!(logged_calls(&log).pop(), Some((FsCall::Fsync { path: "/b".to_owned() }, true)));
    }

    /// The calls in a log can be made again, and are then logged as the same calls.
    #[test]
    fn an_applied_call_is_logged_as_itself() {
        let (log, files) = (CallLog::new(true), Rc::new(simulated()));
        let noted = log.around(Rc::clone(&files) as _);
        let path = || "/a".to_owned();
        let calls = [
            FsCall::Open { path: path(), flags: OpenFlags::CREATE },
            FsCall::pwrite("/a", 3, b"one".to_vec()),
            FsCall::Ftruncate { path: path(), size: 5 },
            FsCall::Fsync { path: path() },
            FsCall::Mkdir { path: "/d".to_owned() },
            FsCall::Exchange { from: path(), to: "/d".to_owned() },
            FsCall::Fdatasync { path: "/d".to_owned() },
            FsCall::FsyncDir { path: "/".to_owned() },
            FsCall::Syncfs,
            FsCall::Sync,
            FsCall::Unlink { path: "/b".to_owned() },
        ];
        let made = calls.clone().map(|call| (call.apply(&*noted).is_ok(), call));
        let made: Vec<(FsCall, bool)> = made.into_iter().map(|(done, call)| (call, done)).collect();
        assert_eq!(logged_calls(&log), made);
        assert_eq!(made.last().map(|(_, is_done)| *is_done), Some(false));
        let again = simulated();
        calls.iter().for_each(|call| assert_eq!(call.apply(&again).is_ok(), call != &calls[10]));
        assert_eq!(again.read_file("/d"), files.read_file("/d"));
    }

    #[test]
    fn an_open_file_goes_with_its_directory() {
        let log = CallLog::new(true);
        let noted = log.around(Rc::new(simulated()));
        noted.mkdir("/d").unwrap();
        let fd = noted.open("/d/a", OpenFlags::CREATE).unwrap();
        noted.rename("/d", "/e").unwrap();
        noted.fsync(fd).unwrap();
        assert_eq!(
            logged_calls(&log).pop(),
            Some((FsCall::Fsync { path: "/e/a".to_owned() }, true))
        );
    }
}
