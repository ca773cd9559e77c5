//! The promises of `-o sync`. mount(2) promises that writes are synchronous, mount(8) that all I/O
//! is, but only for the file systems that it names.

use super::lines::{Line, excluded, kept};

const WRITES: &[&str] = &["synced-by-mount-sync", "partly-synced-by-mount-sync"];
const METADATA: &[&str] =
    &["metadata-synced-by-mount-sync", "partly-metadata-synced-by-mount-sync"];

const WRITTEN: Line = kept(
    WRITES,
    "Make writes on this filesystem synchronous (as though the O_SYNC flag to open(2) was \
     specified for all file opens to this filesystem)",
    "man-pages, mount(2), MS_SYNCHRONOUS",
);

/// The file systems that mount(8) names: "ext2, ext3, ext4, fat, vfat, ufs and xfs".
pub(super) const NAMED: &[Line] = &[
    WRITTEN,
    kept(
        METADATA,
        "All I/O to the filesystem should be done synchronously",
        "util-linux, mount(8), FILESYSTEM-INDEPENDENT MOUNT OPTIONS, sync",
    ),
];

/// ext2, whose own documentation makes the promise.
pub(super) const EXT2: &[Line] = &[
    WRITTEN,
    kept(
        METADATA,
        "per-filesystem: add the \"sync\" option to mount [...] the first and last are not ext2 \
         specific but do force the metadata to be \
         written synchronously",
        "Linux 6.12, Documentation/filesystems/ext2.rst, Metadata",
    ),
];

/// All other file systems.
pub(super) const NOT_NAMED: &[Line] =
    &[excluded(WRITES, NOT_HONOURED, MOUNT), excluded(METADATA, NOT_HONOURED, MOUNT)];

const NOT_HONOURED: &str = "not every filesystem actually honors them - e.g., the sync option \
                            today has an effect only for ext2, ext3, \
                            ext4, fat, vfat, ufs and xfs";
const MOUNT: &str = "util-linux, mount(8), FILESYSTEM-INDEPENDENT MOUNT OPTIONS";
