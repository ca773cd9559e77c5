//! The file systems whose order of changes simulated files can have.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The order in which changes of simulated files become durable (`docs/model/file-models.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileModel {
    /// Any order that POSIX allows. Only syncs order changes.
    #[default]
    Posix,
    /// That of ext4 with `data=ordered` and delayed allocation.
    Ext4,
    /// That of XFS.
    Xfs,
    /// That of btrfs, with its log trees.
    Btrfs,
}

impl FileModel {
    /// The models, the weakest first.
    pub const ALL: [FileModel; 4] =
        [FileModel::Posix, FileModel::Ext4, FileModel::Xfs, FileModel::Btrfs];

    /// Returns the name of the model.
    pub fn as_str(self) -> &'static str {
        match self {
            FileModel::Posix => "posix",
            FileModel::Ext4 => "ext4",
            FileModel::Xfs => "xfs",
            FileModel::Btrfs => "btrfs",
        }
    }

    /// Returns true if names, modes and truncations are changed through a journal.
    pub(super) fn has_journal(self) -> bool {
        self != FileModel::Posix
    }

    /// Returns true if a file can have its new size before the data of the write that made it grow
    /// (ext4: `mpage_map_and_submit_extent` sets `i_disksize` when the write begins, and the blocks
    /// read as zeroes until `ext4_convert_unwritten_extents`). XFS sets it after the data
    /// (`xfs_iomap_write_unwritten`, `xfs_setfilesize`).
    pub(super) fn grows_before_data(self) -> bool {
        self == FileModel::Ext4
    }

    /// Returns true if a file can have its new size with the data of an earlier write (btrfs:
    /// `btrfs_inode_safe_disk_i_size_write` stores the size that the file has when a write ends).
    pub(super) fn grows_with_other_data(self) -> bool {
        self == FileModel::Btrfs
    }

    /// Returns true if contents need all changes before their write (btrfs writes no block in
    /// place, so new contents become part of the files with a transaction), and a sync of one inode
    /// is a log tree in place of the changes before it (`btrfs_log_inode`).
    pub(super) fn has_log_trees(self) -> bool {
        self == FileModel::Btrfs
    }

    /// Returns true if a rename over a file makes the size of the renamed file part of the same
    /// change (ext4: `auto_da_alloc`, `ext4_rename` calls `ext4_alloc_da_blocks`).
    pub(super) fn allocates_at_rename(self) -> bool {
        self == FileModel::Ext4
    }
}

impl fmt::Display for FileModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
