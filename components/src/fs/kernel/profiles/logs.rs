//! btrfs and F2FS, which write nothing in place.

use explode_runtime::check::Promise;

use super::mounted::NOT_NAMED;
use super::{RENAME, STRUCTURE, UNSYNCED, kept, with_posix};

/// btrfs.
pub fn btrfs() -> Vec<Promise> {
    const QUOTE: &str = "When off, the filesystem is consistent but buffered writes may last more than one transaction commit";
    const SOURCE: &str = "btrfs-progs, btrfs(5), MOUNT OPTIONS, flushoncommit, which is off by default";
    with_posix(NOT_NAMED, &[kept(STRUCTURE, QUOTE, SOURCE), kept(UNSYNCED, QUOTE, SOURCE), RENAME])
}

/// F2FS.
pub fn f2fs() -> Vec<Promise> {
    const QUOTE: &str = "F2FS adopts the checkpointing scheme to maintain file system consistency. At mount time, F2FS first tries to find \
                         the last valid checkpoint data";
    const SOURCE: &str = "Linux 6.12, Documentation/filesystems/f2fs.rst, File System Metadata Structure";
    with_posix(NOT_NAMED, &[kept(STRUCTURE, QUOTE, SOURCE), kept(UNSYNCED, QUOTE, SOURCE), RENAME])
}
