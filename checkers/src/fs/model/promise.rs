//! Promises: the object that a path must lead to after a crash, and the check for it.

use std::cell::Cell;

use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags};
use explode_runtime::check::digest;
use explode_runtime::verdict;
use explode_runtime::verdict::{CheckError, ExcludedPromises, ShellDemand, Verdict, Violation};
use nix::errno::Errno;

use super::attributes::Seen;
use super::pattern::{CELL, FoundBytes, compare};

/// The object at a path after every crash. A check examines these properties and no others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPromise {
    pub path: String,
    pub object: PromisedObject,
}

/// The object that a path leads to. The words name the promise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PromisedObject {
    Directory(&'static str),
    /// A file with these contents.
    File(&'static str, PromisedContents),
    /// A file with one of these contents.
    OneOf(&'static str, Vec<PromisedContents>),
    /// A symbolic link with this target.
    Symlink(&'static str, String),
    /// A file or directory with this mode and these extended attributes. Those that are `None` are
    /// not checked.
    Attributes(&'static str, Seen),
    /// No object, because the name was removed durably.
    Nothing(&'static str),
    /// No object, or a file with one of these contents.
    Perhaps(Vec<PromisedContents>),
}

/// The promised contents of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromisedContents {
    /// The word of the promise.
    pub promise: &'static str,
    /// True if the name and everything about the file are synced.
    pub whole: bool,
    /// The smallest size of the file, and the largest. `None` if there is no largest size.
    pub least: usize,
    pub most: Option<usize>,
    /// The bytes that must be there, in order.
    pub parts: Vec<PromisedPart>,
}

/// Some promised bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromisedPart {
    pub at: usize,
    pub bytes: Vec<u8>,
}

impl PathPromise {
    /// Returns the promise as demands of a shell script.
    pub fn demands(&self) -> Vec<ShellDemand> {
        let path = self.path.clone();
        vec![match &self.object {
            PromisedObject::Directory(_) => ShellDemand::Directory(path),
            PromisedObject::Nothing(_) => ShellDemand::Nothing(path),
            PromisedObject::File(_, contents) => ShellDemand::File(path, vec![contents.demand()]),
            PromisedObject::OneOf(_, any) => {
                ShellDemand::File(path, any.iter().map(PromisedContents::demand).collect())
            }
            PromisedObject::Symlink(_, target) => ShellDemand::Symlink(path, target.clone()),
            PromisedObject::Attributes(_, seen) => return seen.demands(&path),
            PromisedObject::Perhaps(any) => {
                ShellDemand::Perhaps(path, any.iter().map(PromisedContents::demand).collect())
            }
        }]
    }

    /// Checks that the promise is kept.
    pub fn judge(&self, files: &dyn Files) -> Result<(), CheckError> {
        let path = &self.path;
        let found = files.stat(path).map(|stat| stat.kind);
        match (&self.object, found) {
            (_, Err(errno)) if is_the_machines(errno) => {
                Err(CheckError::broken(format!("stat {path}: {errno}")))
            }
            (PromisedObject::Directory(_), Ok(FileKind::Directory)) => Ok(()),
            (PromisedObject::File(_, contents), Ok(FileKind::File)) => contents.judge(files, path),
            (PromisedObject::Nothing(_) | PromisedObject::Perhaps(_), Err(_)) => Ok(()),
            (PromisedObject::Nothing(promise), Ok(_)) => {
                let message = format!("{path} was taken away for good, and is there");
                Err(Violation::new(Verdict::Resurrected, *promise, message).into())
            }
            (PromisedObject::Perhaps(any) | PromisedObject::OneOf(_, any), Ok(FileKind::File)) => {
                one_of(any, files, path)
            }
            (PromisedObject::Perhaps(any), Ok(FileKind::Directory)) => {
                Err(corrupt(any[0].promise, path, KINDS[1]))
            }
            (PromisedObject::Symlink(promise, target), Ok(FileKind::Symlink)) => {
                judge_target(promise, files, path, target)
            }
            (
                PromisedObject::Attributes(promise, seen),
                Ok(FileKind::File | FileKind::Directory),
            ) => judge_attributes(promise, files, path, seen),
            (PromisedObject::Perhaps(any), Ok(FileKind::Symlink)) => {
                Err(corrupt(any[0].promise, path, KINDS[2]))
            }
            (
                PromisedObject::Directory(promise)
                | PromisedObject::File(promise, _)
                | PromisedObject::OneOf(promise, _)
                | PromisedObject::Symlink(promise, _)
                | PromisedObject::Attributes(promise, _),
                found,
            ) => Err(match found {
                Err(Errno::ENOENT | Errno::ENOTDIR) => lost(promise, path, "is gone"),
                Err(errno) => corrupt(promise, path, &format!("cannot be looked up: {errno}")),
                Ok(kind) => corrupt(promise, path, KINDS[kind as usize]),
            }),
        }
    }
}

/// The text for a path that leads to an object of another kind, by that kind.
const KINDS: [&str; 3] = ["is a file", "is a directory", "is a symbolic link"];

fn judge_target(
    promise: &str,
    files: &dyn Files,
    path: &str,
    target: &str,
) -> Result<(), CheckError> {
    match files.readlink(path) {
        Ok(found) if found == target => Ok(()),
        Ok(found) if found.is_empty() => Err(lost(promise, path, "holds nothing")),
        Ok(found) => Err(corrupt(promise, path, &format!("holds '{found}', not '{target}'"))),
        Err(errno) if is_the_machines(errno) => {
            Err(CheckError::broken(format!("readlink {path}: {errno}")))
        }
        Err(errno) => Err(corrupt(promise, path, &format!("cannot be read: {errno}"))),
    }
}

fn judge_attributes(
    promise: &str,
    files: &dyn Files,
    path: &str,
    wanted: &Seen,
) -> Result<(), CheckError> {
    let found = Seen::like(wanted, files, path).map_err(|errno| match errno {
        errno if is_the_machines(errno) => {
            CheckError::broken(format!("the attributes of {path}: {errno}"))
        }
        errno => corrupt(promise, path, &format!("has attributes that cannot be read: {errno}")),
    })?;
    let difference = wanted.difference(&found);
    difference.map_or(Ok(()), |text| Err(lost(promise, path, &text)))
}

/// Checks all promises on a crash disk: first those that the profile keeps, `kept`. If the profile
/// excludes others, all promises are then checked, and only violations of excluded ones count,
/// because a promise that rests on an excluded one is not kept either.
pub fn judge(
    files: &dyn Files,
    kept: &[PathPromise],
    others: Option<&[PathPromise]>,
    excluded: &ExcludedPromises,
) -> Result<(), CheckError> {
    kept.iter().try_for_each(|promise| promise.judge(files))?;
    others.into_iter().flatten().try_for_each(|promise| match promise.judge(files) {
        Err(CheckError::Violation(violation)) if !excluded.contains(&violation.promise) => Ok(()),
        judged => judged,
    })
}

/// Returns the `check_key` of a checker that calls [`judge`] with these promises.
pub fn check_key(kept: &[PathPromise], others: Option<&[PathPromise]>) -> Vec<u8> {
    match others {
        None => digest(kept),
        Some(others) => digest((kept, others)),
    }
}

/// Checks that a file holds one of these contents. Otherwise returns the violation of the first,
/// which is the newest.
fn one_of(any: &[PromisedContents], files: &dyn Files, path: &str) -> Result<(), CheckError> {
    let mut first = None;
    for contents in any {
        match contents.judge(files, path) {
            Err(CheckError::Violation(violation)) => first = first.or(Some(violation)),
            other => return other,
        }
    }
    first.map_or(Ok(()), |violation| Err(violation.into()))
}

impl PromisedContents {
    /// Returns the contents as a demand of a shell script.
    pub fn demand(&self) -> verdict::FileContents {
        verdict::FileContents {
            least: self.least as u64,
            most: self.most.map(|most| most as u64),
            parts: self.parts.iter().map(|part| (part.at as u64, part.bytes.clone())).collect(),
        }
    }

    /// Checks that the file at a path has these contents.
    pub fn judge(&self, files: &dyn Files, path: &str) -> Result<(), CheckError> {
        let unreadable = |errno| match errno {
            errno if is_the_machines(errno) => CheckError::broken(format!("read {path}: {errno}")),
            errno => corrupt(self.promise, path, &format!("cannot be read: {errno}")),
        };
        let fd = files.open(path, OpenFlags::EXISTING).map_err(unreadable)?;
        let judged = match files.fstat(fd) {
            Ok(stat) => self.judge_size(path, stat.size).and_then(|()| {
                self.parts
                    .iter()
                    .try_for_each(|part| part.judge(self.promise, files, fd, path, &unreadable))
            }),
            Err(errno) => Err(unreadable(errno)),
        };
        files.close(fd).map_err(unreadable)?;
        judged
    }

    fn judge_size(&self, path: &str, size: u64) -> Result<(), CheckError> {
        if size < self.least as u64 {
            let least = if self.most == Some(self.least) { "" } else { "at least " };
            Err(lost(self.promise, path, &format!("has {size} bytes, not {least}{}", self.least)))
        } else if self.most.is_some_and(|most| size > most as u64) {
            Err(corrupt(self.promise, path, &format!("has {size} bytes, not {}", self.least)))
        } else {
            Ok(())
        }
    }
}

impl PromisedPart {
    fn judge(
        &self,
        promise: &str,
        files: &dyn Files,
        fd: Fd,
        path: &str,
        unreadable: &dyn Fn(Errno) -> CheckError,
    ) -> Result<(), CheckError> {
        with_buffer(self.bytes.len(), |found| {
            let read = files.pread(fd, self.at as u64, found).map_err(unreadable)?;
            self.compare(promise, path, &found[..read])
        })
    }

    /// Compares the bytes that were read. They are fewer than promised if the file ends early.
    fn compare(&self, promise: &str, path: &str, found: &[u8]) -> Result<(), CheckError> {
        let read = found.len();
        if read < self.bytes.len() {
            return Err(lost(
                promise,
                path,
                &format!("ends at byte {}, before its size", self.at + read),
            ));
        }
        if *found == *self.bytes {
            return Ok(());
        }
        let Some(first) = (0..read).find(|at| found[*at] != self.bytes[*at]) else { return Ok(()) };
        let first = first.saturating_sub((self.at + first) % CELL);
        let (found, wanted, at) = (&found[first..], &self.bytes[first..], self.at + first);
        let text = |bytes: &[u8]| format!("\"{}\"", bytes[..bytes.len().min(CELL)].escape_ascii());
        let wanted_text =
            if wanted.starts_with(&[0; CELL]) { "zeroes".to_owned() } else { text(wanted) };
        let (verdict, found_text) = match compare(found, wanted, at) {
            FoundBytes::Zeroes => (Verdict::Lost, "zeroes".to_owned()),
            FoundBytes::Older => (Verdict::Lost, format!("an older version, {}", text(found))),
            FoundBytes::Other => (Verdict::Corrupt, text(found)),
        };
        let message = format!("{path} has at byte {at} {found_text}, not {wanted_text}");
        Err(Violation::new(verdict, promise, message).into())
    }
}

/// Calls `work` with a buffer of `bytes` bytes, whose contents are undefined. The buffer is kept
/// for the next call, because new memory costs more than reading into it.
fn with_buffer<T>(bytes: usize, work: impl FnOnce(&mut [u8]) -> T) -> T {
    const KEPT: usize = 4 << 20;
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut buffer = BUFFER.take();
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    let done = work(&mut buffer[..bytes]);
    if buffer.len() <= KEPT {
        BUFFER.set(buffer);
    }
    done
}

/// Returns true for errors of the machine, which say nothing about a file system.
pub fn is_the_machines(errno: Errno) -> bool {
    matches!(errno, Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::EINTR | Errno::EBADF)
}

fn lost(promise: &str, path: &str, text: &str) -> CheckError {
    Violation::new(Verdict::Lost, promise, format!("{path} {text}")).into()
}

fn corrupt(promise: &str, path: &str, text: &str) -> CheckError {
    Violation::new(Verdict::Corrupt, promise, format!("{path} {text}")).into()
}
