//! The rules of what is promised, one by one, as the model has them.

use explode_runtime::verdict::{Excluded, Profile, Promise as Line};

use super::model::Model;
use super::models::Models;
use crate::fs::model::SyncCall::{Fdatasync, Fsync, FsyncOfDirectory, Sync};
use crate::fs::model::pattern::pattern;
use crate::fs::model::promise::{Contents, Part, What};

/// The words for its name and for its contents, the bounds of its size, the bytes that must be
/// there.
type OfAFile = (&'static str, &'static str, (usize, Option<usize>), Vec<(usize, usize)>);

/// A model, and how its steps are said here.
struct Said(Model);

impl Said {
    /// `/a` and `/b`, 8192 bytes each, durable by fsync, and their names.
    fn files() -> Said {
        let mut said = Said(Model::new());
        for path in ["/a", "/b"] {
            said.write(path, 0, 8192);
            said.0.sync_file(path, Fsync);
        }
        said.0.sync_directory("/");
        said
    }

    fn write(&mut self, path: &str, at: usize, len: usize) {
        self.0.file_or_new(path).write(at, &pattern('x', 1, at, len));
    }

    fn truncate(&mut self, path: &str, size: usize) {
        self.0.file_or_new(path).truncate(size);
    }

    /// What is promised of a path.
    fn of(&self, path: &str) -> Option<What> {
        self.0
            .promises()
            .into_iter()
            .find(|promise| promise.path == path)
            .map(|promise| promise.what)
    }

    /// The promise of a file that must be there.
    fn file(&self, path: &str) -> OfAFile {
        match self.of(path) {
            Some(What::File(name, contents)) => {
                let Contents { promise, least, most, .. } = contents;
                (name, promise, (least, most), ranges(&contents.parts))
            }
            other => panic!("{other:?}"),
        }
    }

    /// How many contents a name may lead to, if it leads anywhere.
    fn perhaps(&self, path: &str) -> usize {
        match self.of(path) {
            Some(What::Perhaps(contents)) => contents.len(),
            None => 0,
            other => panic!("{other:?}"),
        }
    }
}

fn ranges(parts: &[Part]) -> Vec<(usize, usize)> {
    parts.iter().map(|part| (part.at, part.at + part.bytes.len())).collect()
}

const NAME: &str = "synced-directory";
const WHOLE: &str = "synced-by-fsync";
const PARTLY: &str = "partly-synced-by-fsync";

#[test]
fn what_is_not_changed_is_there_to_the_byte() {
    let mut said = Said::files();
    said.0.remove("/b");
    assert_eq!(said.file("/a"), (NAME, WHOLE, (8192, Some(8192)), vec![(0, 8192)]));
}

#[test]
fn what_is_written_since_is_not_promised() {
    let mut said = Said::files();
    said.write("/a", 1000, 512);
    assert_eq!(
        said.file("/a"),
        (PARTLY, PARTLY, (8192, Some(8192)), vec![(0, 1000), (1512, 8192)])
    );
    said.write("/a", 8192, 1);
    assert_eq!(said.file("/a").2, (8192, None), "it may have grown");
}

#[test]
fn a_hole_that_is_written_into_is_promised_far_from_there() {
    let mut said = Said::files();
    said.write("/a", 300_000, 100);
    said.0.sync_file("/a", Fsync);
    assert_eq!(said.file("/a").3, [(0, 300_100)], "zeroes and all");
    said.write("/a", 100_000, 100);
    assert_eq!(said.file("/a").3, [(0, 64 << 10), (128 << 10, 300_100)]);
}

#[test]
fn what_is_cut_is_not_promised() {
    let mut said = Said::files();
    said.truncate("/a", 1000);
    assert_eq!(said.file("/a"), (PARTLY, PARTLY, (1000, None), vec![(0, 1000)]));
    said.truncate("/a", 9000);
    assert_eq!(said.file("/a").2, (1000, None), "the smallest since");
    said.truncate("/a", 0);
    assert_eq!(said.file("/a"), (PARTLY, PARTLY, (0, None), vec![]));
}

#[test]
fn fdatasync_promises_what_can_be_read() {
    let mut said = Said::files();
    said.truncate("/a", 1000);
    said.0.sync_file("/a", Fdatasync);
    assert_eq!(said.file("/a"), (NAME, "synced-by-fdatasync", (1000, None), vec![(0, 1000)]));
    said.0.sync_file("/a", Fsync);
    assert_eq!(said.file("/a"), (NAME, WHOLE, (1000, Some(1000)), vec![(0, 1000)]));
    said.write("/a", 1000, 500);
    said.0.sync_file("/a", Fdatasync);
    assert_eq!(said.file("/a"), (NAME, "synced-by-fdatasync", (1500, Some(1500)), vec![(0, 1500)]));
}

/// If the promise of one call is excluded, the promise of a stronger call still holds.
#[test]
fn the_strongest_call_is_responsible() {
    let mut said = Said::files();
    said.0.sync_file("/a", Fdatasync);
    assert_eq!((said.file("/a").0, said.file("/a").1), (NAME, WHOLE));
    said.0.sync_all();
    said.0.sync_file("/a", Fsync);
    said.0.sync_directory("/");
    assert_eq!((said.file("/a").0, said.file("/a").1), ("synced-by-sync", "synced-by-sync"));
    said.write("/a", 0, 1);
    assert_eq!(said.file("/a").1, "partly-synced-by-sync");
    said.0.sync_file("/a", Fdatasync);
    assert_eq!((said.file("/a").0, said.file("/a").1), ("synced-by-sync", "synced-by-fdatasync"));
}

#[test]
fn a_name_needs_its_directory_and_its_file() {
    let mut said = Said::files();
    said.write("/c", 0, 10);
    said.0.sync_directory("/");
    assert_eq!(said.of("/c"), None, "it may lead to an inode that is not there");
    said.0.sync_file("/c", Fsync);
    assert_eq!(said.file("/c"), (NAME, WHOLE, (10, Some(10)), vec![(0, 10)]));

    said.0.mkdir("/d");
    said.write("/d/e", 0, 10);
    said.0.sync_file("/d/e", Fsync);
    said.0.sync_directory("/");
    assert_eq!((said.of("/d"), said.of("/d/e")), (None, None));
    said.0.sync_directory("/d");
    assert_eq!(said.of("/d"), Some(What::Directory(NAME)));
    assert_eq!(said.file("/d/e").1, WHOLE);
}

#[test]
fn a_new_name_that_is_not_synced_leads_to_what_was() {
    let mut said = Said::files();
    said.write("/c", 0, 10);
    assert_eq!(said.perhaps("/c"), 0, "nothing of it was synced");
    said.0.sync_file("/c", Fsync);
    assert_eq!(said.perhaps("/c"), 1);
    said.0.rename("/a", "/c");
    assert_eq!(
        (said.perhaps("/a"), said.perhaps("/c")),
        (1, 0),
        "the old /c is gone, and holds anything"
    );
    said.0.sync_directory("/");
    assert_eq!(said.of("/a"), Some(What::Nothing(NAME)));
    assert_eq!(said.file("/c"), (NAME, WHOLE, (8192, Some(8192)), vec![(0, 8192)]));
}

#[test]
fn what_is_removed_is_promised_to_nobody() {
    let mut said = Said::files();
    said.0.remove("/a");
    assert_eq!(said.of("/a"), None);
    said.write("/a", 0, 10);
    said.0.sync_file("/a", Fsync);
    assert_eq!(said.of("/a"), None, "it may lead to the old one still");
    said.0.remove("/a");
    said.0.sync_all();
    assert_eq!(said.of("/a"), Some(What::Nothing("synced-by-sync")));
}

/// An exclusion excuses no other call: of two syncs that have made the same data durable, the
/// promise of the one that is not excluded still holds.
#[test]
fn an_exclusion_leaves_what_other_calls_promise() {
    let excluding = |words: &[&'static str]| {
        let line = |name: &&'static str| Line { name, kept: false, quote: "", source: "" };
        let promises = words.iter().map(line).collect();
        Excluded::by(Some(&Profile { system: String::new(), promises }))
    };
    let done = |words: &[&'static str]| {
        let mut models = Models::new();
        models.exclude(excluding(words));
        models.change(|model| model.file_or_new("/a").write(0, &pattern('a', 1, 0, 4096)));
        models.sync(Fsync, |model| model.sync_file("/a", Fsync));
        models.sync(FsyncOfDirectory, |model| model.sync_directory("/"));
        models.change(|model| model.file_or_new("/b").write(0, &pattern('b', 1, 0, 4096)));
        models.sync(Sync, Model::sync_all);
        models
    };
    let of = |model: &Model, path: &str| {
        Said(model.clone()).of(path).map(|what| match what {
            What::File(name, contents) => format!("{name} {}", contents.promise),
            other => format!("{other:?}"),
        })
    };
    assert!(done(&["unsynced-contents"]).kept.is_none(), "nothing of ours");
    let without_sync = done(&["synced-by-sync"]);
    let kept = without_sync.kept.as_ref().unwrap();
    assert_eq!(of(&without_sync.all, "/b").as_deref(), Some("synced-by-sync synced-by-sync"));
    assert_eq!(of(kept, "/b"), None, "sync alone has made it durable");
    assert_eq!(
        of(&without_sync.all, "/a").as_deref(),
        Some("synced-by-sync synced-by-sync"),
        "the stronger one"
    );
    assert_eq!(
        of(kept, "/a").as_deref(),
        Some("synced-directory synced-by-fsync"),
        "what is left of it"
    );
}
