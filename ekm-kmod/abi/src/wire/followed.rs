// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The calls of a followed file system: asking for them, and what the log says of each. Part of
//! [`wire`](super).

/// A mounted file system whose calls are followed: each that has changed it becomes a
/// [`KIND_CALL`](super::KIND_CALL), from any process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// In: an open file of it, for [`FOLLOW_BEGIN`].
    pub file: u32,
    /// In: our number of it, below [`FOLLOWED_MAX`].
    pub system: u32,
    /// In: one of `FOLLOW_*`.
    pub what: u32,
    /// Out: how many calls were not seen, because too many went on at once. The log is worth
    /// nothing unless this is 0.
    pub missed: u32,
}

/// Its calls are followed no more: to be said before it is unmounted.
pub const FOLLOW_END: u32 = 0;
/// From here on its calls are followed.
pub const FOLLOW_BEGIN: u32 = 1;
/// Nothing changes; for `missed`.
pub const FOLLOW_ASK: u32 = 2;
/// So many file systems can be followed at once.
pub const FOLLOWED_MAX: usize = 8;

/// What a [`KIND_CALL`](super::KIND_CALL) has as data: this, then `path` bytes, `other` bytes, and
/// the bytes that were written or set.
///
/// Paths begin with a slash, at the file system's root. They are what names led to when the call
/// took effect.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallDetail {
    /// Bytes of the path of what was changed; of [`CALL_RENAME`] the old one, of [`CALL_TMPFILE`]
    /// the directory's.
    pub path: u32,
    /// Bytes of the new path ([`CALL_RENAME`], [`CALL_LINK`]), of what a symbolic link holds, or of
    /// an attribute's name.
    pub other: u32,
    /// The call's own flags (renameat2, fallocate); of [`CALL_CHANGE`] which of the fields below
    /// count: `CHANGED_*`.
    pub flags: u32,
    /// The inode's mode, after the call.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// `CALL_INCOMPLETE`, or 0.
    pub missing: u32,
    /// Nanoseconds of `atime`.
    pub atime_nsec: u32,
    /// Seconds of the time of the last access.
    pub atime: i64,
    /// Seconds of the time of the last change of contents.
    pub mtime: i64,
    /// Nanoseconds of `mtime`.
    pub mtime_nsec: u32,
    /// The device of a special file, as the kernel keeps it: 12 bits and 20.
    pub device: u32,
    /// The first byte ([`CALL_WRITE`], [`CALL_ALLOCATE`]); the new size ([`CALL_CHANGE`]).
    pub position: u64,
    /// How many bytes; of [`CALL_RENAME`] the inode that had the new name before, if there was one.
    pub length: u64,
}

/// open(2) or mknod(2) has made a file.
pub const CALL_CREATE: u64 = 1;
/// open(2) with `O_TMPFILE` has made a file without a name.
pub const CALL_TMPFILE: u64 = 2;
/// mkdir(2).
pub const CALL_MKDIR: u64 = 3;
/// mknod(2) of a special file.
pub const CALL_MKNOD: u64 = 4;
/// symlink(2).
pub const CALL_SYMLINK: u64 = 5;
/// link(2).
pub const CALL_LINK: u64 = 6;
/// unlink(2).
pub const CALL_UNLINK: u64 = 7;
/// rmdir(2).
pub const CALL_RMDIR: u64 = 8;
/// rename(2).
pub const CALL_RENAME: u64 = 9;
/// write(2) and all that write as it does: what it has written, at once.
pub const CALL_WRITE: u64 = 10;
/// fallocate(2).
pub const CALL_ALLOCATE: u64 = 11;
/// truncate(2), chmod(2), chown(2), utimes(2), and open(2) with `O_TRUNC`: what has changed.
pub const CALL_CHANGE: u64 = 12;
/// setxattr(2).
pub const CALL_SET_ATTRIBUTE: u64 = 13;
/// removexattr(2).
pub const CALL_REMOVE_ATTRIBUTE: u64 = 14;
/// mmap(2), shared, of a file that is open for writing: what is stored through it, no call shows.
pub const CALL_MAP: u64 = 15;
/// ioctl(2) or copy_file_range(2) has made files share blocks.
pub const CALL_SHARE: u64 = 16;
/// ioctl(2) has changed the flags of an inode.
pub const CALL_FLAGS: u64 = 17;
/// A POSIX ACL was set or removed.
pub const CALL_ACL: u64 = 18;

/// The size was changed.
pub const CHANGED_SIZE: u32 = 1;
/// The mode was.
pub const CHANGED_MODE: u32 = 2;
/// The owner or the group was.
pub const CHANGED_OWNER: u32 = 4;
/// The time of the last access, or of the last change of contents, was.
pub const CHANGED_TIMES: u32 = 8;

/// Some of what was written could not be read any more, or a path is too long.
pub const CALL_INCOMPLETE: u32 = 1;
