//! The profiles of the FAT family, which has no journal.

use explode_runtime::verdict::Promise;

use super::lines::{NO_ATTRIBUTES, RENAME, RENAME_OF_NAMES, STRUCTURE, UNSYNCED, excluded, kept};
use super::mounted::{NAMED, NOT_NAMED};
use super::posix::with_posix;

/// Returns the promises of MSDOS and VFAT.
pub fn fat() -> Vec<Promise> {
    let own = [
        kept(
            STRUCTURE,
            "fsck.fat verifies the consistency of MS-DOS filesystems and optionally tries to \
             repair them",
            "dosfstools, fsck.fat(8), DESCRIPTION; of its exit codes: \"No recoverable errors \
             have been detected\"",
        ),
        excluded(
            UNSYNCED,
            "By design, the FAT file system is not a transaction-safe file system. FATFS can be \
             corrupted if a write operation is \
             interrupted in the middle of a transaction",
            "Microsoft, Windows CE 5.0, Transaction-Safe FAT File System",
        ),
        NO_ATTRIBUTES,
        RENAME,
        RENAME_OF_NAMES,
    ];
    with_posix(NAMED, &own)
}

/// Returns the promises of exFAT.
pub fn exfat() -> Vec<Promise> {
    let own = [
        kept(
            STRUCTURE,
            "fsck.exfat checks an exFAT filesystem and repairs the filesystem depending on the \
             options passed",
            "exfatprogs, fsck.exfat(8), DESCRIPTION",
        ),
        excluded(
            UNSYNCED,
            "Volume was not properly unmounted. Some data may be corrupt. Please run fsck",
            "Linux 6.12, fs/exfat/super.c, of what was not unmounted when it is mounted",
        ),
        NO_ATTRIBUTES,
        RENAME,
        RENAME_OF_NAMES,
    ];
    with_posix(NOT_NAMED, &own)
}
