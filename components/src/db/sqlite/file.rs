//! An open file: the methods of `sqlite3_file` in safe Rust, each named after the one of
//! `os_unix.c` that it follows.
//!
//! Invariants: a file is used only within turns of sessions of the stack on which it was opened
//! (`check`). A file with a name is a file of the stack. A file without a name is temporary. Unix
//! unlinks such a file as soon as it is open, so no crash can show it, and here it is memory.

use std::ffi::c_int;

use explode_ramdisk::files::{Fd, OpenFlags};
use nix::errno::Errno;
use rusqlite::ffi;

use super::locks::Level;
use super::session::Session;
use super::shared_memory::{Holds, SLOTS};

/// `SQLITE_DEFAULT_SECTOR_SIZE`, the result of `setDeviceCharacteristics` on all systems except
/// QNX.
pub(super) const SECTOR_BYTES: c_int = 4096;

/// A result with SQLite's code for the error.
pub(super) type Result<T> = std::result::Result<T, c_int>;

/// An open file of SQLite.
pub(super) struct File {
    stack: u64,
    body: Body,
    read_only: bool,
    /// True until the first sync of the file, which also syncs the directory (`UNIXFILE_DIRSYNC`).
    sync_directory: bool,
    /// `UNIXFILE_PSOW`.
    pub powersafe_overwrite: bool,
    /// `UNIXFILE_PERSIST_WAL`: the WAL stays when the last connection closes.
    pub persist_wal: bool,
    /// The level of this connection's lock.
    pub lock: Level,
    memory: Option<Holds>,
}

enum Body {
    Named { fd: Fd, path: Box<str>, inode: Option<u32> },
    Temporary(Vec<u8>),
}

impl File {
    /// Opens a file (`unixOpen`). Returns it with its effective flags. With the path `None` it
    /// opens a temporary file.
    pub fn open(
        session: &Session,
        path: Option<&str>,
        flags: c_int,
        powersafe_overwrite: bool,
    ) -> Result<(File, c_int)> {
        session.alive()?;
        let mut file = File {
            stack: session.stack.id,
            body: Body::Temporary(Vec::new()),
            read_only: flags & ffi::SQLITE_OPEN_READONLY != 0,
            sync_directory: false,
            powersafe_overwrite,
            persist_wal: false,
            lock: Level::None,
            memory: None,
        };
        let Some(path) = path else { return Ok((file, flags)) };
        let journal_or_wal = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL;
        if flags & journal_or_wal != 0 {
            check_database_of(session, path)?;
        }
        let creates = flags & ffi::SQLITE_OPEN_CREATE != 0;
        // os_unix.c, unixOpen: "If creating a super- or main-file journal, this function will open
        // a file-descriptor on the directory too. The first time unixSync() is called the directory
        // file descriptor will be fsync()ed and close()d."
        //     int isNewJrnl = (isCreate && (eType==SQLITE_OPEN_SUPER_JOURNAL ||
        //         eType==SQLITE_OPEN_MAIN_JOURNAL
        //         || eType==SQLITE_OPEN_WAL));
        //     if( isNewJrnl ) ctrlFlags |= UNIXFILE_DIRSYNC;
        // So the flag is set for a journal that may be created, not only for one that was.
        file.sync_directory =
            creates && flags & (journal_or_wal | ffi::SQLITE_OPEN_SUPER_JOURNAL) != 0;

        let (fd, out_flags) = file.open_named(session, path, flags)?;
        let files = &*session.stack.files;
        let mut inode = None;
        if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            match files.fstat(fd) {
                Ok(stat) => inode = Some(stat.inode),
                Err(errno) => {
                    let _ = files.close(fd);
                    return Err(session.stack.failed(errno, ffi::SQLITE_IOERR));
                }
            }
        }
        if flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 {
            // Unix unlinks at once and ignores errors.
            let _ = files.unlink(path);
        }
        if let Some(inode) = inode {
            session.stack.open_node(inode);
        }
        file.body = Body::Named { fd, path: path.into(), inode };
        Ok((file, out_flags))
    }

    /// Opens the file of this name, read-only if it cannot be written. Returns its descriptor with
    /// the effective flags.
    fn open_named(&mut self, session: &Session, path: &str, flags: c_int) -> Result<(Fd, c_int)> {
        let files = &*session.stack.files;
        let wanted = OpenFlags {
            create: flags & ffi::SQLITE_OPEN_CREATE != 0,
            exclusive: flags & ffi::SQLITE_OPEN_EXCLUSIVE != 0,
            truncate: false,
        };
        match files.open(path, wanted) {
            Ok(fd) => Ok((fd, flags)),
            Err(Errno::EACCES) if self.sync_directory && files.stat(path).is_err() => {
                Err(session.stack.failed(Errno::EACCES, ffi::SQLITE_READONLY_DIRECTORY))
            }
            // "Failed to open the file for read/write access. Try read-only."
            Err(errno) if errno != Errno::EISDIR && flags & ffi::SQLITE_OPEN_READWRITE != 0 => {
                self.read_only = true;
                let flags = flags & !(ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE);
                let second = files.open(path, OpenFlags::EXISTING);
                second
                    .map(|fd| (fd, flags | ffi::SQLITE_OPEN_READONLY))
                    .map_err(|_| session.stack.failed(errno, ffi::SQLITE_CANTOPEN))
            }
            Err(errno) => Err(session.stack.failed(errno, ffi::SQLITE_CANTOPEN)),
        }
    }

    /// Closes the file (`unixClose`) and releases its locks. The descriptor is closed also after a
    /// crash, as in the exit of a process.
    pub fn close(mut self, session: &Session) -> Result<()> {
        self.shm_unmap(session)?;
        self.unlock(session, Level::None)?;
        if let Body::Named { fd, inode, .. } = self.body {
            if let Some(inode) = inode {
                session.stack.close_node(inode);
            }
            if let Err(errno) = session.stack.files.close(fd) {
                // Unix logs this error and continues ("robust_close").
                session.stack.failed(errno, ffi::SQLITE_IOERR_CLOSE);
            }
        }
        Ok(())
    }

    /// Returns true if the file belongs to this session's stack.
    pub fn is_of(&self, session: &Session) -> bool {
        self.stack == session.stack.id
    }

    /// Reads, and fills the rest of the buffer beyond the end with zeroes (`unixRead`).
    pub fn read(&self, session: &Session, buf: &mut [u8], offset: u64) -> Result<()> {
        session.alive()?;
        let read = match &self.body {
            Body::Named { fd, .. } => {
                session.stack.files.pread(*fd, offset, buf).map_err(|errno| {
                    let damaged = matches!(errno, Errno::ERANGE | Errno::EIO | Errno::ENXIO);
                    let code =
                        if damaged { ffi::SQLITE_IOERR_CORRUPTFS } else { ffi::SQLITE_IOERR_READ };
                    session.stack.failed(errno, code)
                })?
            }
            Body::Temporary(bytes) => {
                let from = bytes.get(offset as usize..).unwrap_or_default();
                let read = from.len().min(buf.len());
                buf[..read].copy_from_slice(&from[..read]);
                read
            }
        };
        if read < buf.len() {
            buf[read..].fill(0);
            return Err(ffi::SQLITE_IOERR_SHORT_READ);
        }
        Ok(())
    }

    /// Writes (`unixWrite`).
    pub fn write(&mut self, session: &Session, data: &[u8], offset: u64) -> Result<()> {
        session.alive()?;
        match &mut self.body {
            Body::Named { .. } if self.read_only => {
                Err(session.stack.failed(Errno::EBADF, ffi::SQLITE_IOERR_WRITE))
            }
            Body::Named { fd, .. } => {
                session.stack.files.pwrite(*fd, offset, data).map_err(|errno| {
                    let full = errno == Errno::ENOSPC;
                    session.stack.failed(
                        errno,
                        if full { ffi::SQLITE_FULL } else { ffi::SQLITE_IOERR_WRITE },
                    )
                })
            }
            Body::Temporary(bytes) => {
                let offset = offset as usize;
                if bytes.len() < offset + data.len() {
                    bytes.resize(offset + data.len(), 0);
                }
                bytes[offset..offset + data.len()].copy_from_slice(data);
                Ok(())
            }
        }
    }

    /// Sets the size (`unixTruncate`).
    pub fn truncate(&mut self, session: &Session, size: u64) -> Result<()> {
        session.alive()?;
        match &mut self.body {
            Body::Named { .. } if self.read_only => {
                Err(session.stack.failed(Errno::EINVAL, ffi::SQLITE_IOERR_TRUNCATE))
            }
            Body::Named { fd, .. } => {
                let cut = session.stack.files.ftruncate(*fd, size);
                cut.map_err(|errno| session.stack.failed(errno, ffi::SQLITE_IOERR_TRUNCATE))
            }
            Body::Temporary(bytes) => {
                bytes.resize(size as usize, 0);
                Ok(())
            }
        }
    }

    /// Makes the file durable and, on the first sync of a journal, its name (`unixSync`).
    ///
    /// `SQLITE_SYNC_DATAONLY` changes nothing: the bundled library is compiled without
    /// `HAVE_FDATASYNC`, so `full_fsync` calls `fsync` whatever the flags say.
    pub fn sync(&mut self, session: &Session) -> Result<()> {
        session.alive()?;
        let Body::Named { fd, path, .. } = &self.body else { return Ok(()) };
        let synced = session.stack.files.fsync(*fd);
        synced.map_err(|errno| session.stack.failed(errno, ffi::SQLITE_IOERR_FSYNC))?;
        if self.sync_directory {
            // os_unix.c, unixSync: "Also fsync the directory containing the file if the DIRSYNC
            // flag is set. This is a one-time occurrence. Many systems (examples: AIX) are unable
            // to fsync a directory, so ignore errors on the fsync."
            let _ = session.stack.files.sync_dir(directory_of(path));
            self.sync_directory = false;
        }
        Ok(())
    }

    /// Returns the size. A file of one byte counts as empty (`unixFileSize`).
    pub fn size(&self, session: &Session) -> Result<u64> {
        session.alive()?;
        let size = match &self.body {
            Body::Named { fd, .. } => {
                let stat = session.stack.files.fstat(*fd);
                stat.map_err(|errno| session.stack.failed(errno, ffi::SQLITE_IOERR_FSTAT))?.size
            }
            Body::Temporary(bytes) => bytes.len() as u64,
        };
        Ok(if size == 1 { 0 } else { size })
    }

    /// Returns true if the database was renamed or unlinked since it was opened (`fileHasMoved`).
    pub fn has_moved(&self, session: &Session) -> bool {
        match &self.body {
            Body::Named { path, inode: Some(inode), .. } => {
                !session.stack.files.stat(path).is_ok_and(|stat| stat.inode == *inode)
            }
            _ => false,
        }
    }

    /// Raises the lock (`unixLock`). Only a database has one (`nolockLock`).
    pub fn lock(&mut self, session: &Session, wanted: Level) -> Result<()> {
        session.alive()?;
        let Some(inode) = self.inode() else { return Ok(()) };
        let raised =
            session.stack.with_node(inode, |node| node.locks.raise(&mut self.lock, wanted))?;
        raised.map_err(|_| ffi::SQLITE_BUSY)
    }

    /// Lowers the lock (`unixUnlock`).
    pub fn unlock(&mut self, session: &Session, wanted: Level) -> Result<()> {
        let Some(inode) = self.inode() else { return Ok(()) };
        session.stack.with_node(inode, |node| node.locks.lower(&mut self.lock, wanted))
    }

    /// Returns true if any connection holds `Reserved` or more (`unixCheckReservedLock`).
    pub fn is_reserved(&self, session: &Session) -> Result<bool> {
        let Some(inode) = self.inode() else { return Ok(false) };
        session.stack.with_node(inode, |node| node.locks.is_reserved())
    }

    /// Returns the address of a region of the shared memory, which is made if `extend` is set
    /// (`unixShmMap`).
    pub fn shm_map(
        &mut self,
        session: &Session,
        index: usize,
        bytes: usize,
        extend: bool,
    ) -> Result<Option<*const u8>> {
        session.alive()?;
        let inode = self.inode().ok_or(ffi::SQLITE_IOERR_SHMOPEN)?;
        session.stack.with_node(inode, |node| {
            let memory = node.memory.get_or_insert_default();
            self.memory.get_or_insert_with(|| memory.join());
            memory.region(index, bytes, extend)
        })
    }

    /// Takes or releases locks of the shared memory (`unixShmLock`).
    pub fn shm_lock(
        &mut self,
        session: &Session,
        first: usize,
        count: usize,
        flags: c_int,
    ) -> Result<()> {
        let inode = self.inode().ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        let holds = self.memory.as_mut().ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        let slots = first..first.saturating_add(count);
        if slots.is_empty() || slots.end > SLOTS {
            return Err(ffi::SQLITE_IOERR_SHMLOCK);
        }
        let done = session.stack.with_node(inode, |node| {
            let memory = node.memory.as_mut().ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
            if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
                memory.unlock(holds, slots);
                return Ok(());
            }
            let taken = if flags & ffi::SQLITE_SHM_SHARED != 0 {
                memory.lock_shared(holds, first)
            } else {
                memory.lock_exclusive(holds, slots)
            };
            taken.map_err(|_| ffi::SQLITE_BUSY)
        });
        done?
    }

    /// Stops using the shared memory, which its last user frees (`unixShmUnmap`).
    pub fn shm_unmap(&mut self, session: &Session) -> Result<()> {
        let (Some(inode), Some(holds)) = (self.inode(), self.memory.take()) else { return Ok(()) };
        session.stack.with_node(inode, |node| {
            if node.memory.as_mut().is_some_and(|memory| memory.leave(holds)) {
                node.memory = None;
            }
        })
    }

    /// Returns the key of the locks, an inode number. `None` if the file is not a database.
    fn inode(&self) -> Option<u32> {
        match self.body {
            Body::Named { inode, .. } => inode,
            Body::Temporary(_) => None,
        }
    }
}

/// Returns the directory of a path (`openDirectory`).
pub(super) fn directory_of(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => &path[..end],
    }
}

/// Checks that the database of a journal or WAL exists (`findCreateFileMode`, which takes its
/// permissions). Unix searches the name backwards for a `-` and stops at a `.`.
fn check_database_of(session: &Session, path: &str) -> Result<()> {
    let end = path.rfind(['-', '.']).unwrap_or(0);
    if end == 0 || !path[end..].starts_with('-') {
        return Ok(());
    }
    let found = session.stack.files.stat(&path[..end]);
    found.map(drop).map_err(|errno| session.stack.failed(errno, ffi::SQLITE_IOERR_FSTAT))
}
