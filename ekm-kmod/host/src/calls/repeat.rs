//! Repeats calls on a mounted file system.

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

use super::call::{Call, Change, What};

/// Why a call cannot be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is about a file whose name was gone before the first call that is repeated here.
    Nameless,
    /// It fails, or cannot be repeated.
    Failed(String),
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Trouble {
        Trouble::Failed(errno.to_string())
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Failed(error.to_string())
    }
}

/// Repeats calls, one after the other.
#[derive(Debug)]
pub(crate) struct Repeat {
    roots: Vec<OwnedFd>,
    /// Files that a later call finds by its inode's number alone, on the system of that number.
    wanted: BTreeSet<(u32, u64)>,
    held: BTreeMap<(u32, u64), OwnedFd>,
}

/// A file: from the root on, or as an open one that stands below `/proc`.
struct Place<'a> {
    root: BorrowedFd<'a>,
    path: PathBuf,
    is_open: bool,
}

impl Repeat {
    /// On file systems that are mounted here, of these and no other calls.
    ///
    /// # Errors
    /// A folder that is not there.
    pub fn new(roots: &[PathBuf], calls: &[Call]) -> Result<Repeat, Trouble> {
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
        Ok(Repeat { roots, wanted, held: BTreeMap::new() })
    }

    /// Repeats the next call.
    pub fn call(&mut self, call: &Call) -> Result<(), Trouble> {
        let Call { system, inode, path, mode, what, .. } = call;
        let root = self.root(*system)?;
        let permissions = Mode::from_raw_mode(*mode);
        match what {
            What::Create => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(root, path, flags, permissions)?;
                own(&self.named(*system, path)?, call)
            }
            What::CreateNameless => {
                let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
                let folder = self.named(*system, path)?.path;
                self.held.insert(
                    (*system, *inode),
                    rustix::fs::openat(root, &folder, flags, permissions)?,
                );
                own(&self.nameless(*system, *inode)?, call)
            }
            What::Mkdir => {
                rustix::fs::mkdirat(root, path, permissions)?;
                own(&self.named(*system, path)?, call)
            }
            What::Mknod(major, minor) => {
                let device = rustix::fs::makedev(*major, *minor);
                let kind = FileType::from_raw_mode(*mode);
                rustix::fs::mknodat(root, path, kind, permissions, device)?;
                own(&self.named(*system, path)?, call)
            }
            What::Symlink(holds) => {
                rustix::fs::symlinkat(holds, root, path)?;
                own(&self.named(*system, path)?, call)
            }
            What::Link(name) => {
                let from = self.place(call)?;
                let follow = if from.is_open { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
                Ok(rustix::fs::linkat(from.root, &from.path, root, name, follow)?)
            }
            What::Unlink => {
                self.hold(*system, *inode, path)?;
                Ok(rustix::fs::unlinkat(self.root(*system)?, path, AtFlags::empty())?)
            }
            What::Rmdir => {
                self.hold(*system, *inode, path)?;
                Ok(rustix::fs::unlinkat(self.root(*system)?, path, AtFlags::REMOVEDIR)?)
            }
            What::Rename(name, flags, replaced) => {
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

    /// Repeats a call that changes what a file holds, or its attributes.
    fn change(&self, call: &Call) -> Result<(), Trouble> {
        match &call.what {
            What::Write(offset, data) | What::Store(offset, data) => {
                Ok(self.place(call)?.open()?.write_all_at(data, *offset)?)
            }
            What::Allocate(mode, offset, len) => {
                let mode = FallocateFlags::from_bits_retain(*mode);
                Ok(rustix::fs::fallocate(self.place(call)?.open()?, mode, *offset, *len)?)
            }
            What::Change(Change { size, access, times }) => {
                let place = self.place(call)?;
                if let Some(size) = size {
                    place.open()?.set_len(*size)?;
                }
                if *access {
                    own(&place, call)?;
                }
                times.map_or(Ok(()), |times| Ok(place.set_times(times)?))
            }
            What::SetAttribute(name, value) => {
                let (path, flags) = (self.place(call)?.full(), XattrFlags::empty());
                Ok(if call.nameless {
                    rustix::fs::setxattr(path, name, value, flags)
                } else {
                    rustix::fs::lsetxattr(path, name, value, flags)
                }?)
            }
            What::RemoveAttribute(name) => {
                let path = self.place(call)?.full();
                Ok(if call.nameless {
                    rustix::fs::removexattr(path, name)
                } else {
                    rustix::fs::lremovexattr(path, name)
                }?)
            }
            What::Map => Ok(()),
            _ => Err(Trouble::Failed("explode knows no way to".to_owned())),
        }
    }

    fn root(&self, system: u32) -> Result<BorrowedFd<'_>, Trouble> {
        let root = self.roots.get(system as usize);
        root.map(std::os::fd::AsFd::as_fd)
            .ok_or_else(|| Trouble::Failed("its file system is not there".to_owned()))
    }

    fn place(&self, call: &Call) -> Result<Place<'_>, Trouble> {
        if call.nameless {
            self.nameless(call.system, call.inode)
        } else {
            self.named(call.system, &call.path)
        }
    }

    fn named(&self, system: u32, path: &Path) -> Result<Place<'_>, Trouble> {
        let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        Ok(Place { root: self.root(system)?, path, is_open: false })
    }

    fn nameless(&self, system: u32, inode: u64) -> Result<Place<'_>, Trouble> {
        let held = self.held.get(&(system, inode)).ok_or(Trouble::Nameless)?;
        let path = format!("/proc/self/fd/{}", held.as_raw_fd()).into();
        Ok(Place { root: self.root(system)?, path, is_open: true })
    }

    /// A name is about to go: a file that a later call names by its number alone is kept open.
    fn hold(&mut self, system: u32, inode: u64, path: &Path) -> Result<(), Trouble> {
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

impl Place<'_> {
    /// For writing.
    fn open(&self) -> Result<File, Errno> {
        let no_follow = if self.is_open { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | no_follow;
        rustix::fs::openat(self.root, &self.path, flags, Mode::empty()).map(File::from)
    }

    fn no_follow(&self) -> AtFlags {
        if self.is_open { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
    }

    /// A path that needs no root beside it.
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

/// Gives a file the owner and the permissions that it had after the call.
fn own(place: &Place<'_>, call: &Call) -> Result<(), Trouble> {
    let Call { mode, owner: (uid, gid), .. } = call;
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
