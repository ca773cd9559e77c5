//! What each file system promises, line by line, each with the words and where they stand; `docs/profiles.md` shows all of it.
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
//! Each has a line for every word of every check that the matrix asks (`checkers/src/fs/words.rs` has a test), kept or excluded. Nobody
//! promises less than POSIX and the manual pages after sync or fsync: a line that excluded that would need words that say so, and nobody
//! has written any. Of what was not synced they ask nothing: that is promised where a line says with whose words, and excluded where
//! nothing is written. What a crash leaves of the structure is promised whole or not at all, so that `fs-reasonable` can tell what is
//! wrong besides.

mod ext;
mod fat;
mod journals;
mod logs;
mod mounted;
mod overlay;
mod plain;
mod posix;

use explode_runtime::verdict::Promise;

pub(super) use ext::{ext2, ext3_ordered, ext4_ordered, journalled_data, writeback};
pub(super) use fat::{exfat, fat};
pub(super) use journals::{jfs, reiserfs, xfs};
pub(super) use logs::{btrfs, btrfs_in_place, f2fs, f2fs_without_flush, nilfs2, nilfs2_strict};
pub(super) use overlay::overlay;
pub(super) use plain::{hfs, minix, ntfs3, udf};

/// What one quotation says of some promises.
struct Line {
    words: &'static [&'static str],
    kept: bool,
    quote: &'static str,
    source: &'static str,
}

const fn kept(words: &'static [&'static str], quote: &'static str, source: &'static str) -> Line {
    Line { words, kept: true, quote, source }
}

const fn excluded(words: &'static [&'static str], quote: &'static str, source: &'static str) -> Line {
    Line { words, kept: false, quote, source }
}

/// What stands after a crash: that it can be read, and is made of what was there (`fs-reasonable`).
const STRUCTURE: &[&str] = &["readable", "kind", "created-name", "one-sequence", "link-count"];
/// The same with modes and extended attributes, where all metadata changes together.
const METADATA: &[&str] =
    &["readable", "kind", "created-name", "one-sequence", "link-count", "unsynced-attributes"];
/// The same where names are journalled: each call that changes some is there whole or not at all.
const METADATA_AND_NAMES: &[&str] = &[
    "readable",
    "kind",
    "created-name",
    "one-sequence",
    "link-count",
    "unsynced-attributes",
    "replaced-name",
    "moved-name",
];
/// A mode or an extended attribute that was not synced is one that was set, or that of a new file (`fs-reasonable`).
const ATTRIBUTES: &[&str] = &["unsynced-attributes"];
/// Bytes that were not synced are zeroes, or what was written there (`fs-reasonable`).
const UNSYNCED: &[&str] = &["unsynced-contents"];
/// A name that a rename has replaced leads, after a crash, to the old file or to the new one with its contents, synced or not (`fs-replaced`).
const REPLACED: &[&str] = &["replaced-by-rename"];
/// Such a name is there, and leads to the old file whole or to the new one, if what they hold was synced (`fs-replaced`); and what a
/// rename moves is there under one name, the old one or the new one (`fs-moved`).
const NAMES: &[&str] = &["replaced-name", "moved-name"];

/// What rename(2) says is about processes, not about crashes: so of contents, where names are kept.
const RENAME: Line = excluded(
    REPLACED,
    "If newpath already exists, it will be atomically replaced, so that there is no point at which another process attempting to \
     access newpath will find it missing",
    OF_PROCESSES,
);
/// So it is of names, where nothing else is written.
const RENAME_OF_NAMES: Line = excluded(
    NAMES,
    "If newpath already exists, it will be atomically replaced, so that there is no point at which another process attempting to \
     access newpath will find it missing. However, there will probably be a window in which both oldpath and newpath refer to the \
     file being renamed",
    OF_PROCESSES,
);
const OF_PROCESSES: &str = "man-pages, rename(2), DESCRIPTION: of processes, and nothing of crashes";

/// All that is written of bytes that were not synced, where nothing else is.
const WRITE: Line = excluded(
    UNSYNCED,
    "A successful return from write() does not make any guarantee that data has been committed to disk. [...] The only way to be sure is \
     to call fsync(2) after you are done writing all your data",
    "man-pages, write(2), NOTES: nothing else is written about it",
);
/// All that is written of anything else that was not synced, where nothing else is.
const LOST: &str = "If not preceded by a sync(2), data will be lost";
const REBOOT: &str = "man-pages, reboot(2), DESCRIPTION: nothing else is written about it";
/// So it is of attributes, where metadata is not kept together.
const NO_ATTRIBUTES: Line = excluded(ATTRIBUTES, LOST, REBOOT);

/// Tables, one after the other, a promise a word.
fn promises(tables: &[&[Line]]) -> Vec<Promise> {
    let lines = tables.iter().copied().flatten();
    let words = lines.flat_map(|Line { words, kept, quote, source }| {
        words.iter().map(|name| Promise { name, kept: *kept, quote, source })
    });
    words.collect()
}

/// The same of one without a journal whose fsck is not run: the structure was promised of what that leaves.
pub(super) fn without_fsck(all: &[Promise]) -> Vec<Promise> {
    let none = excluded(
        STRUCTURE,
        LOST,
        "man-pages, reboot(2), DESCRIPTION: nothing else is written where no fsck is run",
    );
    but(all, none)
}

/// The same, but for the words of this line.
fn but(all: &[Promise], line: Line) -> Vec<Promise> {
    let others = all.iter().copied().filter(|promise| !line.words.contains(&promise.name));
    others.chain(promises(&[&[line]])).collect()
}

/// What every file system promises, on a mount that mount(8) names or not, and its own lines.
fn with_posix(mounted: &[Line], own: &[Line]) -> Vec<Promise> {
    promises(&[posix::SYNCED, posix::CALLS, posix::FAILED_CALLS, mounted, own])
}
