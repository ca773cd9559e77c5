//! The old checker and the new one, on the same files.

use std::cell::{Cell, RefCell};

use explode_ramdisk::files::{Fd, FileKind, Files, FsCall, OpenFlags, Result, SimFiles, Stat};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use nix::errno::Errno;

use super::shutdown::OldShutdown;
use super::{OldEnding, OldSide, OldStep, call};
use crate::fs::failures::Failures;
use crate::fs::failures::shutdown::Shutdown;
use crate::fs::failures::step::{self, FailureStep, StepEnding};
use crate::fs::failures::tests::{files, paths, wrongs};

fn text(judged: std::result::Result<(), CheckError>) -> (String, String) {
    match judged {
        Ok(()) => Default::default(),
        Err(CheckError::Violation(Violation { verdict, promise, message, .. })) => {
            (format!("{verdict:?} {promise}"), message)
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// A file has another byte, and another number of links: the old one tells of the links, the new
/// one of the byte.
fn both(old: &str, new: &str) -> bool {
    old.contains("2 links; expected") && old.contains("1 links") && new.contains("another byte")
}

/// The old side with a model that these calls were made on.
fn old_side(calls: &[FsCall], last: OldEnding) -> OldSide {
    OldSide { model: files(calls), last, down: None }
}

#[test]
fn old_and_new_refuse_the_same_wrong_trees_with_the_same_words() {
    let (mut compared, mut refused, mut links) = (0, 0, 0);
    for (calls, before, step, after) in paths() {
        let without = &calls[..calls.len() - 1];
        let old_step = OldSide::step(step.name);
        let failed =
            |what| (OldEnding::Failed(what, Errno::EIO), StepEnding::Failed(what, Errno::EIO));
        let endings = [
            (&after, &calls[..], (OldEnding::Done(step.name), StepEnding::Done(step.name))),
            (&before, without, failed(step.name)),
            (&before, without, failed("open")),
        ];
        for (fs, made, (old_last, new_last)) in endings {
            let old = old_side(made, old_last.clone());
            let new = Failures { fs: fs.clone(), last: new_last.clone(), ..Failures::new() };
            let model = files(without);
            let old_down = OldShutdown::after(old_step, &old_last, &model).unwrap();
            let new_down = Shutdown::after(&step, &new_last, &mut before.clone());
            for wrong in wrongs(&after).into_iter().map(Some).chain([None]) {
                let files = files(&calls);
                wrong.iter().for_each(|wrong| wrong.apply(&files).unwrap());
                let is_link = matches!(wrong, Some(FsCall::Symlink { .. }));
                for disk in ["", " on the disk"] {
                    let (one, other) =
                        (text(old.compare(&files, disk)), text(new.compare(&files, disk)));
                    assert_eq!(one.0, other.0, "{wrong:?}");
                    assert!(is_link || one == other || both(&one.1, &other.1), "{one:?} {other:?}");
                    compared += 1;
                    refused += usize::from(!one.0.is_empty());
                    links += usize::from(one != other);
                }
                let (one, other) = (
                    text(old_down.compare(&files, &old_last)),
                    text(new_down.compare(&files, &new_last)),
                );
                assert_eq!(one.0, other.0, "{wrong:?}");
                assert!(is_link || one == other || both(&one.1, &other.1), "{one:?} {other:?}");
                compared += 1;
                refused += usize::from(!one.0.is_empty());
                links += usize::from(one != other);
            }
        }
    }
    println!("compared {compared}, refused {refused}, other text {links}");
}

/// Records each call; one of them fails, before or after its effect or a part of it.
struct Recorder<'a> {
    files: &'a SimFiles,
    calls: RefCell<Vec<String>>,
    fails: usize,
    /// How much of it is done first: nothing, a part of a write, all.
    does: usize,
    off: Cell<bool>,
}

impl<'a> Recorder<'a> {
    fn new(files: &'a SimFiles, fails: usize, does: usize) -> Recorder<'a> {
        Recorder { files, calls: RefCell::default(), fails, does, off: Cell::new(false) }
    }
    fn call<T>(
        &self,
        text: String,
        part: impl FnOnce(),
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if self.off.get() {
            return work();
        }
        let number = self.calls.borrow().len();
        self.calls.borrow_mut().push(text);
        if number == self.fails {
            match self.does {
                0 => {}
                1 => part(),
                _ => {
                    work().ok();
                }
            }
            return Err(Errno::ENOSPC);
        }
        work()
    }
}

impl Files for Recorder<'_> {
    fn stat(&self, path: &str) -> Result<Stat> {
        self.call(format!("stat {path}"), || (), || self.files.stat(path))
    }
    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        self.call(format!("readdir {path}"), || (), || self.files.readdir(path))
    }
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.call(format!("open {path} {flags:?}"), || (), || self.files.open(path, flags))
    }
    fn close(&self, fd: Fd) -> Result<()> {
        // The file is closed, whatever it says.
        self.call(format!("close {fd:?}"), || (), || self.files.close(fd))
    }
    fn pread(&self, fd: Fd, at: u64, bytes: &mut [u8]) -> Result<usize> {
        self.call(format!("pread {fd:?}"), || (), || self.files.pread(fd, at, bytes))
    }
    fn pwrite(&self, fd: Fd, at: u64, bytes: &[u8]) -> Result<()> {
        let part = || self.files.pwrite(fd, at, &bytes[..bytes.len() / 3]).unwrap();
        self.call(format!("pwrite {fd:?} {at} {bytes:?}"), part, || {
            self.files.pwrite(fd, at, bytes)
        })
    }
    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        let part = || self.files.ftruncate(fd, size + 7).unwrap();
        self.call(format!("ftruncate {fd:?} {size}"), part, || self.files.ftruncate(fd, size))
    }
    fn fstat(&self, fd: Fd) -> Result<Stat> {
        self.call(format!("fstat {fd:?}"), || (), || self.files.fstat(fd))
    }
    fn fsync(&self, fd: Fd) -> Result<()> {
        self.call(format!("fsync {fd:?}"), || (), || self.files.fsync(fd))
    }
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.call(format!("fdatasync {fd:?}"), || (), || self.files.fdatasync(fd))
    }
    fn mkdir(&self, path: &str) -> Result<()> {
        self.call(format!("mkdir {path}"), || (), || self.files.mkdir(path))
    }
    fn rmdir(&self, path: &str) -> Result<()> {
        self.call(format!("rmdir {path}"), || (), || self.files.rmdir(path))
    }
    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.call(format!("link {from} {to}"), || (), || self.files.link(from, to))
    }
    fn unlink(&self, path: &str) -> Result<()> {
        self.call(format!("unlink {path}"), || (), || self.files.unlink(path))
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let part = || self.files.link(from, "/more").unwrap();
        self.call(format!("rename {from} {to}"), part, || self.files.rename(from, to))
    }
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.call(format!("sync_dir {path}"), || (), || self.files.sync_dir(path))
    }
    fn sync(&self) -> Result<()> {
        self.call("sync".to_owned(), || (), || self.files.sync())
    }
}

/// The old judgement of a step that has been made.
fn old_judged(
    old: &mut OldSide,
    step: OldStep,
    files: &dyn Files,
) -> std::result::Result<(), CheckError> {
    if let Some(difference) = step.follow(&old.last, files, &old.model)? {
        let message = format!("{}, and {difference}", old.last);
        return Err(Violation::new(Verdict::Corrupt, old.last.promise(), message).into());
    }
    old.compare(files, "")
}

#[test]
fn old_and_new_make_the_same_system_calls_and_judge_each_failure_alike() {
    let (one, other) = (files(&[]), files(&[]));
    let (one, other) = (Recorder::new(&one, 99, 0), Recorder::new(&other, 99, 0));
    call::prepare(&one).unwrap();
    one.sync().unwrap();
    let mut session = explode_ramdisk::files::Session::new(&other);
    step::begin().iter().chain([&FsCall::Syncfs]).for_each(|call| session.make(call).unwrap());
    assert_eq!(one.calls, other.calls);

    let (mut made, mut refused) = (0, 0);
    for (calls, before, step, _) in paths() {
        let without = &calls[..calls.len() - 1];
        let old_step = OldSide::step(step.name);
        for fails in 0..4 {
            for does in 0..3 {
                let (one, other) = (files(without), files(without));
                let (one, other) =
                    (Recorder::new(&one, fails, does), Recorder::new(&other, fails, does));
                let old_end = old_step.make(&one);
                let new_end = step.make(&other);
                assert_eq!(one.calls, other.calls);
                assert_eq!(format!("{old_end:?}"), format!("{new_end:?}"));
                one.off.set(true);
                other.off.set(true);
                let mut old = old_side(without, old_end);
                let mut new = Failures { fs: before.clone(), last: new_end, ..Failures::new() };
                let judged = text(old_judged(&mut old, old_step, &one));
                assert_eq!(judged, text(new.judge(&step, &other)));
                refused += usize::from(!judged.0.is_empty());
                made += 1;
                let same: Vec<&str> =
                    OldStep::possible(&old.model).into_iter().map(OldStep::name).collect();
                let steps = FailureStep::possible(&new.fs);
                assert_eq!(same, steps.iter().map(|step| step.name).collect::<Vec<_>>());
            }
        }
    }
    println!("made {made}, refused {refused}");
}
