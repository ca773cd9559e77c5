//! The promises of each file system, line by line, each with the words and their source.
//! `docs/reference/promises.md` shows all of them.
//!
//! | file | profiles of |
//! | --- | --- |
//! | `posix.rs` | all: the promises of POSIX and the manual pages of the calls |
//! | `mounted.rs` | a synchronous mount: the file systems that mount(8) names, and the others |
//! | `ext.rs` | ext2, ext3, ext4 |
//! | `fat.rs` | MSDOS, VFAT, exFAT |
//! | `journals.rs` | XFS, JFS, ReiserFS |
//! | `logs.rs` | btrfs, F2FS, NILFS2 |
//! | `plain.rs` | MINIX, UDF, HFS, NTFS |
//! | `overlay.rs` | overlay |
//!
//! Each profile has a line for every word of every check that the matrix runs, kept or excluded (a
//! test in `checkers/src/fs/words.rs` verifies that). After sync or fsync no system promises less
//! than POSIX and the manual pages. A line that excluded that would need a source, and no source
//! says it. POSIX promises nothing about unsynced data. Such a promise is kept where a line quotes
//! its words, and excluded where no words exist. The structure after a crash is promised completely
//! or not at all, so that `fs-reasonable` can find other errors.

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
