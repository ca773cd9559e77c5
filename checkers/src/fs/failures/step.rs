//! The steps that mutate chooses from, on a tree of two files, `/file` and `/other`, and an empty
//! directory, `/dir`.

use std::fmt;

use explode_ramdisk::files::{Files, FsCall, OpenFlags, Session};
use nix::errno::Errno;

use crate::fs::model::Abstract;

/// Bytes of `/file`: a block and a part of one.
const SIZE: usize = 5000;
/// The byte at which "write" begins, in the middle of the first block.
const FROM: usize = 1000;
/// The bytes that "write" writes: to the end of the third block.
const LEN: usize = 12_288 - FROM;
/// The size that "truncate" leaves: a part of the first block.
const SHORT: u64 = 1500;

/// A step of mutate: one call, and open(2) before a call on an open file.
#[derive(Clone, Debug)]
pub struct FailureStep {
    /// The name in traces.
    pub name: &'static str,
    /// The call that may fail without an effect.
    pub call: FsCall,
}

/// The end of a step: which system call was the last, and its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnding {
    /// All have succeeded.
    Done(&'static str),
    /// This one has failed.
    Failed(&'static str, Errno),
}

impl StepEnding {
    /// The word for what is promised of the last system call.
    pub fn promise(&self) -> String {
        let (StepEnding::Done(text) | StepEnding::Failed(text, _)) = self;
        let call = text.split(' ').next().unwrap_or_default();
        match self {
            StepEnding::Done(_) => format!("{call}-has-its-effect"),
            StepEnding::Failed(..) => format!("failed-{call}-has-no-effect"),
        }
    }
}

impl fmt::Display for StepEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepEnding::Done(text) => write!(f, "{text} succeeded"),
            StepEnding::Failed(text, errno) => write!(f, "{text} failed with {errno}"),
        }
    }
}

/// The calls that make the tree that everything begins with.
pub fn begin() -> Vec<FsCall> {
    let file = |path: &str, bytes| {
        let open = FsCall::Open { path: path.to_owned(), flags: OpenFlags::CREATE };
        let write = FsCall::pwrite(path, 0, pattern(1, bytes));
        [open, write, FsCall::Close { path: path.to_owned() }]
    };
    let files = [file("/file", SIZE), file("/other", 300)].into_iter().flatten();
    files.chain([FsCall::Mkdir { path: "/dir".to_owned() }]).collect()
}

/// Bytes that tell where they belong.
fn pattern(version: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 7 + at / 256 + version * 101) as u8).collect()
}

impl FailureStep {
    /// Every step, in the order of the choice.
    fn all() -> [FailureStep; 9] {
        let [file, other, link] = ["/file", "/other", "/link"].map(|path| move || path.to_owned());
        let new = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
        [
            ("mkdir /new-dir", FsCall::Mkdir { path: "/new-dir".to_owned() }),
            ("create /new", FsCall::Open { path: "/new".to_owned(), flags: new }),
            ("write /file", FsCall::pwrite("/file", FROM as u64, pattern(2, LEN))),
            ("fsync /file", FsCall::Fsync { path: file() }),
            ("rename /file /other", FsCall::Rename { from: file(), to: other() }),
            ("truncate /file", FsCall::Ftruncate { path: file(), size: SHORT }),
            ("link /file /link", FsCall::Link { from: file(), to: link() }),
            ("unlink /file", FsCall::Unlink { path: file() }),
            ("rmdir /dir", FsCall::Rmdir { path: "/dir".to_owned() }),
        ]
        .map(|(name, call)| FailureStep { name, call })
    }

    /// Every way in which a step ends, and in which the opening of its file does.
    pub fn ends() -> impl Iterator<Item = StepEnding> {
        let of = |step: FailureStep| {
            [StepEnding::Done(step.name), StepEnding::Failed(step.name, Errno::ENOMEM)]
        };
        let open = StepEnding::Failed("open", Errno::ENOMEM);
        FailureStep::all().into_iter().flat_map(of).chain([open])
    }

    /// The steps that can succeed on a tree.
    pub fn possible(fs: &Abstract) -> Vec<FailureStep> {
        FailureStep::all().into_iter().filter(|step| step.can_succeed(fs)).collect()
    }

    /// Returns true if every path that the call needs is there, and none that it makes.
    fn can_succeed(&self, fs: &Abstract) -> bool {
        let exists = |path: &str| fs.find(path).is_some();
        match &self.call {
            FsCall::Mkdir { path } | FsCall::Open { path, .. } => !exists(path),
            FsCall::Link { from, to } => exists(from) && !exists(to),
            FsCall::Rename { from, .. } => exists(from),
            call => call.paths().into_iter().all(exists),
        }
    }

    /// The call is one on an open file.
    fn is_of_an_open_file(&self) -> bool {
        use FsCall::{Fsync, Ftruncate, Pwrite};
        matches!(self.call, Pwrite { .. } | Fsync { .. } | Ftruncate { .. })
    }

    /// The names, if they are there, of the file whose contents the call is about.
    pub fn changes(&self) -> &'static [&'static str] {
        if self.is_of_an_open_file() { &["/file", "/link"] } else { &[] }
    }

    /// The calls that come before the step, and do not fail: for fsync, a write to be forced.
    pub fn before(&self) -> Vec<FsCall> {
        let FsCall::Fsync { path } = &self.call else { return Vec::new() };
        vec![
            FsCall::Open { path: path.clone(), flags: OpenFlags::EXISTING },
            FsCall::pwrite(path, FROM as u64, pattern(3, LEN)),
            FsCall::Close { path: path.clone() },
        ]
    }

    /// Makes the calls. A file that was opened is closed in the end, whatever close(2) returns.
    pub fn make(&self, files: &dyn Files) -> StepEnding {
        let mut session = Session::new(files);
        if self.is_of_an_open_file() {
            let path = self.call.paths().concat();
            if let Err(errno) = session.make(&FsCall::Open { path, flags: OpenFlags::EXISTING }) {
                return StepEnding::Failed("open", errno);
            }
        }
        let made = session.make(&self.call);
        made.map_or_else(
            |errno| StepEnding::Failed(self.name, errno),
            |()| StepEnding::Done(self.name),
        )
    }

    /// Brings the tree to where the step has brought the file system.
    ///
    /// # Errors
    /// What is wrong with a write that has failed; in words.
    pub fn follow(
        &self,
        ended: &StepEnding,
        files: &dyn Files,
        fs: &mut Abstract,
    ) -> Result<(), String> {
        match (&self.call, ended) {
            (call, StepEnding::Done(_)) => fs.apply(call),
            (FsCall::Pwrite { path, offset, data, .. }, StepEnding::Failed(text, _))
                if *text == self.name =>
            {
                let old = fs.find(path).map(|id| fs.bytes(id)).unwrap_or_default();
                let found = part(files, path, old, *offset as usize, data)?;
                fs.apply(&FsCall::pwrite(path, 0, found));
            }
            // An ftruncate that has failed may have cut the file.
            (call @ FsCall::Ftruncate { path, size }, StepEnding::Failed(text, _))
                if *text == self.name && files.stat(path).is_ok_and(|stat| stat.size == *size) =>
            {
                fs.apply(call);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The bytes of a file after a write that has failed and may have written a part.
fn part(
    files: &dyn Files,
    path: &str,
    old: &[u8],
    from: usize,
    new: &[u8],
) -> Result<Vec<u8>, String> {
    let found = files.read_file(path).map_err(|errno| format!("{path} cannot be read: {errno}"))?;
    if found.len() < old.len() || found.len() > old.len().max(from + new.len()) {
        return Err(format!("{path} has {} bytes, and had {}", found.len(), old.len()));
    }
    let wrong = found.iter().enumerate().find(|(at, byte)| {
        let written = at.checked_sub(from).and_then(|at| new.get(at));
        **byte != old.get(*at).copied().unwrap_or(0) && Some(*byte) != written
    });
    match wrong {
        None => Ok(found),
        Some((at, byte)) => {
            Err(format!("{path} has another byte {at}: {byte}, neither the old nor the new one"))
        }
    }
}
