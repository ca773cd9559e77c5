//! Repetition of calls on a mounted file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid,
    XattrFlags,
};
use rustix::io::Errno;

use super::call::{AttributeChange, KernelCall, KernelCallKind};

/// The reason why a call cannot be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallReplayError {
    /// The name of its file was gone before the first repeated call.
    Nameless,
    /// The call fails, or calls of this kind cannot be repeated.
    Failed(String),
}

impl From<Errno> for CallReplayError {
    fn from(errno: Errno) -> CallReplayError {
        CallReplayError::Failed(errno.to_string())
    }
}

impl From<std::io::Error> for CallReplayError {
    fn from(error: std::io::Error) -> CallReplayError {
        CallReplayError::Failed(error.to_string())
    }
}

/// Repeats calls in order.
#[derive(Debug)]
pub(crate) struct CallReplay {
    roots: Vec<OwnedFd>,
    /// The files that a later call identifies only by inode number, as pairs of system and inode.
    wanted: BTreeSet<(u32, u64)>,
    held: BTreeMap<(u32, u64), OwnedFd>,
}

/// A file, by a path from the root or by the path of an open file below `/proc`.
struct ReplayedFile<'a> {
    root: BorrowedFd<'a>,
    path: PathBuf,
    is_open: bool,
}

impl CallReplay {
    /// Prepares to repeat exactly these calls on the file systems mounted at `roots`.
    ///
    /// # Errors
    /// A root does not exist.
    pub fn new(roots: &[PathBuf], calls: &[KernelCall]) -> Result<CallReplay, CallReplayError> {
        let open = |root: &PathBuf| {
            rustix::fs::open(
                root,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )
        };
        let roots = roots.iter().map(open).collect::<Result<_, _>>()?;
        let nameless = calls.iter().filter(|call| call.nameless);
        let wanted = nameless.map(|call| (call.system, call.inode)).collect();
        Ok(CallReplay { roots, wanted, held: BTreeMap::new() })
    }

    /// Repeats the next call.
    pub fn call(&mut self, call: &KernelCall) -> Result<(), CallReplayError> {
        let KernelCall { system, inode, path, mode, kind, .. } = call;
        let root = self.root(*system)?;
        let permissions = Mode::from_raw_mode(*mode);
        match kind {
            KernelCallKind::Create => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(root, path, flags, permissions)?;
                own(&self.named(*system, path)?, call)
            }
            KernelCallKind::CreateNameless => {
                let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
                let folder = self.named(*system, path)?.path;
                self.held.insert(
                    (*system, *inode),
                    rustix::fs::openat(root, &folder, flags, permissions)?,
                );
                own(&self.nameless(*system, *inode)?, call)
            }
            KernelCallKind::Mkdir => {
                rustix::fs::mkdirat(root, path, permissions)?;
                own(&self.named(*system, path)?, call)
            }
            KernelCallKind::Mknod(major, minor) => {
                let device = rustix::fs::makedev(*major, *minor);
                let kind = FileType::from_raw_mode(*mode);
                rustix::fs::mknodat(root, path, kind, permissions, device)?;
                own(&self.named(*system, path)?, call)
            }
            KernelCallKind::Symlink(holds) => {
                rustix::fs::symlinkat(holds, root, path)?;
                own(&self.named(*system, path)?, call)
            }
            KernelCallKind::Link(name) => {
                let from = self.place(call)?;
                let follow = if from.is_open { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
                Ok(rustix::fs::linkat(from.root, &from.path, root, name, follow)?)
            }
            KernelCallKind::Unlink => {
                self.hold(*system, *inode, path)?;
                Ok(rustix::fs::unlinkat(self.root(*system)?, path, AtFlags::empty())?)
            }
            KernelCallKind::Rmdir => {
                self.hold(*system, *inode, path)?;
                Ok(rustix::fs::unlinkat(self.root(*system)?, path, AtFlags::REMOVEDIR)?)
            }
            KernelCallKind::Rename(name, flags, replaced) => {
                let flags = RenameFlags::from_bits_retain(*flags);
                if let Some(replaced) = replaced.filter(|_| !flags.contains(RenameFlags::EXCHANGE))
                {
                    self.hold(*system, replaced, name)?;
                }
                let root = self.root(*system)?;
                Ok(rustix::fs::renameat_with(root, path, root, name, flags)?)
            }
            _ => self.change(call),
        }
    }

    /// Repeats a call that changes the contents or attributes of a file.
    fn change(&self, call: &KernelCall) -> Result<(), CallReplayError> {
        match &call.kind {
            KernelCallKind::Write(offset, data) | KernelCallKind::Store(offset, data) => {
                Ok(self.place(call)?.open()?.write_all_at(data, *offset)?)
            }
            KernelCallKind::Allocate(mode, offset, len) => {
                let mode = FallocateFlags::from_bits_retain(*mode);
                Ok(rustix::fs::fallocate(self.place(call)?.open()?, mode, *offset, *len)?)
            }
            KernelCallKind::Change(AttributeChange { size, access, times }) => {
                let place = self.place(call)?;
                if let Some(size) = size {
                    place.open()?.set_len(*size)?;
                }
                if *access {
                    own(&place, call)?;
                }
                times.map_or(Ok(()), |times| Ok(place.set_times(times)?))
            }
            KernelCallKind::SetAttribute(name, value) => {
                let (path, flags) = (self.place(call)?.full(), XattrFlags::empty());
                Ok(if call.nameless {
                    rustix::fs::setxattr(path, name, value, flags)
                } else {
                    rustix::fs::lsetxattr(path, name, value, flags)
                }?)
            }
            KernelCallKind::RemoveAttribute(name) => {
                let path = self.place(call)?.full();
                Ok(if call.nameless {
                    rustix::fs::removexattr(path, name)
                } else {
                    rustix::fs::lremovexattr(path, name)
                }?)
            }
            KernelCallKind::Map => Ok(()),
            _ => Err(CallReplayError::Failed("explode cannot repeat this kind of call".to_owned())),
        }
    }

    fn root(&self, system: u32) -> Result<BorrowedFd<'_>, CallReplayError> {
        let root = self.roots.get(system as usize);
        root.map(std::os::fd::AsFd::as_fd)
            .ok_or_else(|| CallReplayError::Failed("its file system is not there".to_owned()))
    }

    fn place(&self, call: &KernelCall) -> Result<ReplayedFile<'_>, CallReplayError> {
        if call.nameless {
            self.nameless(call.system, call.inode)
        } else {
            self.named(call.system, &call.path)
        }
    }

    fn named(&self, system: u32, path: &Path) -> Result<ReplayedFile<'_>, CallReplayError> {
        let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        Ok(ReplayedFile { root: self.root(system)?, path, is_open: false })
    }

    fn nameless(&self, system: u32, inode: u64) -> Result<ReplayedFile<'_>, CallReplayError> {
        let held = self.held.get(&(system, inode)).ok_or(CallReplayError::Nameless)?;
        let path = format!("/proc/self/fd/{}", held.as_raw_fd()).into();
        Ok(ReplayedFile { root: self.root(system)?, path, is_open: true })
    }

    /// Opens a file before its name is removed, if a later call identifies it only by inode number.
    fn hold(&mut self, system: u32, inode: u64, path: &Path) -> Result<(), CallReplayError> {
        if !self.wanted.contains(&(system, inode)) {
            return Ok(());
        }
        let root = self.root(system)?;
        let open = |flags| {
            rustix::fs::openat(
                root,
                path,
                flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
            )
        };
        let held = open(OFlags::RDWR | OFlags::NONBLOCK)
            .or_else(|_| open(OFlags::RDONLY | OFlags::NONBLOCK));
        let held = held.or_else(|_| open(OFlags::PATH))?;
        self.held.insert((system, inode), held);
        Ok(())
    }
}

impl ReplayedFile<'_> {
    /// Opens the file for writing.
    fn open(&self) -> Result<File, Errno> {
        let no_follow = if self.is_open { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | no_follow;
        rustix::fs::openat(self.root, &self.path, flags, Mode::empty()).map(File::from)
    }

    fn no_follow(&self) -> AtFlags {
        if self.is_open { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
    }

    /// Returns a path that is valid without the root.
    fn full(&self) -> PathBuf {
        Path::new(&format!("/proc/self/fd/{}", self.root.as_raw_fd())).join(&self.path)
    }

    fn set_times(&self, [atime, mtime]: [(i64, u32); 2]) -> Result<(), Errno> {
        let time =
            |(seconds, nanoseconds)| Timespec { tv_sec: seconds, tv_nsec: i64::from(nanoseconds) };
        let times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
        rustix::fs::utimensat(self.root, &self.path, &times, self.no_follow())
    }
}

/// Gives a file its owner and permissions after the call.
fn own(place: &ReplayedFile<'_>, call: &KernelCall) -> Result<(), CallReplayError> {
    let KernelCall { mode, owner: (uid, gid), .. } = call;
    let now = rustix::fs::statat(place.root, &place.path, place.no_follow())?;
    if (now.st_uid, now.st_gid) != (*uid, *gid) {
        let (user, group) = (Some(Uid::from_raw(*uid)), Some(Gid::from_raw(*gid)));
        rustix::fs::chownat(place.root, &place.path, user, group, place.no_follow())?;
    }
    let now = rustix::fs::statat(place.root, &place.path, place.no_follow())?;
    if now.st_mode & 0o7777 != mode & 0o7777 {
        rustix::fs::chmodat(place.root, &place.path, Mode::from_raw_mode(*mode), AtFlags::empty())?;
    }
    Ok(())
}
