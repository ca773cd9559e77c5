//! The profiles of file systems without a journal whose documentation says hardly anything about
//! crashes. If there is an fsck, a file system that it calls clean can be read. Without an fsck
//! only synced data is promised.

use explode_runtime::verdict::Promise;

use super::lines::{
    LOST, NAMES, NO_ATTRIBUTES, REBOOT, RENAME, RENAME_OF_NAMES, REPLACED, STRUCTURE, WRITE,
    excluded, kept,
};
use super::mounted::NOT_NAMED;
use super::posix::with_posix;

/// Returns the promises of MINIX.
pub fn minix() -> Vec<Promise> {
    let repaired = kept(
        STRUCTURE,
        "Perform automatic repairs",
        "util-linux, fsck.minix(8), OPTIONS, -a; of its exit codes: 0 \"No errors\", \
         3 \"Filesystem errors corrected\"",
    );
    with_posix(NOT_NAMED, &[repaired, NO_ATTRIBUTES, WRITE, RENAME, RENAME_OF_NAMES])
}

/// Returns the promises of UDF. Debian has no fsck for it.
pub fn udf() -> Vec<Promise> {
    let structure = excluded(STRUCTURE, LOST, REBOOT);
    with_posix(NOT_NAMED, &[structure, NO_ATTRIBUTES, WRITE, RENAME, RENAME_OF_NAMES])
}

/// Returns the promises of HFS. Debian has no fsck for it.
pub fn hfs() -> Vec<Promise> {
    let structure = excluded(
        STRUCTURE,
        "filesystem was not cleanly unmounted, running fsck.hfs is recommended. mounting read-only",
        "Linux 6.12, fs/hfs/mdb.c, of what was not unmounted when it is mounted",
    );
    with_posix(NOT_NAMED, &[structure, NO_ATTRIBUTES, WRITE, RENAME, RENAME_OF_NAMES])
}

/// Returns the promises of NTFS by ntfs3, which writes no journal. Without an fsck, `force` is the
/// only way to mount it after a crash.
pub fn ntfs3() -> Vec<Promise> {
    const TODO: &str = "Full journaling support over JBD. Currently journal replaying is \
                        supported which is not necessarily as effective as \
                        JBD would be";
    const NTFS3: &str = "Linux 6.12, Documentation/filesystems/ntfs3.rst, Todo list";
    let structure = excluded(
        STRUCTURE,
        "Forces the driver to mount partitions even if volume is marked dirty. Not recommended \
         for use",
        "Linux 6.12, Documentation/filesystems/ntfs3.rst, Mount Options, force",
    );
    let names = excluded(NAMES, TODO, NTFS3);
    with_posix(
        NOT_NAMED,
        &[structure, NO_ATTRIBUTES, WRITE, names, excluded(REPLACED, TODO, NTFS3)],
    )
}
