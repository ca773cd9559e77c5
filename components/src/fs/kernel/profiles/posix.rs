//! What POSIX and the manual pages of the calls promise of every file system.

use super::{Line, kept};

const FSYNC: &str = "man-pages, fsync(2), DESCRIPTION";
const DIRECTORY: &str = "Calling fsync() does not necessarily ensure that the entry in the directory containing the file has also reached disk. \
                         For that an explicit fsync() on a file descriptor for the directory is also needed";
const RETRIEVED: &str = "transfers (\"flushes\") all modified in-core data of (i.e., modified buffer cache pages for) the file referred to by \
                         the file descriptor fd to the disk device (or other permanent storage device) so that all changed \
                         information can be retrieved even if the system crashes or is rebooted";

/// After sync, syncfs, fsync, fdatasync, msync, O_SYNC, O_DSYNC. Of a file that was changed since, what the change has left alone.
pub(super) const SYNCED: &[Line] = &[
    kept(&["synced-by-fsync", "partly-synced-by-fsync", "flushed-contents"], RETRIEVED, FSYNC),
    kept(
        &["synced-by-fdatasync", "partly-synced-by-fdatasync"],
        "does not flush modified metadata unless that metadata is needed in order to allow a subsequent data retrieval to be \
         correctly handled",
        FSYNC,
    ),
    kept(
        &["synced-by-sync", "partly-synced-by-sync", "synced-by-syncfs", "partly-synced-by-syncfs"],
        "Linux waits for I/O completions, and thus sync() or syncfs() provide the same guarantees as fsync() called on every file in \
         the system or filesystem respectively",
        "man-pages, sync(2), NOTES",
    ),
    kept(&["synced-directory", "partly-synced-directory", "flushed-name", "deleted-name"], DIRECTORY, FSYNC),
    kept(
        &["synced-by-o-sync", "partly-synced-by-o-sync"],
        "By the time write(2) (or similar) returns, the output data and associated file metadata have been transferred to the \
         underlying hardware (i.e., as though each write(2) was followed by a call to fsync(2))",
        "man-pages, open(2), O_SYNC",
    ),
    kept(
        &["synced-by-o-dsync", "partly-synced-by-o-dsync"],
        "By the time write(2) (and similar) return, the output data has been transferred to the underlying hardware, along with any \
         file metadata that would be required to retrieve that data (i.e., as though each write(2) was followed by a call to \
         fdatasync(2))",
        "man-pages, open(2), O_DSYNC",
    ),
    kept(
        &["synced-by-msync", "partly-synced-by-msync"],
        "write all modified data to permanent storage locations, if any",
        "POSIX.1-2017, msync(), DESCRIPTION",
    ),
];

/// After a call that has failed (`fs-failures`). Of a write or an ftruncate that has failed POSIX does not say so.
pub(super) const FAILED_CALLS: &[Line] = &[
    kept(
        &["failed-mkdir-has-no-effect"],
        "If -1 is returned, no directory shall be created",
        "POSIX.1-2017, mkdir(), RETURN VALUE",
    ),
    kept(
        &["failed-create-has-no-effect"],
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
        "If link() fails, no link shall be created and the link count of the file shall remain unchanged",
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
