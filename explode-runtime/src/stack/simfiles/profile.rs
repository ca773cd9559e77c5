//! The promises of simulated files, in the words of `docs/model/fault-model.md`, section 7.

use explode_ramdisk::files::FileModel;

use crate::verdict::{Profile, Promise};

/// The source of the quotations.
const SOURCE: &str = "explode, docs/model/fault-model.md, section 7";

/// Names of promises, whether they are kept, and the quotation from the source.
type Line = (&'static [&'static str], bool, &'static str);

/// The lines for every mount.
const ALWAYS: [Line; 6] = [
    (
        &["synced-by-fsync", "partly-synced-by-fsync", "flushed-contents", "flushed-attributes"],
        true,
        "its contents, its size, its mode and attributes",
    ),
    (
        &[
            "synced-by-fdatasync",
            "partly-synced-by-fdatasync",
            "synced-by-msync",
            "partly-synced-by-msync",
        ],
        true,
        "its contents and its size",
    ),
    (
        &["synced-directory", "partly-synced-directory", "flushed-name", "deleted-name"],
        true,
        "all its names, its mode and attributes",
    ),
    // The new name is one version of one sector.
    (&["replaced-name"], true, "Name `f`: old or new."),
    (
        &["moved-name"],
        false,
        "`rename` is two changes of names. A crash may leave both names, either, or none, until \
         the directories are synced.",
    ),
    (&["atomic-call"], false, "Nothing orders two unsynced changes"),
];

/// The lines for a mount whose changes are not durable when their calls return.
const NOT_SYNCHRONOUS: [Line; 2] = [
    (
        &["replaced-by-rename"],
        false,
        "a size without the contents (the file reads as whatever the blocks held, zeroes if they \
         were never written), contents \
         without the size, a name without either",
    ),
    (
        &["durable-call"],
        false,
        "create + fsync(file) without fsync of the directory may lose the name.",
    ),
];

/// The promises of a journal.
const JOURNAL_KEEPS: [&str; 2] = ["moved-name", "atomic-call"];
const JOURNAL_SOURCE: &str = "explode, docs/model/file-models.md";
const JOURNAL_QUOTE: &str = "Each call that changes names, modes or attributes is one change.";

/// Returns the profile of a mount. A promise without a line is kept.
pub fn profile(model: FileModel, sync: bool) -> Profile {
    let more: &[Line] = if sync { &[] } else { &NOT_SYNCHRONOUS };
    let lines = ALWAYS.iter().chain(more);
    let promises = lines.flat_map(|(words, kept, quote)| {
        words.iter().map(|name| Promise { name, kept: *kept, quote, source: SOURCE })
    });
    let mut promises: Vec<Promise> = promises.collect();
    if model != FileModel::Posix {
        let kept = promises.iter_mut().filter(|promise| JOURNAL_KEEPS.contains(&promise.name));
        for promise in kept {
            (promise.kept, promise.quote) = (true, JOURNAL_QUOTE);
            promise.source = JOURNAL_SOURCE;
        }
    }
    Profile { system: format!("simulated files, model {model}"), promises }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/model/fault-model.md");

    #[test]
    fn every_quotation_stands_in_its_section() {
        let section =
            PAGE.split("\n## 7.").nth(1).and_then(|rest| rest.split("\n## 8.").next()).unwrap();
        let section = section.split_whitespace().collect::<Vec<_>>().join(" ");
        for Promise { name, quote, .. } in profile(FileModel::Posix, false).promises {
            assert!(section.contains(quote), "{name}: {quote}");
        }
    }
}
