//! The profiles of XFS, JFS and ReiserFS, which journal metadata.

use explode_runtime::verdict::Promise;

use super::lines::{METADATA_AND_NAMES, RENAME, UNSYNCED, excluded, kept};
use super::mounted::{NAMED, NOT_NAMED};
use super::posix::with_posix;

/// Returns the promises of XFS. The kernel's page on ext4 lists XFS among the file systems in which
/// "incorrect data" may appear after a crash. XFS's own words are stricter.
pub fn xfs() -> Vec<Promise> {
    let own = [
        kept(
            METADATA_AND_NAMES,
            "XFS uses Write Ahead Logging for ensuring changes to the filesystem metadata are \
             atomic and recoverable",
            "Linux 6.12, Documentation/filesystems/xfs/xfs-delayed-logging-design.rst, \
             Introduction",
        ),
        kept(
            UNSYNCED,
            "After a crash you are supposed to get a consistent filesystem which looks like the \
             state sometime shortly before the \
             crash, NOT what the in memory image looked like the instant before the crash",
            "xfs.org, XFS FAQ, Why do I see binary NULLS in some files after recovery when I \
             unplugged the power?",
        ),
        RENAME,
    ];
    with_posix(NAMED, &own)
}

/// Returns the promises of JFS.
pub fn jfs() -> Vec<Promise> {
    let own = [
        kept(
            METADATA_AND_NAMES,
            "Default. Commit metadata changes to the journal",
            "Linux 6.12, Documentation/admin-guide/jfs.rst, integrity; of nointegrity: \"The \
             integrity of the volume is not guaranteed if \
             the system abnormally abends\"",
        ),
        excluded(UNSYNCED, METADATA_ONLY, EXT4_RST),
        RENAME,
    ];
    with_posix(NOT_NAMED, &own)
}

/// The words of the kernel's page on ext4 about three other file systems.
const METADATA_ONLY: &str = "This mode provides a similar level of journaling as that of XFS, \
                             JFS, and ReiserFS in its default mode - \
                             metadata journaling. A crash+recovery can cause incorrect data to \
                             appear in files which were written \
                             shortly before the crash";
const EXT4_RST: &str = "Linux 6.12, Documentation/admin-guide/ext4.rst, Data Mode";

/// Returns the promises of ReiserFS.
pub fn reiserfs() -> Vec<Promise> {
    let own = [
        kept(
            METADATA_AND_NAMES,
            "ReiserFS does meta-data journaling, enabling fast crash recovery without the expense \
             of full data journaling",
            "reiser4.wiki.kernel.org, FAQ ReiserFS",
        ),
        excluded(UNSYNCED, METADATA_ONLY, EXT4_RST),
        RENAME,
    ];
    with_posix(NOT_NAMED, &own)
}
