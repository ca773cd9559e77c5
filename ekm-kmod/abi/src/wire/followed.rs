// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The calls of a followed file system: how to follow it, and the log records of its calls. Part of
//! [`wire`](super).

/// A mounted file system whose calls are followed. Each call of any process that has changed it
/// becomes a [`KIND_CALL`](super::KIND_CALL).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// In: an open file of the file system, for [`FOLLOW_BEGIN`].
    pub file: u32,
    /// In: the number of the file system, below [`FOLLOWED_MAX`].
    pub system: u32,
    /// In: one of `FOLLOW_*`.
    pub what: u32,
    /// Out: the number of calls that were missed, because too many were in progress at once. The
    /// log is unusable unless this is 0.
    pub missed: u32,
}

/// Stops following the file system. Use it before unmounting.
pub const FOLLOW_END: u32 = 0;
/// Starts following the file system.
pub const FOLLOW_BEGIN: u32 = 1;
/// Changes nothing. Use it to read `missed`.
pub const FOLLOW_ASK: u32 = 2;
/// The largest number of file systems that can be followed at once.
pub const FOLLOWED_MAX: usize = 8;

/// The data of a [`KIND_CALL`](super::KIND_CALL). `path` bytes, `other` bytes, and the bytes that
/// were written or set follow.
///
/// Paths begin with a slash, at the file system's root. They are those at the moment when the call
/// took effect.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallDetail {
    /// The length in bytes of the path of the changed file. For [`CALL_RENAME`] the old path, for
    /// [`CALL_TMPFILE`] that of the directory.
    pub path: u32,
    /// The length in bytes of the new path ([`CALL_RENAME`], [`CALL_LINK`]), of the target of a
    /// symbolic link, or of the name of an attribute.
    pub other: u32,
    /// The flags of the call (renameat2, fallocate). For [`CALL_CHANGE`] the changed fields:
    /// `CHANGED_*`.
    pub flags: u32,
    /// The inode's mode, after the call.
    pub mode: u32,
    /// The owner of the inode, after the call.
    pub uid: u32,
    /// The group of the inode, after the call.
    pub gid: u32,
    /// [`CALL_INCOMPLETE`], or 0.
    pub missing: u32,
    /// The nanoseconds of `atime`.
    pub atime_nsec: u32,
    /// The seconds of the time of the last access.
    pub atime: i64,
    /// The seconds of the time of the last change of contents.
    pub mtime: i64,
    /// The nanoseconds of `mtime`.
    pub mtime_nsec: u32,
    /// The device of a special file, as the kernel stores it: 12 bits and 20 bits.
    pub device: u32,
    /// The first byte ([`CALL_WRITE`], [`CALL_ALLOCATE`]); the new size ([`CALL_CHANGE`]).
    pub position: u64,
    /// The number of bytes. For [`CALL_RENAME`] the inode that had the new name before, or 0.
    pub length: u64,
}

/// open(2) or mknod(2) has made a file.
pub const CALL_CREATE: u64 = 1;
/// open(2) with `O_TMPFILE` has made a file without a name.
pub const CALL_TMPFILE: u64 = 2;
/// mkdir(2) has made a directory.
pub const CALL_MKDIR: u64 = 3;
/// mknod(2) of a special file.
pub const CALL_MKNOD: u64 = 4;
/// symlink(2) has made a symbolic link.
pub const CALL_SYMLINK: u64 = 5;
/// link(2) has added a name.
pub const CALL_LINK: u64 = 6;
/// unlink(2) has removed a name.
pub const CALL_UNLINK: u64 = 7;
/// rmdir(2) has removed a directory.
pub const CALL_RMDIR: u64 = 8;
/// rename(2) has renamed a node.
pub const CALL_RENAME: u64 = 9;
/// write(2) or a similar call has written the data.
pub const CALL_WRITE: u64 = 10;
/// fallocate(2) has changed a range.
pub const CALL_ALLOCATE: u64 = 11;
/// truncate(2), chmod(2), chown(2), utimes(2), or open(2) with `O_TRUNC` has changed attributes.
pub const CALL_CHANGE: u64 = 12;
/// setxattr(2) has set an extended attribute.
pub const CALL_SET_ATTRIBUTE: u64 = 13;
/// removexattr(2) has removed an extended attribute.
pub const CALL_REMOVE_ATTRIBUTE: u64 = 14;
/// mmap(2) has shared a file that is open for writing. Stores through the mapping are not logged.
pub const CALL_MAP: u64 = 15;
/// ioctl(2) or copy_file_range(2) has made files share blocks.
pub const CALL_SHARE: u64 = 16;
/// ioctl(2) has changed the flags of an inode.
pub const CALL_FLAGS: u64 = 17;
/// A POSIX ACL was set or removed.
pub const CALL_ACL: u64 = 18;

/// The size was changed.
pub const CHANGED_SIZE: u32 = 1;
/// The mode was changed.
pub const CHANGED_MODE: u32 = 2;
/// The owner or the group was changed.
pub const CHANGED_OWNER: u32 = 4;
/// The time of the last access or of the last change of contents was changed.
pub const CHANGED_TIMES: u32 = 8;

/// Some of the written bytes could not be read any more, or a path is too long.
pub const CALL_INCOMPLETE: u32 = 1;
