//! The promises of POSIX and the manual pages of the calls, which every file system makes.

use explode_runtime::verdict::Promise;

use super::lines::{Line, kept, promises};

const FSYNC: &str = "man-pages, fsync(2), DESCRIPTION";
const DIRECTORY: &str = "Calling fsync() does not necessarily ensure that the entry in the \
                         directory containing the file has also reached disk. \
                         For that an explicit fsync() on a file descriptor for the directory is \
                         also needed";
const RETRIEVED: &str = "transfers (\"flushes\") all modified in-core data of (i.e., modified \
                         buffer cache pages for) the file referred to by \
                         the file descriptor fd to the disk device (or other permanent storage \
                         device) so that all changed \
                         information can be retrieved even if the system crashes or is rebooted";

const SYNC: &str = "man-pages, sync(2), NOTES";
const SYNC_WAITS: &str = "Linux waits for I/O completions, and thus sync() or syncfs() provide \
                          the same guarantees as fsync() called on every \
                          file in the system or filesystem respectively";

/// The promises about fsync of a file, and about the calls that are defined by it.
pub(super) const FSYNCED: &[&str] = &[
    "synced-by-fsync",
    "partly-synced-by-fsync",
    "synced-by-fdatasync",
    "partly-synced-by-fdatasync",
    "synced-by-o-sync",
    "partly-synced-by-o-sync",
    "synced-by-o-dsync",
    "partly-synced-by-o-dsync",
    "synced-by-msync",
    "partly-synced-by-msync",
];

/// The promises after sync, syncfs, fsync, fdatasync, msync, O_SYNC and O_DSYNC. Of a file that was
/// changed since, they cover the parts that the change did not touch.
pub(super) const SYNCED: &[Line] = &[
    kept(&["synced-by-fsync", "partly-synced-by-fsync", "flushed-contents"], RETRIEVED, FSYNC),
    kept(
        &["synced-by-fdatasync", "partly-synced-by-fdatasync"],
        "does not flush modified metadata unless that metadata is needed in order to allow a \
         subsequent data retrieval to be \
         correctly handled",
        FSYNC,
    ),
    kept(
        &["synced-by-sync", "partly-synced-by-sync", "synced-by-syncfs", "partly-synced-by-syncfs"],
        SYNC_WAITS,
        SYNC,
    ),
    kept(
        &["synced-directory", "partly-synced-directory", "flushed-name", "deleted-name"],
        DIRECTORY,
        FSYNC,
    ),
    kept(
        &["synced-by-o-sync", "partly-synced-by-o-sync"],
        "By the time write(2) (or similar) returns, the output data and associated file metadata \
         have been transferred to the \
         underlying hardware (i.e., as though each write(2) was followed by a call to fsync(2))",
        "man-pages, open(2), O_SYNC",
    ),
    kept(
        &["synced-by-o-dsync", "partly-synced-by-o-dsync"],
        "By the time write(2) (and similar) return, the output data has been transferred to the \
         underlying hardware, along with any \
         file metadata that would be required to retrieve that data (i.e., as though each \
         write(2) was followed by a call to \
         fdatasync(2))",
        "man-pages, open(2), O_DSYNC",
    ),
    kept(
        &["flushed-attributes"],
        "As well as flushing the file data, fsync() also flushes the metadata information \
         associated with the file (see inode(7))",
        FSYNC,
    ),
    kept(
        &["synced-by-msync", "partly-synced-by-msync"],
        "write all modified data to permanent storage locations, if any",
        "POSIX.1-2017, msync(), DESCRIPTION",
    ),
];

/// A call that has returned has had its effect (`fs-ways`, `fs-failures`). After a sync the effect
/// is on the disk.
pub(super) const CALLS: &[Line] = &[
    kept(
        &["call-has-its-effect", "write-has-its-effect"],
        "POSIX requires that a read(2) that can be proved to occur after a write() has returned \
         will return the new data",
        "man-pages, write(2), DESCRIPTION; so it is with what other calls change",
    ),
    kept(
        &["mkdir-has-its-effect"],
        "create a directory named pathname",
        "man-pages, mkdir(2), DESCRIPTION",
    ),
    kept(
        &["create-has-its-effect"],
        "If the specified file does not exist, it may optionally (if O_CREAT is specified in \
         flags) be created by open()",
        "man-pages, open(2), DESCRIPTION",
    ),
    kept(
        &["rename-has-its-effect"],
        "rename() renames a file, moving it between directories if required",
        "man-pages, rename(2), DESCRIPTION",
    ),
    kept(
        &["link-has-its-effect"],
        "link() creates a new link (also known as a hard link) to an existing file",
        "man-pages, link(2), DESCRIPTION",
    ),
    kept(
        &["unlink-has-its-effect"],
        "unlink() deletes a name from the filesystem",
        "man-pages, unlink(2), DESCRIPTION",
    ),
    kept(
        &["rmdir-has-its-effect"],
        "rmdir() deletes a directory, which must be empty",
        "man-pages, rmdir(2), DESCRIPTION",
    ),
    // A failed truncate may have truncated the file to that size or not, and to no other size.
    kept(
        &["truncate-has-its-effect", "failed-truncate-has-no-effect"],
        "cause the regular file named by path or referenced by fd to be truncated to a size of \
         precisely length bytes",
        "man-pages, truncate(2), DESCRIPTION",
    ),
    // A failed write may have written some of the bytes.
    kept(
        &["failed-write-has-no-effect"],
        "write() writes up to count bytes from the buffer starting at buf to the file referred to \
         by the file descriptor fd",
        "man-pages, write(2), DESCRIPTION: those bytes, and no others",
    ),
    // Whether it fails or not, the contents that can be read stay the same.
    kept(&["fsync-has-its-effect", "failed-fsync-has-no-effect"], RETRIEVED, FSYNC),
    kept(
        &[
            "mkdir-has-its-effect-on-disk",
            "create-has-its-effect-on-disk",
            "write-has-its-effect-on-disk",
            "fsync-has-its-effect-on-disk",
            "rename-has-its-effect-on-disk",
            "truncate-has-its-effect-on-disk",
            "link-has-its-effect-on-disk",
            "unlink-has-its-effect-on-disk",
            "rmdir-has-its-effect-on-disk",
            "failed-mkdir-has-no-effect-on-disk",
            "failed-create-has-no-effect-on-disk",
            "failed-open-has-no-effect-on-disk",
            "failed-write-has-no-effect-on-disk",
            "failed-fsync-has-no-effect-on-disk",
            "failed-rename-has-no-effect-on-disk",
            "failed-truncate-has-no-effect-on-disk",
            "failed-link-has-no-effect-on-disk",
            "failed-unlink-has-no-effect-on-disk",
            "failed-rmdir-has-no-effect-on-disk",
        ],
        SYNC_WAITS,
        SYNC,
    ),
];

/// The promises about a call that has failed (`fs-failures`).
pub(super) const FAILED_CALLS: &[Line] = &[
    kept(
        &["failed-mkdir-has-no-effect"],
        "If -1 is returned, no directory shall be created",
        "POSIX.1-2017, mkdir(), RETURN VALUE",
    ),
    kept(
        &["failed-create-has-no-effect", "failed-open-has-no-effect"],
        "If -1 is returned, no files shall be created or modified",
        "POSIX.1-2017, open(), RETURN VALUE",
    ),
    kept(
        &["failed-rename-has-no-effect"],
        "neither the file named by old nor the file named by new shall be changed or created",
        "POSIX.1-2017, rename(), RETURN VALUE",
    ),
    kept(
        &["failed-link-has-no-effect"],
        "If link() fails, no link shall be created and the link count of the file shall remain \
         unchanged",
        "POSIX.1-2017, link(), DESCRIPTION",
    ),
    kept(
        &["failed-unlink-has-no-effect"],
        "If -1 is returned, the named file shall not be changed",
        "POSIX.1-2017, unlink(), RETURN VALUE",
    ),
    kept(
        &["failed-rmdir-has-no-effect"],
        "If -1 is returned, the named directory shall not be changed",
        "POSIX.1-2017, rmdir(), RETURN VALUE",
    ),
];

/// Joins the promises of every file system, those of a synchronous mount, and the file system's own
/// lines.
pub(super) fn with_posix(mounted: &[Line], own: &[Line]) -> Vec<Promise> {
    promises(&[SYNCED, CALLS, FAILED_CALLS, mounted, own])
}
