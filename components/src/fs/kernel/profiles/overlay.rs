//! The profile of overlay. Its upper folder may be on a file system that promises less. Lines that
//! the file system excludes are then also excluded for overlay (`promises_as_below`).

use explode_runtime::verdict::Promise;

use super::lines::{METADATA_AND_NAMES, REPLACED, UNSYNCED, excluded, kept};
use super::mounted::NOT_NAMED;
use super::posix::with_posix;

const DURABILITY: &str =
    "Linux 6.12.80, Documentation/filesystems/overlayfs.rst, Durability and copy up";
const WITHOUT_FSYNC: &str = "Without an fsync(2) call, there is no guarantee that the observed \
                             data after a system crash will be either the old \
                             or the new data, but in practice, the observed data after crash is \
                             often the old or new data or a mix of both";

/// Returns the promises of overlay. They also hold for a file that is copied up, whether it was
/// changed before or after.
pub fn overlay() -> Vec<Promise> {
    let own = [
        kept(
            &["synced-by-fsync", "partly-synced-by-fsync"],
            "When an overlayfs file is modified for the first time, copy up will create a copy of \
             the lower file and its parent directories \
             in the upper layer. [...] it provides no guarantee to persist the user's \
             modification unless the user calls fsync(2)",
            DURABILITY,
        ),
        kept(
            METADATA_AND_NAMES,
            "In many cases, an object accessed in the union will be indistinguishable from \
             accessing the corresponding object from the \
             original filesystem",
            "Linux 6.12, Documentation/filesystems/overlayfs.rst, Overlay objects: it is held to \
             what the original file system keeps",
        ),
        excluded(UNSYNCED, WITHOUT_FSYNC, DURABILITY),
        excluded(REPLACED, WITHOUT_FSYNC, DURABILITY),
    ];
    with_posix(NOT_NAMED, &own)
}
