//! The lines of profiles: promises with the words that make them, and tables of lines.

use explode_runtime::verdict::Promise;

/// One quotation and the promises that it is about.
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

/// The promises about the structure after a crash: it can be read, and consists of what was there
/// (`fs-reasonable`).
pub(super) const STRUCTURE: &[&str] =
    &["readable", "kind", "created-name", "one-sequence", "link-count"];
/// The structure, modes and extended attributes, for file systems that change all metadata
/// together.
pub(super) const METADATA: &[&str] =
    &["readable", "kind", "created-name", "one-sequence", "link-count", "unsynced-attributes"];
/// The structure, attributes and names, for file systems that journal names. Each call that changes
/// names has taken effect completely or not at all.
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
/// An unsynced mode or extended attribute is one that was set, or that of a new file
/// (`fs-reasonable`).
pub(super) const ATTRIBUTES: &[&str] = &["unsynced-attributes"];
/// Unsynced bytes are zeroes or bytes that were written there (`fs-reasonable`).
pub(super) const UNSYNCED: &[&str] = &["unsynced-contents"];
/// A name that a rename has replaced leads, after a crash, to the old file or to the new one with
/// its contents, synced or not (`fs-replaced`).
pub(super) const REPLACED: &[&str] = &["replaced-by-rename"];
/// A replaced name exists and leads to the complete old file or the complete new one, if their
/// contents were synced (`fs-replaced`). The target of a rename has one name, the old or the new
/// (`fs-moved`).
pub(super) const NAMES: &[&str] = &["replaced-name", "moved-name"];

/// rename(2) makes its promise about processes, not about crashes. This line excludes contents, for
/// file systems that keep names.
pub(super) const RENAME: Line = excluded(
    REPLACED,
    "If newpath already exists, it will be atomically replaced, so that there is no point at \
     which another process attempting to \
     access newpath will find it missing",
    OF_PROCESSES,
);
/// The words of rename(2) about names, for file systems without other words.
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

/// The only words about unsynced bytes, for file systems without other words.
pub(super) const WRITE: Line = excluded(
    UNSYNCED,
    "A successful return from write() does not make any guarantee that data has been committed to \
     disk. [...] The only way to be sure is \
     to call fsync(2) after you are done writing all your data",
    "man-pages, write(2), NOTES: nothing else is written about it",
);
/// The only words about everything else that was not synced, for file systems without other words.
pub(super) const LOST: &str = "If not preceded by a sync(2), data will be lost";
pub(super) const REBOOT: &str =
    "man-pages, reboot(2), DESCRIPTION: nothing else is written about it";
/// The line for attributes, for file systems that do not keep metadata together.
pub(super) const NO_ATTRIBUTES: Line = excluded(ATTRIBUTES, LOST, REBOOT);

/// Joins tables into promises, one for each word.
pub(super) fn promises(tables: &[&[Line]]) -> Vec<Promise> {
    let lines = tables.iter().copied().flatten();
    let words = lines.flat_map(|Line { words, kept, quote, source }| {
        words.iter().map(|name| Promise { name, kept: *kept, quote, source })
    });
    words.collect()
}

/// Returns the promises of a file system without a journal whose fsck is not run. The structure was
/// promised only after the fsck.
pub(in crate::fs::kernel) fn without_fsck(all: &[Promise]) -> Vec<Promise> {
    let none = excluded(
        STRUCTURE,
        LOST,
        "man-pages, reboot(2), DESCRIPTION: nothing else is written where no fsck is run",
    );
    but(all, none)
}

/// Returns the promises with those about the words of this line replaced.
pub(super) fn but(all: &[Promise], line: Line) -> Vec<Promise> {
    let others = all.iter().copied().filter(|promise| !line.words.contains(&promise.name));
    others.chain(promises(&[&[line]])).collect()
}
