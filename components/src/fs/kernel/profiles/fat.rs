//! The FAT family, which has no journal.

use explode_runtime::check::Promise;

use super::mounted::{NAMED, NOT_NAMED};
use super::{RENAME, RENAME_OF_NAMES, STRUCTURE, UNSYNCED, excluded, kept, with_posix};

/// MSDOS and VFAT.
pub fn fat() -> Vec<Promise> {
    let own = [
        kept(
            STRUCTURE,
            "fsck.fat verifies the consistency of MS-DOS filesystems and optionally tries to repair them",
            "dosfstools, fsck.fat(8), DESCRIPTION",
        ),
        excluded(
            UNSYNCED,
            "By design, the FAT file system is not a transaction-safe file system. FATFS can be corrupted if a write operation is \
             interrupted in the middle of a transaction",
            "Microsoft, Windows CE 5.0, Transaction-Safe FAT File System",
        ),
        RENAME,
        RENAME_OF_NAMES,
    ];
    with_posix(NAMED, &own)
}

/// exFAT.
pub fn exfat() -> Vec<Promise> {
    let own = [
        kept(
            STRUCTURE,
            "fsck.exfat checks an exFAT filesystem and repairs the filesystem depending on the options passed",
            "exfatprogs, fsck.exfat(8), DESCRIPTION",
        ),
        excluded(
            UNSYNCED,
            "Implementations should ensure the volume is as resilient as possible to power faults and other unavoidable failures",
            "Microsoft, exFAT file system specification, 8.1 Recommended Write Ordering: an order for metadata, none for data",
        ),
        RENAME,
        RENAME_OF_NAMES,
    ];
    with_posix(NOT_NAMED, &own)
}
