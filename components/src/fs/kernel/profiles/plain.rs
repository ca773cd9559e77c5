//! Those of which hardly anything is written about crashes.

use explode_runtime::check::Promise;

use super::mounted::NOT_NAMED;
use super::{Line, RENAME, RENAME_OF_NAMES, STRUCTURE, UNSYNCED, excluded, kept, with_posix};

/// All that is written of what was not synced.
const WRITE: Line = excluded(
    UNSYNCED,
    "A successful return from write() does not make any guarantee that data has been committed to disk. [...] The only way to be sure is \
     to call fsync(2) after you are done writing all your data",
    "man-pages, write(2), NOTES: nothing else is written about it",
);

/// MINIX.
pub fn minix() -> Vec<Promise> {
    let repaired = kept(
        STRUCTURE,
        "fsck.minix performs a consistency check for the Linux MINIX filesystem",
        "util-linux, fsck.minix(8), DESCRIPTION; with -a: \"Perform automatic repairs\"",
    );
    with_posix(NOT_NAMED, &[repaired, WRITE, RENAME, RENAME_OF_NAMES])
}

/// UDF: of its structure after a crash nothing is written, so it is held to it.
pub fn udf() -> Vec<Promise> {
    with_posix(NOT_NAMED, &[WRITE, RENAME, RENAME_OF_NAMES])
}

/// HFS: of its structure after a crash nothing is written, either.
pub fn hfs() -> Vec<Promise> {
    udf()
}

/// overlay: a file that is copied up is held to the same, whether it was changed before or after.
pub fn overlay() -> Vec<Promise> {
    let copied_up = kept(
        &["synced-by-fsync", "partly-synced-by-fsync"],
        "When an overlayfs file is modified for the first time, copy up will create a copy of the lower file and its parent directories \
         in the upper layer. [...] it provides no guarantee to persist the user's modification unless the user calls fsync(2)",
        "Linux 6.12.80, Documentation/filesystems/overlayfs.rst, Durability and copy up",
    );
    with_posix(NOT_NAMED, &[copied_up])
}

/// Whoever has no lines of its own: what it promises after a crash is not looked up, so it is held to all of that.
pub fn others() -> Vec<Promise> {
    with_posix(NOT_NAMED, &[])
}
