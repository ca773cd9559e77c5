//! [`MountedFiles`]: the calls of [`Files`] on a mounted file system.
//!
//! A path is resolved below one directory, name by name, and never through a symbolic link. A
//! recovered file system may contain anything, and nothing in it leads a checker elsewhere. Each
//! call is one system call on the target of the path, and its errno is returned unchanged. Where
//! the trait leaves the result open, the file system decides. `components/tests/mounted` lists the
//! differences from simulated files.

mod attributes;

use std::cell::{Cell, Ref, RefCell};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Stat, Synced, WriteFlag,
};
use libc::{SYNC_FILE_RANGE_WRITE, copy_file_range, off_t, sync_file_range};
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{
    AtFlags, FallocateFlags, FcntlArg, OFlag, RenameFlags, fallocate, fcntl, open, openat,
    readlinkat, renameat, renameat2,
};
use nix::sys::mman::{MapFlags, MsFlags, ProtFlags, mmap, msync, munmap};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat, umask};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::sys::uio::{pread, pwrite};
use nix::unistd::{
    AccessFlags, UnlinkatFlags, close, faccessat, fdatasync, fsync, ftruncate, linkat, symlinkat,
    sync, syncfs, unlinkat,
};

/// The size of a page in bytes. The offset of a mapping is a multiple of it.
const PAGE: u64 = 4096;

/// The name of the root relative to itself.
const ROOT_NAME: &str = ".";

/// The files below a directory of a mounted file system.
///
/// All descriptors that it opened are closed when it is dropped, or by
/// [`close_all`](MountedFiles::close_all).
#[derive(Debug)]
pub struct MountedFiles {
    /// The root directory. `None` once everything is closed.
    root: RefCell<Option<OwnedFd>>,
    open: RefCell<Vec<Option<OwnedFd>>>,
    /// True if the file system is mounted read-only. Existing files are then opened read-only.
    read_only: bool,
    /// Waits for work that a call has left to be done, on the file system of the root.
    settle: Option<fn(BorrowedFd<'_>)>,
    /// True if there is nothing to wait for, because no call has changed anything yet.
    unchanged: Cell<bool>,
}

/// A name in a directory.
struct Place<'p> {
    root: Ref<'p, OwnedFd>,
    /// The directory that contains the name. `None` if it is the root.
    parent: Option<OwnedFd>,
    name: &'p str,
}

impl Place<'_> {
    fn directory(&self) -> &OwnedFd {
        self.parent.as_ref().unwrap_or(&self.root)
    }
}

impl MountedFiles {
    /// Makes the files below `directory`, which is their `/`. Errors are those of open(2).
    pub fn new(directory: &Path) -> Result<MountedFiles> {
        let root = open(directory, directory_flags(), Mode::empty())?;
        // statvfs(3) also reports it, but is slow on FAT, where it counts the free clusters.
        let read_only =
            faccessat(&root, ROOT_NAME, AccessFlags::W_OK, AtFlags::empty()) == Err(Errno::EROFS);
        let (root, open) = (RefCell::new(Some(root)), RefCell::default());
        Ok(MountedFiles { root, open, read_only, settle: None, unchanged: Cell::new(false) })
    }

    /// Calls `settle` after each call that may leave an inode without a name, or may have given an
    /// inode another's name. It waits for the work that the file system postpones, so that the work
    /// is done at the same point in every run.
    pub fn settling(self, settle: Option<fn(BorrowedFd<'_>)>) -> MountedFiles {
        MountedFiles { settle, ..self }
    }

    /// Declares that the work of mounting is done, and that only these calls change anything. Until
    /// one of them does, `settle` has nothing to wait for.
    pub fn at_rest(self) -> MountedFiles {
        self.unchanged.set(true);
        self
    }

    /// Records that the following call may change something.
    fn may_change(&self) {
        self.unchanged.set(false);
    }

    fn settled<T>(&self, result: T) -> T {
        if let (Some(settle), Ok(root), false) = (self.settle, self.root(), self.unchanged.get()) {
            settle(root.as_fd());
        }
        result
    }

    /// Closes every open descriptor, so that this process does not keep the file system busy. Every
    /// later call returns `EBADF`.
    pub fn close_all(&self) {
        self.open.borrow_mut().clear();
        self.root.borrow_mut().take();
    }

    /// Starts writing a file's dirty data to the disk, without its metadata and without waiting.
    /// This promises nothing (sync_file_range(2)).
    pub fn start_write_back(&self, path: &str) -> Result<()> {
        let at = self.place(path)?;
        let how = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let file = openat(at.directory(), at.name, how, Mode::empty())?;
        // SAFETY: the arguments are plain numbers and an open descriptor.
        Errno::result(unsafe { sync_file_range(file.as_raw_fd(), 0, 0, SYNC_FILE_RANGE_WRITE) })?;
        close(file)
    }

    /// Returns the root directory, for calls that concern the whole file system.
    pub fn root(&self) -> Result<Ref<'_, OwnedFd>> {
        Ref::filter_map(self.root.borrow(), Option::as_ref).map_err(|_| Errno::EBADF)
    }

    fn file(&self, fd: Fd) -> Result<Ref<'_, OwnedFd>> {
        let open = self.open.borrow();
        Ref::filter_map(open, |open| open.get(fd.0 as usize)?.as_ref()).map_err(|_| Errno::EBADF)
    }

    /// Resolves a path to its directory and last name, [`ROOT_NAME`] for the root. `EINVAL` for an
    /// invalid path, like simulated files.
    fn place<'p>(&'p self, path: &'p str) -> Result<Place<'p>> {
        let of_parents = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut place = Place { root: self.root()?, parent: None, name: ROOT_NAME };
        let names = path.strip_prefix('/').ok_or(Errno::EINVAL)?;
        if names.is_empty() {
            return Ok(place);
        }
        if names.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return Err(Errno::EINVAL);
        }
        let (parents, name) =
            names.rsplit_once('/').map_or((None, names), |(all, last)| (Some(all), last));
        for parent in parents.into_iter().flat_map(|parents| parents.split('/')) {
            place.parent = Some(openat(place.directory(), parent, of_parents, Mode::empty())?);
        }
        Ok(Place { name, ..place })
    }

    fn open_with(&self, path: &str, flags: OpenFlags, synced: OFlag) -> Result<Fd> {
        let at = self.place(path)?;
        let access = if self.read_only && !flags.create && !flags.truncate {
            OFlag::O_RDONLY
        } else {
            OFlag::O_RDWR
        };
        let mut how = access | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | synced;
        how.set(OFlag::O_CREAT, flags.create);
        how.set(OFlag::O_EXCL, flags.create && flags.exclusive);
        how.set(OFlag::O_TRUNC, flags.truncate);
        let open = || openat(at.directory(), at.name, how, Mode::from_bits_truncate(0o644));
        if flags.create || flags.truncate {
            self.may_change();
        }
        let file = if flags.create { unmasked(open)? } else { open()? };
        Ok(self.hold(file))
    }

    /// Stores an open file under the smallest free number.
    fn hold(&self, file: OwnedFd) -> Fd {
        let mut open = self.open.borrow_mut();
        let fd = open.iter().position(Option::is_none).unwrap_or(open.len());
        if fd == open.len() {
            open.push(None);
        }
        open[fd] = Some(file);
        Fd(fd as u32)
    }

    /// Opens a file or directory to read it or to change its attributes.
    fn open_either(&self, path: &str) -> Result<OwnedFd> {
        let at = self.place(path)?;
        let how = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        openat(at.directory(), at.name, how, Mode::empty())
    }

    fn directory(&self, path: &str) -> Result<OwnedFd> {
        let at = self.place(path)?;
        openat(at.directory(), at.name, directory_flags() | OFlag::O_NOFOLLOW, Mode::empty())
    }
}

/// The flags to open a directory to read or sync it.
fn directory_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC
}

/// Runs `make` with an empty umask, so that a mode does not depend on it. The umask belongs to the
/// whole process, so one thread at a time does this.
fn unmasked<T>(make: impl FnOnce() -> T) -> T {
    static UMASK: Mutex<()> = Mutex::new(());
    let _one_at_a_time = UMASK.lock().unwrap_or_else(PoisonError::into_inner);
    let before = umask(Mode::empty());
    let made = make();
    umask(before);
    made
}

/// Converts a stat result. `EUCLEAN` ("structure needs cleaning") for a kind of file that these
/// calls never make, `EOVERFLOW` for a number that does not fit.
fn stat_of(found: &FileStat) -> Result<Stat> {
    let (kind, size) = match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => (FileKind::File, found.st_size as u64),
        SFlag::S_IFDIR => (FileKind::Directory, 0),
        SFlag::S_IFLNK => (FileKind::Symlink, 0),
        _ => return Err(Errno::EUCLEAN),
    };
    let inode = u32::try_from(found.st_ino).map_err(|_| Errno::EOVERFLOW)?;
    let links = u32::try_from(found.st_nlink).map_err(|_| Errno::EOVERFLOW)?;
    Ok(Stat { kind, inode, size, links })
}

impl Files for MountedFiles {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.open_with(path, flags, OFlag::empty())
    }

    fn close(&self, fd: Fd) -> Result<()> {
        let mut open = self.open.borrow_mut();
        let file = open.get_mut(fd.0 as usize).and_then(Option::take).ok_or(Errno::EBADF)?;
        self.settled(close(file))
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let file = self.file(fd)?;
        let mut done = 0;
        while done < buf.len() {
            let at =
                off_t::try_from(offset.saturating_add(done as u64)).map_err(|_| Errno::EINVAL)?;
            match pread(&*file, &mut buf[done..], at)? {
                0 => break,
                some => done += some,
            }
        }
        Ok(done)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.may_change();
        let file = self.file(fd)?;
        let is_direct = fcntl(&*file, FcntlArg::F_GETFL)? & OFlag::O_DIRECT.bits() != 0;
        let copy = is_direct.then(|| Aligned::copy_of(data));
        let data = copy.as_ref().map_or(data, Aligned::bytes);
        let mut done = 0;
        while done < data.len() {
            let at =
                off_t::try_from(offset.saturating_add(done as u64)).map_err(|_| Errno::EFBIG)?;
            match pwrite(&*file, &data[done..], at)? {
                0 => return Err(Errno::EIO),
                some => done += some,
            }
        }
        Ok(())
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        self.may_change();
        ftruncate(&*self.file(fd)?, off_t::try_from(size).map_err(|_| Errno::EFBIG)?)
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        stat_of(&fstat(&*self.file(fd)?)?)
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        fsync(&*self.file(fd)?)
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        fdatasync(&*self.file(fd)?)
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        let at = self.place(path)?;
        stat_of(&fstatat(at.directory(), at.name, AtFlags::AT_SYMLINK_NOFOLLOW)?)
    }

    /// Lists everything except `.` and `..`. `lost+found` is a name like any other.
    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        let mut names = Vec::new();
        for entry in Dir::from_fd(self.directory(path)?)? {
            let entry = entry?;
            if [c".", c".."].contains(&entry.file_name()) {
                continue;
            }
            let name = entry.file_name().to_str().map_err(|_| Errno::EILSEQ)?;
            let kind = match entry.file_type() {
                Some(Type::File) => FileKind::File,
                Some(Type::Directory) => FileKind::Directory,
                Some(Type::Symlink) => FileKind::Symlink,
                Some(_) => return Err(Errno::EUCLEAN),
                None => self.stat(&format!("{}/{name}", path.trim_end_matches('/')))?.kind,
            };
            names.push((name.to_owned(), kind));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        self.may_change();
        let at = self.place(path)?;
        unmasked(|| mkdirat(at.directory(), at.name, Mode::from_bits_truncate(0o755)))
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        self.may_change();
        match self.place(path)? {
            Place { name: ROOT_NAME, .. } => Err(Errno::EBUSY),
            place => {
                self.settled(unlinkat(place.directory(), place.name, UnlinkatFlags::RemoveDir))
            }
        }
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.may_change();
        let (from, to) = (self.place(from)?, self.place(to)?);
        linkat(from.directory(), from.name, to.directory(), to.name, AtFlags::empty())
    }

    fn unlink(&self, path: &str) -> Result<()> {
        self.may_change();
        let at = self.place(path)?;
        self.settled(unlinkat(at.directory(), at.name, UnlinkatFlags::NoRemoveDir))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.may_change();
        match (self.place(from)?, self.place(to)?) {
            (Place { name: ROOT_NAME, .. }, _) | (_, Place { name: ROOT_NAME, .. }) => {
                Err(Errno::EBUSY)
            }
            (from, to) => {
                self.settled(renameat(from.directory(), from.name, to.directory(), to.name))
            }
        }
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        let directory = self.directory(path)?;
        fsync(&directory)?;
        close(directory)
    }

    /// Calls syncfs(2), because the machine's other file systems belong to other stacks.
    fn sync(&self) -> Result<()> {
        syncfs(&*self.root()?)
    }

    fn can(&self, ability: FsAbility) -> bool {
        match ability {
            FsAbility::Syncfs
            | FsAbility::OpenSynced
            | FsAbility::Mapped
            | FsAbility::OpenDirectory => true,
            FsAbility::Synchronous => {
                let flags =
                    self.root().and_then(|root| fstatvfs(&*root)).map(|found| found.flags());
                flags.is_ok_and(|flags| flags.contains(FsFlags::ST_SYNCHRONOUS))
            }
        }
    }

    fn sync_machine(&self) -> Result<()> {
        sync();
        Ok(())
    }

    fn syncfs(&self) -> Result<()> {
        self.sync()
    }

    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        let synced = match synced {
            Synced::Data => OFlag::O_DSYNC,
            Synced::All => OFlag::O_SYNC,
        };
        self.open_with(path, flags, synced)
    }

    fn open_directory(&self, path: &str) -> Result<Fd> {
        Ok(self.hold(self.directory(path)?))
    }

    fn open_flagged(&self, path: &str, flags: OpenFlags, flag: WriteFlag) -> Result<Fd> {
        let flag = match flag {
            WriteFlag::Append => OFlag::O_APPEND,
            WriteFlag::Direct => OFlag::O_DIRECT,
        };
        self.open_with(path, flags, flag)
    }

    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.may_change();
        let size = self.fstat(fd)?.size;
        let end = offset
            .checked_add(data.len() as u64)
            .filter(|end| *end <= size)
            .ok_or(Errno::EINVAL)?;
        // A mapping begins at a page.
        let before = (offset % PAGE) as usize;
        let start = off_t::try_from(offset - offset % PAGE).map_err(|_| Errno::EINVAL)?;
        let Some(len) = NonZeroUsize::new((end - offset) as usize + before) else { return Ok(()) };
        let file = self.file(fd)?;
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no existing memory.
        let mapped = unsafe { mmap(None, len, rights, MapFlags::MAP_SHARED, &*file, start)? };
        // SAFETY: the mapping has `len` bytes, all within the file, which is not truncated
        // meanwhile; it is unmapped once, after its last use.
        unsafe {
            let at = mapped.cast::<u8>().add(before);
            at.copy_from_nonoverlapping(std::ptr::NonNull::from(data).cast(), data.len());
            let synced = msync(mapped, len.get(), MsFlags::MS_SYNC);
            munmap(mapped, len.get()).and(synced)
        }
    }

    fn symlink(&self, target: &str, path: &str) -> Result<()> {
        self.may_change();
        let at = self.place(path)?;
        symlinkat(target, at.directory(), at.name)
    }

    fn readlink(&self, path: &str) -> Result<String> {
        let at = self.place(path)?;
        readlinkat(at.directory(), at.name)?.into_string().map_err(|_| Errno::EILSEQ)
    }

    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        self.may_change();
        fchmod(&self.open_either(path)?, Mode::from_bits_truncate(mode))
    }

    fn mode(&self, path: &str) -> Result<u32> {
        let at = self.place(path)?;
        Ok(fstatat(at.directory(), at.name, AtFlags::AT_SYMLINK_NOFOLLOW)?.st_mode & 0o7777)
    }

    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        self.may_change();
        attributes::set(&self.open_either(path)?, name, value)
    }

    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        self.may_change();
        attributes::remove(&self.open_either(path)?, name)
    }

    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        attributes::all(&self.open_either(path)?)
    }

    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        self.may_change();
        let flags = match how {
            Renaming::NoReplace => RenameFlags::RENAME_NOREPLACE,
            Renaming::Exchange => RenameFlags::RENAME_EXCHANGE,
        };
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.settled(renameat2(from.directory(), from.name, to.directory(), to.name, flags))
    }

    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        self.may_change();
        let at = self.place(directory)?;
        let how = OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let open = || openat(at.directory(), at.name, how, Mode::from_bits_truncate(0o644));
        Ok(self.hold(unmasked(open)?))
    }

    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        self.may_change();
        let (file, to) = (self.file(fd)?, self.place(to)?);
        linkat(&*file, "", to.directory(), to.name, AtFlags::AT_EMPTY_PATH)
    }

    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        self.may_change();
        let flags = match how {
            Fallocate::Allocate => FallocateFlags::empty(),
            Fallocate::KeepSize => FallocateFlags::FALLOC_FL_KEEP_SIZE,
            Fallocate::PunchHole => {
                FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE
            }
            Fallocate::ZeroRange => FallocateFlags::FALLOC_FL_ZERO_RANGE,
            Fallocate::CollapseRange => FallocateFlags::FALLOC_FL_COLLAPSE_RANGE,
            Fallocate::InsertRange => FallocateFlags::FALLOC_FL_INSERT_RANGE,
        };
        let signed = |number| off_t::try_from(number).map_err(|_| Errno::EFBIG);
        fallocate(&*self.file(fd)?, flags, signed(offset)?, signed(len)?)
    }

    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        self.may_change();
        attributes::clone(&*self.file(from)?, &*self.file(to)?)
    }

    fn copy_range(&self, from: Fd, to: Fd, offset: u64, len: u64) -> Result<()> {
        self.may_change();
        let (from, to) = (self.file(from)?, self.file(to)?);
        let place = off_t::try_from(offset).map_err(|_| Errno::EINVAL)?;
        let (mut read, mut written, mut left) = (place, place, len as usize);
        while left > 0 {
            let (source, target) = (from.as_raw_fd(), to.as_raw_fd());
            // SAFETY: both descriptors are open, and the offsets are places of this function.
            let copied =
                unsafe { copy_file_range(source, &mut read, target, &mut written, left, 0) };
            match Errno::result(copied)? {
                0 => return Err(Errno::EINVAL),
                some => left -= some as usize,
            }
        }
        Ok(())
    }
}

/// Bytes at an address that direct writes accept.
struct Aligned {
    buffer: Vec<u8>,
    range: Range<usize>,
}

impl Aligned {
    fn copy_of(data: &[u8]) -> Aligned {
        let mut buffer = vec![0; data.len() + PAGE as usize];
        let start = buffer.as_ptr().align_offset(PAGE as usize);
        let range = start..start + data.len();
        buffer[range.clone()].copy_from_slice(data);
        Aligned { buffer, range }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}
