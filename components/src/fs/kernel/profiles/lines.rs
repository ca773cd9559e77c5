//! Lines of profiles: promises with the words that make them, and the tables of them.

use explode_runtime::verdict::Promise;

/// What one quotation says of some promises.
pub(super) struct Line {
    pub(super) words: &'static [&'static str],
    pub(super) kept: bool,
    pub(super) quote: &'static str,
    pub(super) source: &'static str,
}

pub(super) const fn kept(
    words: &'static [&'static str],
    quote: &'static str,
    source: &'static str,
) -> Line {
    Line { words, kept: true, quote, source }
}

pub(super) const fn excluded(
    words: &'static [&'static str],
    quote: &'static str,
    source: &'static str,
) -> Line {
    Line { words, kept: false, quote, source }
}

/// What stands after a crash: that it can be read, and is made of what was there (`fs-reasonable`).
pub(super) const STRUCTURE: &[&str] =
    &["readable", "kind", "created-name", "one-sequence", "link-count"];
/// The same with modes and extended attributes, where all metadata changes together.
pub(super) const METADATA: &[&str] =
    &["readable", "kind", "created-name", "one-sequence", "link-count", "unsynced-attributes"];
/// The same where names are journalled: each call that changes some is there whole or not at all.
pub(super) const METADATA_AND_NAMES: &[&str] = &[
    "readable",
    "kind",
    "created-name",
    "one-sequence",
    "link-count",
    "unsynced-attributes",
    "replaced-name",
    "moved-name",
];
/// A mode or an extended attribute that was not synced is one that was set, or that of a new file
/// (`fs-reasonable`).
pub(super) const ATTRIBUTES: &[&str] = &["unsynced-attributes"];
/// Bytes that were not synced are zeroes, or what was written there (`fs-reasonable`).
pub(super) const UNSYNCED: &[&str] = &["unsynced-contents"];
/// A name that a rename has replaced leads, after a crash, to the old file or to the new one with
/// its contents, synced or not (`fs-replaced`).
pub(super) const REPLACED: &[&str] = &["replaced-by-rename"];
/// Such a name is there, and leads to the old file whole or to the new one, if what they hold was
/// synced (`fs-replaced`); and what a rename moves is there under one name, the old one or the new
/// one (`fs-moved`).
pub(super) const NAMES: &[&str] = &["replaced-name", "moved-name"];

/// What rename(2) says is about processes, not about crashes: so of contents, where names are kept.
pub(super) const RENAME: Line = excluded(
    REPLACED,
    "If newpath already exists, it will be atomically replaced, so that there is no point at \
     which another process attempting to \
     access newpath will find it missing",
    OF_PROCESSES,
);
/// So it is of names, where nothing else is written.
pub(super) const RENAME_OF_NAMES: Line = excluded(
    NAMES,
    "If newpath already exists, it will be atomically replaced, so that there is no point at \
     which another process attempting to \
     access newpath will find it missing. However, there will probably be a window in which both \
     oldpath and newpath refer to the \
     file being renamed",
    OF_PROCESSES,
);
const OF_PROCESSES: &str =
    "man-pages, rename(2), DESCRIPTION: of processes, and nothing of crashes";

/// All that is written of bytes that were not synced, where nothing else is.
pub(super) const WRITE: Line = excluded(
    UNSYNCED,
    "A successful return from write() does not make any guarantee that data has been committed to \
     disk. [...] The only way to be sure is \
     to call fsync(2) after you are done writing all your data",
    "man-pages, write(2), NOTES: nothing else is written about it",
);
/// All that is written of anything else that was not synced, where nothing else is.
pub(super) const LOST: &str = "If not preceded by a sync(2), data will be lost";
pub(super) const REBOOT: &str =
    "man-pages, reboot(2), DESCRIPTION: nothing else is written about it";
/// So it is of attributes, where metadata is not kept together.
pub(super) const NO_ATTRIBUTES: Line = excluded(ATTRIBUTES, LOST, REBOOT);

/// Tables, one after the other, a promise a word.
pub(super) fn promises(tables: &[&[Line]]) -> Vec<Promise> {
    let lines = tables.iter().copied().flatten();
    let words = lines.flat_map(|Line { words, kept, quote, source }| {
        words.iter().map(|name| Promise { name, kept: *kept, quote, source })
    });
    words.collect()
}

/// The same of one without a journal whose fsck is not run: the structure was promised of what that
/// leaves.
pub(in crate::fs::kernel) fn without_fsck(all: &[Promise]) -> Vec<Promise> {
    let none = excluded(
        STRUCTURE,
        LOST,
        "man-pages, reboot(2), DESCRIPTION: nothing else is written where no fsck is run",
    );
    but(all, none)
}

/// The same, but for the words of this line.
pub(super) fn but(all: &[Promise], line: Line) -> Vec<Promise> {
    let others = all.iter().copied().filter(|promise| !line.words.contains(&promise.name));
    others.chain(promises(&[&[line]])).collect()
}
