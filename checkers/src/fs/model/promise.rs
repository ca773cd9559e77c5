//! A promise: what a path must lead to after a crash, and whether it does.

use std::cell::Cell;

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags};
use explode_runtime::verdict;
use explode_runtime::verdict::{Demand, Excluded, Failure, Verdict, Violation};
use nix::errno::Errno;

use super::attributes::Seen;
use super::pattern::{CELL, Found, compare};

/// What stands at a path after every crash. Whatever is in here is looked at, and nothing else is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Promise {
    pub path: String,
    pub what: What,
}

/// What a path leads to; the words name the promise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    Directory(&'static str),
    /// It is there, and it holds this.
    File(&'static str, Contents),
    /// It is there, and it holds one of these.
    OneOf(&'static str, Vec<Contents>),
    /// A symbolic link that holds this.
    Symlink(&'static str, String),
    /// A file or directory that has this mode and these extended attributes, as far as they are
    /// said.
    Attributes(&'static str, Seen),
    /// Nothing: it was taken away for good.
    Nothing(&'static str),
    /// Nothing, or a file that holds one of these.
    Perhaps(Vec<Contents>),
}

/// What of a file is promised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contents {
    /// The word for it.
    pub promise: &'static str,
    /// Is everything about the file synced?
    pub whole: bool,
    /// The smallest size that it may have, and the largest if there is one.
    pub least: usize,
    pub most: Option<usize>,
    /// Bytes that are there, in order.
    pub parts: Vec<Part>,
}

/// Some bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub at: usize,
    pub bytes: Vec<u8>,
}

impl Promise {
    /// The same for a shell.
    pub fn demands(&self) -> Vec<Demand> {
        let path = self.path.clone();
        vec![match &self.what {
            What::Directory(_) => Demand::Directory(path),
            What::Nothing(_) => Demand::Nothing(path),
            What::File(_, contents) => Demand::File(path, vec![contents.demand()]),
            What::OneOf(_, any) => Demand::File(path, any.iter().map(Contents::demand).collect()),
            What::Symlink(_, target) => Demand::Symlink(path, target.clone()),
            What::Attributes(_, seen) => return seen.demands(&path),
            What::Perhaps(any) => Demand::Perhaps(path, any.iter().map(Contents::demand).collect()),
        }]
    }

    /// Is it kept?
    pub fn judge(&self, files: &dyn Files) -> Result<(), Failure> {
        let path = &self.path;
        let found = files.stat(path).map(|stat| stat.kind);
        match (&self.what, found) {
            (_, Err(errno)) if is_the_machines(errno) => {
                Err(Failure::broken(format!("stat {path}: {errno}")))
            }
            (What::Directory(_), Ok(Kind::Directory)) => Ok(()),
            (What::File(_, contents), Ok(Kind::File)) => contents.judge(files, path),
            (What::Nothing(_) | What::Perhaps(_), Err(_)) => Ok(()),
            (What::Nothing(promise), Ok(_)) => {
                let message = format!("{path} was taken away for good, and is there");
                Err(Violation::new(Verdict::Resurrected, *promise, message).into())
            }
            (What::Perhaps(any) | What::OneOf(_, any), Ok(Kind::File)) => one_of(any, files, path),
            (What::Perhaps(any), Ok(Kind::Directory)) => {
                Err(corrupt(any[0].promise, path, KINDS[1]))
            }
            (What::Symlink(promise, target), Ok(Kind::Symlink)) => {
                judge_target(promise, files, path, target)
            }
            (What::Attributes(promise, seen), Ok(Kind::File | Kind::Directory)) => {
                judge_attributes(promise, files, path, seen)
            }
            (What::Perhaps(any), Ok(Kind::Symlink)) => Err(corrupt(any[0].promise, path, KINDS[2])),
            (
                What::Directory(promise)
                | What::File(promise, _)
                | What::OneOf(promise, _)
                | What::Symlink(promise, _)
                | What::Attributes(promise, _),
                found,
            ) => Err(match found {
                Err(Errno::ENOENT | Errno::ENOTDIR) => lost(promise, path, "is gone"),
                Err(errno) => corrupt(promise, path, &format!("cannot be looked up: {errno}")),
                Ok(kind) => corrupt(promise, path, KINDS[kind as usize]),
            }),
        }
    }
}

/// What a path is, by its kind.
const KINDS: [&str; 3] = ["is a file", "is a directory", "is a symbolic link"];

fn judge_target(promise: &str, files: &dyn Files, path: &str, target: &str) -> Result<(), Failure> {
    match files.readlink(path) {
        Ok(found) if found == target => Ok(()),
        Ok(found) if found.is_empty() => Err(lost(promise, path, "holds nothing")),
        Ok(found) => Err(corrupt(promise, path, &format!("holds '{found}', not '{target}'"))),
        Err(errno) if is_the_machines(errno) => {
            Err(Failure::broken(format!("readlink {path}: {errno}")))
        }
        Err(errno) => Err(corrupt(promise, path, &format!("cannot be read: {errno}"))),
    }
}

fn judge_attributes(
    promise: &str,
    files: &dyn Files,
    path: &str,
    wanted: &Seen,
) -> Result<(), Failure> {
    let found = Seen::like(wanted, files, path).map_err(|errno| match errno {
        errno if is_the_machines(errno) => {
            Failure::broken(format!("the attributes of {path}: {errno}"))
        }
        errno => corrupt(promise, path, &format!("has attributes that cannot be read: {errno}")),
    })?;
    let difference = wanted.difference(&found);
    difference.map_or(Ok(()), |what| Err(lost(promise, path, &what)))
}

/// Judges all promises of a disk: first those that are `kept` by the profile, then, if there are
/// others, all of them, of which only what the profile excludes counts: a promise that rests on one
/// that is excluded is not kept either.
pub fn judge(
    files: &dyn Files,
    kept: &[Promise],
    others: Option<&[Promise]>,
    excluded: &Excluded,
) -> Result<(), Failure> {
    kept.iter().try_for_each(|promise| promise.judge(files))?;
    others.into_iter().flatten().try_for_each(|promise| match promise.judge(files) {
        Err(Failure::Violation(violation)) if !excluded.contains(&violation.promise) => Ok(()),
        judged => judged,
    })
}

/// Does the file hold what one of these says? If not, the first of them, the newest, says what is
/// wrong.
fn one_of(any: &[Contents], files: &dyn Files, path: &str) -> Result<(), Failure> {
    let mut said = None;
    for contents in any {
        match contents.judge(files, path) {
            Err(Failure::Violation(violation)) => said = said.or(Some(violation)),
            other => return other,
        }
    }
    said.map_or(Ok(()), |violation| Err(violation.into()))
}

impl Contents {
    /// The same for a shell.
    pub fn demand(&self) -> verdict::Contents {
        verdict::Contents {
            least: self.least as u64,
            most: self.most.map(|most| most as u64),
            parts: self.parts.iter().map(|part| (part.at as u64, part.bytes.clone())).collect(),
        }
    }

    fn judge(&self, files: &dyn Files, path: &str) -> Result<(), Failure> {
        let unreadable = |errno| match errno {
            errno if is_the_machines(errno) => Failure::broken(format!("read {path}: {errno}")),
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

    fn judge_size(&self, path: &str, size: u64) -> Result<(), Failure> {
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

impl Part {
    fn judge(
        &self,
        promise: &str,
        files: &dyn Files,
        fd: Fd,
        path: &str,
        unreadable: &dyn Fn(Errno) -> Failure,
    ) -> Result<(), Failure> {
        with_buffer(self.bytes.len(), |found| {
            let read = files.pread(fd, self.at as u64, found).map_err(unreadable)?;
            self.compare(promise, path, &found[..read])
        })
    }

    /// What was read of it, which is less where the file ends.
    fn compare(&self, promise: &str, path: &str, found: &[u8]) -> Result<(), Failure> {
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
            Found::Zeroes => (Verdict::Lost, "zeroes".to_owned()),
            Found::Older => (Verdict::Lost, format!("an older version, {}", text(found))),
            Found::Other => (Verdict::Corrupt, text(found)),
        };
        let message = format!("{path} has at byte {at} {found_text}, not {wanted_text}");
        Err(Violation::new(verdict, promise, message).into())
    }
}

/// Gives `work` a buffer of so many bytes, whatever they hold. It is kept for the next call: new
/// memory costs more than reading into it.
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

/// Returns true for errors of the machine, which say nothing of a file system.
pub fn is_the_machines(errno: Errno) -> bool {
    matches!(errno, Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::EINTR | Errno::EBADF)
}

fn lost(promise: &str, path: &str, what: &str) -> Failure {
    Violation::new(Verdict::Lost, promise, format!("{path} {what}")).into()
}

fn corrupt(promise: &str, path: &str, what: &str) -> Failure {
    Violation::new(Verdict::Corrupt, promise, format!("{path} {what}")).into()
}
