//! The profiles of ext2, ext3 and ext4.

use explode_runtime::verdict::Promise;

use super::lines::{
    Line, METADATA, NAMES, NO_ATTRIBUTES, RENAME, RENAME_OF_NAMES, REPLACED, STRUCTURE, UNSYNCED,
    excluded, kept,
};
use super::mounted::{EXT2, NAMED};
use super::posix::with_posix;

const DATA_MODE: &str = "Linux 6.12, Documentation/admin-guide/ext4.rst, Data Mode";

/// Returns the promises of the ext2 format, without a journal, by either driver.
pub fn ext2() -> Vec<Promise> {
    let own = [
        kept(
            STRUCTURE,
            "It is frequently claimed that the ext2 implementation of writing asynchronous \
             metadata is faster than the ffs synchronous \
             metadata scheme but less reliable. Both methods are equally resolvable by their \
             respective fsck programs",
            "Linux 6.12, Documentation/filesystems/ext2.rst, Metadata",
        ),
        excluded(
            UNSYNCED,
            "A journaling extension to the ext2 code has been developed by Stephen Tweedie. It \
             avoids the risks of metadata corruption \
             and the need to wait for e2fsck to complete after a crash",
            "Linux 6.12, Documentation/filesystems/ext2.rst, Journaling: ext2 itself has these \
             risks",
        ),
        NO_ATTRIBUTES,
        RENAME,
        RENAME_OF_NAMES,
    ];
    with_posix(EXT2, &own)
}

/// The journal keeps the structure, whatever happens to data.
const JOURNAL: Line = kept(
    METADATA,
    "This means that if you lose your power, you will lose as much as the latest 5 seconds of \
     metadata changes (your filesystem will not \
     be damaged though, thanks to the journaling)",
    "Linux 6.12, Documentation/admin-guide/ext4.rst, Options, commit",
);

/// A rename is one transaction of the journal.
const ATOMIC: Line = kept(
    NAMES,
    "the journal can be replayed all the way to the latest commit record, guaranteeing the \
     atomicity of whatever gets written through the \
     journal to the disk. The effect of this is to guarantee that the filesystem does not become \
     stuck midway through a metadata update",
    "Linux, Documentation/filesystems/ext4/journal.rst",
);

/// The words about data with data=ordered, the default.
const ORDERED: Line = kept(
    UNSYNCED,
    "All data are forced directly out to the main file system prior to its metadata being \
     committed to the journal",
    "Linux 6.12, Documentation/admin-guide/ext4.rst, Options, data=ordered",
);

/// Returns the promises of ext4 with data=ordered.
pub fn ext4_ordered() -> Vec<Promise> {
    let own = [
        JOURNAL,
        ATOMIC,
        ORDERED,
        kept(
            REPLACED,
            "ext4 will detect the replace-via-rename and replace-via-truncate patterns and force \
             that any delayed allocation blocks are \
             allocated such that at the next journal commit, in the default data=ordered mode, \
             the data blocks of the new file are \
             forced to disk before the rename() operation is committed",
            "Linux 6.12, Documentation/admin-guide/ext4.rst, Options, auto_da_alloc",
        ),
    ];
    with_posix(NAMED, &own)
}

/// Returns the promises of ext3 with data=ordered.
pub fn ext3_ordered() -> Vec<Promise> {
    let own = [
        JOURNAL,
        ATOMIC,
        ORDERED,
        kept(
            REPLACED,
            "This provides roughly the same level of guarantees as ext3, and avoids \
             the \"zero-length\" problem that can happen when a \
             system crashes before the delayed allocation blocks are forced to disk",
            "Linux 6.12, Documentation/admin-guide/ext4.rst, Options, auto_da_alloc",
        ),
    ];
    with_posix(NAMED, &own)
}

/// Returns the promises of ext3 and ext4 with data=writeback.
pub fn writeback() -> Vec<Promise> {
    let incorrect = "A crash+recovery can cause incorrect data to appear in files which were \
                     written shortly before the crash";
    let own = [
        JOURNAL,
        ATOMIC,
        excluded(UNSYNCED, incorrect, DATA_MODE),
        excluded(REPLACED, incorrect, DATA_MODE),
    ];
    with_posix(NAMED, &own)
}

/// Returns the promises of ext3 and ext4 with data=journal.
pub fn journalled_data() -> Vec<Promise> {
    let both = "All new data is written to the journal first, and then to its final location. In \
                the event of a crash, the journal can be \
                replayed, bringing both data and metadata into a consistent state";
    let own = [JOURNAL, ATOMIC, kept(UNSYNCED, both, DATA_MODE), kept(REPLACED, both, DATA_MODE)];
    with_posix(NAMED, &own)
}
