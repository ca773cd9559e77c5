//! What each file system promises, line by line, each with the words and where they stand;
//! `docs/reference/promises.md` shows all of it.
//!
//! | file | of whom |
//! | --- | --- |
//! | `posix.rs` | all: what POSIX and the manual pages of the calls promise |
//! | `mounted.rs` | a synchronous mount: whom mount(8) names, and whom it does not |
//! | `ext.rs` | ext2, ext3, ext4 |
//! | `fat.rs` | MSDOS, VFAT, exFAT |
//! | `journals.rs` | XFS, JFS, ReiserFS |
//! | `logs.rs` | btrfs, F2FS, NILFS2 |
//! | `plain.rs` | MINIX, UDF, HFS, NTFS |
//! | `overlay.rs` | overlay |
//!
//! Each has a line for every word of every check that the matrix asks (`checkers/src/fs/words.rs`
//! has a test), kept or excluded. No system promises less than POSIX and the manual pages after
//! sync or fsync: a line that excluded that would need a source for that, and there is none. Of
//! what was not synced they ask nothing: that is promised where a line says with whose words, and
//! excluded where nothing is written. What a crash leaves of the structure is promised whole or not
//! at all, so that `fs-reasonable` can tell what is wrong besides.

mod ext;
mod fat;
mod journals;
mod lines;
mod logs;
mod mounted;
mod overlay;
mod plain;
mod posix;

pub(super) use ext::{ext2, ext3_ordered, ext4_ordered, journalled_data, writeback};
pub(super) use fat::{exfat, fat};
pub(super) use journals::{jfs, reiserfs, xfs};
pub(super) use lines::without_fsck;
pub(super) use logs::{btrfs, btrfs_in_place, f2fs, f2fs_without_flush, nilfs2, nilfs2_strict};
pub(super) use overlay::overlay;
pub(super) use plain::{hfs, minix, ntfs3, udf};
