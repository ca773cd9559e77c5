//! The record of a crash disk in a trace.

use serde::{Deserialize, Serialize};

use crate::crash::names;
use crate::judge::DiskName;

/// A crash disk, recorded as the pieces of the write set that it has kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrashDiskRecord {
    /// The identity of the image, 32 hexadecimal digits.
    pub id: String,
    /// The kept pieces, each as `[device, first sector, version]`. Version 1 is the oldest pending
    /// one of its range.
    pub blocks: Vec<(u32, u64, u32)>,
}

impl CrashDiskRecord {
    /// Returns the record of a disk.
    pub fn of((id, kept): &DiskName) -> CrashDiskRecord {
        CrashDiskRecord { id: id.clone(), blocks: names(kept) }
    }
}
