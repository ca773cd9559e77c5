//! The calls that mutate chooses from, on a tree of two files, `/file` and `/other`, and an empty
//! directory, `/dir`.

use std::fmt;

use explode_ramdisk::files::{Fd, Files, OpenFlags, Result as FilesResult};
use explode_runtime::verdict::CheckError;
use nix::errno::Errno;

/// Bytes of `/file`: a block and a part of one.
const SIZE: usize = 5000;
/// Where "write" begins: in the middle of the first block.
const FROM: usize = 1000;
/// How much it writes: to the end of the third.
const LEN: usize = 12_288 - FROM;
/// What "truncate" leaves: a part of the first block.
const SHORT: u64 = 1500;

/// One call of mutate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldStep {
    Mkdir,
    Create,
    Write,
    Fsync,
    Rename,
    Truncate,
    Link,
    Unlink,
    Rmdir,
}

/// How it has ended: which system call was the last, and its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OldEnding {
    /// All have succeeded.
    Done(&'static str),
    /// This one has failed.
    Failed(&'static str, Errno),
}

impl OldEnding {
    /// What is promised of it.
    pub fn promise(&self) -> String {
        let (OldEnding::Done(what) | OldEnding::Failed(what, _)) = self;
        let call = what.split(' ').next().unwrap_or_default();
        match self {
            OldEnding::Done(_) => format!("{call}-has-its-effect"),
            OldEnding::Failed(..) => format!("failed-{call}-has-no-effect"),
        }
    }
}

impl fmt::Display for OldEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OldEnding::Done(what) => write!(f, "{what} succeeded"),
            OldEnding::Failed(what, errno) => write!(f, "{what} failed with {errno}"),
        }
    }
}

/// Makes the tree that everything begins with.
pub fn prepare(files: &dyn Files) -> FilesResult<()> {
    for (path, bytes) in [("/file", SIZE), ("/other", 300)] {
        let fd = files.open(path, OpenFlags::CREATE)?;
        files.pwrite(fd, 0, &pattern(1, bytes))?;
        files.close(fd)?;
    }
    files.mkdir("/dir")
}

/// Bytes that tell where they belong.
fn pattern(version: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 7 + at / 256 + version * 101) as u8).collect()
}

impl OldStep {
    /// How each may end, and how the opening of its file.
    #[cfg(test)]
    pub fn ends() -> impl Iterator<Item = OldEnding> {
        let of = |call: OldStep| {
            [OldEnding::Done(call.name()), OldEnding::Failed(call.name(), Errno::ENOMEM)]
        };
        OldStep::ALL.into_iter().flat_map(of).chain([OldEnding::Failed("open", Errno::ENOMEM)])
    }

    pub const ALL: [OldStep; 9] = [
        OldStep::Mkdir,
        OldStep::Create,
        OldStep::Write,
        OldStep::Fsync,
        OldStep::Rename,
        OldStep::Truncate,
        OldStep::Link,
        OldStep::Unlink,
        OldStep::Rmdir,
    ];

    /// Those that can succeed.
    pub fn possible(files: &dyn Files) -> Vec<OldStep> {
        let is_there = |path| files.stat(path).is_ok();
        let can = |call: &OldStep| match call {
            OldStep::Mkdir => !is_there("/new-dir"),
            OldStep::Create => !is_there("/new"),
            OldStep::Write
            | OldStep::Fsync
            | OldStep::Truncate
            | OldStep::Unlink
            | OldStep::Rename => is_there("/file"),
            OldStep::Link => is_there("/file") && !is_there("/link"),
            OldStep::Rmdir => is_there("/dir"),
        };
        OldStep::ALL.into_iter().filter(can).collect()
    }

    /// The names, if they are there, of the file whose contents it is about.
    pub fn changes(self) -> &'static [&'static str] {
        match self {
            OldStep::Write | OldStep::Fsync | OldStep::Truncate => &["/file", "/link"],
            _ => &[],
        }
    }

    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            OldStep::Mkdir => "mkdir /new-dir",
            OldStep::Create => "create /new",
            OldStep::Write => "write /file",
            OldStep::Fsync => "fsync /file",
            OldStep::Rename => "rename /file /other",
            OldStep::Truncate => "truncate /file",
            OldStep::Link => "link /file /link",
            OldStep::Unlink => "unlink /file",
            OldStep::Rmdir => "rmdir /dir",
        }
    }

    /// What has to be there before: for fsync, something to be written.
    pub fn prepare(self, model: &dyn Files) -> Result<(), CheckError> {
        if self == OldStep::Fsync {
            let fd = model.open("/file", OpenFlags::EXISTING)?;
            model.pwrite(fd, FROM as u64, &pattern(3, LEN))?;
            model.close(fd)?;
        }
        Ok(())
    }

    /// Makes it.
    pub fn make(self, files: &dyn Files) -> OldEnding {
        let name = self.name();
        let exclusive = OpenFlags { create: true, exclusive: true, truncate: false };
        let made = match self {
            OldStep::Mkdir => files.mkdir("/new-dir"),
            OldStep::Rename => files.rename("/file", "/other"),
            OldStep::Link => files.link("/file", "/link"),
            OldStep::Unlink => files.unlink("/file"),
            OldStep::Rmdir => files.rmdir("/dir"),
            OldStep::Create => return opened(files, name, "/new", exclusive, |_| Ok(())),
            OldStep::Write => {
                let bytes = pattern(2, LEN);
                return opened(files, name, "/file", OpenFlags::EXISTING, |fd| {
                    files.pwrite(fd, FROM as u64, &bytes)
                });
            }
            OldStep::Fsync => {
                return opened(files, name, "/file", OpenFlags::EXISTING, |fd| files.fsync(fd));
            }
            OldStep::Truncate => {
                return opened(files, name, "/file", OpenFlags::EXISTING, |fd| {
                    files.ftruncate(fd, SHORT)
                });
            }
        };
        made.map_or_else(|errno| OldEnding::Failed(name, errno), |()| OldEnding::Done(name))
    }

    /// Brings the model to where the call has brought the file system; says what is wrong with a
    /// write that has failed.
    pub fn follow(
        self,
        ended: &OldEnding,
        files: &dyn Files,
        model: &dyn Files,
    ) -> Result<Option<String>, CheckError> {
        match ended {
            OldEnding::Done(_) => match self.make(model) {
                OldEnding::Done(_) => Ok(None),
                OldEnding::Failed(what, errno) => {
                    Err(CheckError::broken(format!("the model: {what}: {errno}")))
                }
            },
            OldEnding::Failed("write /file", _) => follow_part(files, model),
            OldEnding::Failed("truncate /file", _) => follow_cut(files, model),
            OldEnding::Failed(..) => Ok(None),
        }
    }
}

/// The file is opened, something is done to it, and it is closed.
fn opened(
    files: &dyn Files,
    name: &'static str,
    path: &str,
    flags: OpenFlags,
    work: impl FnOnce(Fd) -> FilesResult<()>,
) -> OldEnding {
    let fd = match files.open(path, flags) {
        Ok(fd) => fd,
        Err(errno) if flags.create => return OldEnding::Failed(name, errno),
        Err(errno) => return OldEnding::Failed("open", errno),
    };
    let worked = work(fd);
    // Whatever it says, the file is closed (close(2)).
    files.close(fd).ok();
    worked.map_or_else(|errno| OldEnding::Failed(name, errno), |()| OldEnding::Done(name))
}

/// An ftruncate that has failed may have cut the file; then the model is cut, too.
fn follow_cut(files: &dyn Files, model: &dyn Files) -> Result<Option<String>, CheckError> {
    if files.stat("/file").is_ok_and(|stat| stat.size == SHORT) {
        let fd = model.open("/file", OpenFlags::EXISTING)?;
        model.ftruncate(fd, SHORT)?;
        model.close(fd)?;
    }
    Ok(None)
}

/// A write that has failed may have written a part: takes it over, if it is a part.
fn follow_part(files: &dyn Files, model: &dyn Files) -> Result<Option<String>, CheckError> {
    let found = match files.read_file("/file") {
        Ok(found) => found,
        Err(errno) => return Ok(Some(format!("/file cannot be read: {errno}"))),
    };
    let old = model.read_file("/file")?;
    let new = pattern(2, LEN);
    if found.len() < old.len() || found.len() > old.len().max(FROM + LEN) {
        return Ok(Some(format!("/file has {} bytes, and had {}", found.len(), old.len())));
    }
    let wrong = found.iter().enumerate().find(|(at, byte)| {
        let written = at.checked_sub(FROM).and_then(|at| new.get(at));
        **byte != old.get(*at).copied().unwrap_or(0) && Some(*byte) != written
    });
    if let Some((at, byte)) = wrong {
        return Ok(Some(format!(
            "/file has another byte {at}: {byte}, neither the old nor the new one"
        )));
    }
    let fd = model.open("/file", OpenFlags::EXISTING)?;
    model.pwrite(fd, 0, &found)?;
    model.close(fd)?;
    Ok(None)
}
