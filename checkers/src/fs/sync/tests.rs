//! Tests of the rules for promises, one by one.

use explode_ramdisk::files::{FsCall, OpenFlags};
use explode_runtime::verdict::{ExcludedPromises, Profile, Promise as Line};

use super::durable::Durable;
use crate::fs::model::pattern::pattern;
use crate::fs::model::promise::{PathPromise, PromisedContents, PromisedObject, PromisedPart};

/// The promises of a file: the words for its name and for its contents, the bounds of its size, and
/// the ranges of bytes that must be there.
type OfAFile = (&'static str, &'static str, (usize, Option<usize>), Vec<(usize, usize)>);

/// A tree with its durable part, and short methods for steps.
struct DurableFiles(Durable);

impl DurableFiles {
    /// Returns `/a` and `/b`, of 8192 bytes each, whose contents and names are durable by fsync.
    fn files() -> DurableFiles {
        let mut files = DurableFiles(Durable::new());
        for path in ["/a", "/b"] {
            files.write(path, 0, 8192);
            files.fsync(path);
        }
        files.sync_directory("/");
        files
    }

    fn write(&mut self, path: &str, at: usize, len: usize) {
        self.0.follow(&FsCall::Open { path: path.to_owned(), flags: OpenFlags::CREATE });
        self.0.follow(&FsCall::pwrite(path, at as u64, pattern('x', 1, at, len)));
    }

    fn truncate(&mut self, path: &str, size: u64) {
        self.0.follow(&FsCall::Ftruncate { path: path.to_owned(), size });
    }

    fn unlink(&mut self, path: &str) {
        self.0.follow(&FsCall::Unlink { path: path.to_owned() });
    }

    fn mkdir(&mut self, path: &str) {
        self.0.follow(&FsCall::Mkdir { path: path.to_owned() });
    }

    fn rename(&mut self, from: &str, to: &str) {
        self.0.follow(&FsCall::Rename { from: from.to_owned(), to: to.to_owned() });
    }

    fn fsync(&mut self, path: &str) {
        self.0.follow(&FsCall::Fsync { path: path.to_owned() });
    }

    fn fdatasync(&mut self, path: &str) {
        self.0.follow(&FsCall::Fdatasync { path: path.to_owned() });
    }

    fn sync_directory(&mut self, path: &str) {
        self.0.follow(&FsCall::FsyncDir { path: path.to_owned() });
    }

    fn sync_all(&mut self) {
        self.0.follow(&FsCall::Syncfs);
    }

    /// Returns the promise about a path.
    fn of(&self, path: &str) -> Option<PromisedObject> {
        of(self.0.promises().0, path)
    }

    /// Returns the promise about a file that must be there.
    fn file(&self, path: &str) -> OfAFile {
        match self.of(path) {
            Some(PromisedObject::File(name, contents)) => {
                let PromisedContents { promise, least, most, .. } = contents;
                (name, promise, (least, most), ranges(&contents.parts))
            }
            other => panic!("{other:?}"),
        }
    }

    /// Returns the number of contents that a name may have if it leads anywhere.
    fn perhaps(&self, path: &str) -> usize {
        match self.of(path) {
            Some(PromisedObject::Perhaps(contents)) => contents.len(),
            None => 0,
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the promise about a path among these promises.
fn of(promises: Vec<PathPromise>, path: &str) -> Option<PromisedObject> {
    promises.into_iter().find(|promise| promise.path == path).map(|promise| promise.object)
}

fn ranges(parts: &[PromisedPart]) -> Vec<(usize, usize)> {
    parts.iter().map(|part| (part.at, part.at + part.bytes.len())).collect()
}

const NAME: &str = "synced-directory";
const WHOLE: &str = "synced-by-fsync";
const PARTLY: &str = "partly-synced-by-fsync";

#[test]
fn unchanged_synced_data_is_promised_to_the_byte() {
    let mut files = DurableFiles::files();
    files.unlink("/b");
    assert_eq!(files.file("/a"), (NAME, WHOLE, (8192, Some(8192)), vec![(0, 8192)]));
}

#[test]
fn bytes_written_after_the_sync_are_not_promised() {
    let mut files = DurableFiles::files();
    files.write("/a", 1000, 512);
    assert_eq!(
        files.file("/a"),
        (PARTLY, PARTLY, (8192, Some(8192)), vec![(0, 1000), (1512, 8192)])
    );
    files.write("/a", 8192, 1);
    assert_eq!(files.file("/a").2, (8192, None), "it may have grown");
}

#[test]
fn a_hole_that_is_written_into_is_promised_far_from_there() {
    let mut files = DurableFiles::files();
    files.write("/a", 300_000, 100);
    files.fsync("/a");
    assert_eq!(files.file("/a").3, [(0, 300_100)], "zeroes and all");
    files.write("/a", 100_000, 100);
    assert_eq!(files.file("/a").3, [(0, 64 << 10), (128 << 10, 300_100)]);
}

#[test]
fn bytes_cut_after_the_sync_are_not_promised() {
    let mut files = DurableFiles::files();
    files.truncate("/a", 1000);
    assert_eq!(files.file("/a"), (PARTLY, PARTLY, (1000, None), vec![(0, 1000)]));
    files.truncate("/a", 9000);
    assert_eq!(files.file("/a").2, (1000, None), "the smallest since");
    files.truncate("/a", 0);
    assert_eq!(files.file("/a"), (PARTLY, PARTLY, (0, None), vec![]));
}

#[test]
fn fdatasync_promises_what_can_be_read() {
    let mut files = DurableFiles::files();
    files.truncate("/a", 1000);
    files.fdatasync("/a");
    assert_eq!(files.file("/a"), (NAME, "synced-by-fdatasync", (1000, None), vec![(0, 1000)]));
    files.fsync("/a");
    assert_eq!(files.file("/a"), (NAME, WHOLE, (1000, Some(1000)), vec![(0, 1000)]));
    files.write("/a", 1000, 500);
    files.fdatasync("/a");
    assert_eq!(
        files.file("/a"),
        (NAME, "synced-by-fdatasync", (1500, Some(1500)), vec![(0, 1500)])
    );
}

/// If the promise of one call is excluded, the promise of a stronger call still holds.
#[test]
fn the_strongest_call_is_responsible() {
    let mut files = DurableFiles::files();
    files.fdatasync("/a");
    assert_eq!((files.file("/a").0, files.file("/a").1), (NAME, WHOLE));
    files.sync_all();
    files.fsync("/a");
    files.sync_directory("/");
    assert_eq!((files.file("/a").0, files.file("/a").1), ("synced-by-sync", "synced-by-sync"));
    files.write("/a", 0, 1);
    assert_eq!(files.file("/a").1, "partly-synced-by-sync");
    files.fdatasync("/a");
    assert_eq!((files.file("/a").0, files.file("/a").1), ("synced-by-sync", "synced-by-fdatasync"));
}

#[test]
fn a_name_needs_its_directory_and_its_file() {
    let mut files = DurableFiles::files();
    files.write("/c", 0, 10);
    files.sync_directory("/");
    assert_eq!(files.of("/c"), None, "it may lead to an inode that is not there");
    files.fsync("/c");
    assert_eq!(files.file("/c"), (NAME, WHOLE, (10, Some(10)), vec![(0, 10)]));

    files.mkdir("/d");
    files.write("/d/e", 0, 10);
    files.fsync("/d/e");
    files.sync_directory("/");
    assert_eq!((files.of("/d"), files.of("/d/e")), (None, None));
    files.sync_directory("/d");
    assert_eq!(files.of("/d"), Some(PromisedObject::Directory(NAME)));
    assert_eq!(files.file("/d/e").1, WHOLE);
}

#[test]
fn an_unsynced_new_name_may_lead_to_the_old_file() {
    let mut files = DurableFiles::files();
    files.write("/c", 0, 10);
    assert_eq!(files.perhaps("/c"), 0, "nothing of it was synced");
    files.fsync("/c");
    assert_eq!(files.perhaps("/c"), 1);
    files.rename("/a", "/c");
    assert_eq!(
        (files.perhaps("/a"), files.perhaps("/c")),
        (1, 0),
        "the old /c is gone, and holds anything"
    );
    files.sync_directory("/");
    assert_eq!(files.of("/a"), Some(PromisedObject::Nothing(NAME)));
    assert_eq!(files.file("/c"), (NAME, WHOLE, (8192, Some(8192)), vec![(0, 8192)]));
}

#[test]
fn a_removed_file_has_no_promises() {
    let mut files = DurableFiles::files();
    files.unlink("/a");
    assert_eq!(files.of("/a"), None);
    files.write("/a", 0, 10);
    files.fsync("/a");
    assert_eq!(files.of("/a"), None, "it may lead to the old one still");
    files.unlink("/a");
    files.sync_all();
    assert_eq!(files.of("/a"), Some(PromisedObject::Nothing("synced-by-sync")));
}

/// If two syncs have made the same data durable and the promise of one is excluded, the promise of
/// the other still holds.
#[test]
fn an_exclusion_keeps_the_promises_of_other_calls() {
    let excluding = |words: &[&'static str]| {
        let line = |name: &&'static str| Line { name, kept: false, quote: "", source: "" };
        let promises = words.iter().map(line).collect();
        ExcludedPromises::by(Some(&Profile { system: String::new(), promises }))
    };
    let done = |words: &[&'static str]| {
        let mut files = DurableFiles(Durable::new());
        files.0.exclude(excluding(words));
        files.write("/a", 0, 4096);
        files.fsync("/a");
        files.sync_directory("/");
        files.write("/b", 0, 4096);
        files.sync_all();
        files.0
    };
    let promise_words = |promises: &[PathPromise], path: &str| {
        of(promises.to_vec(), path).map(|object| match object {
            PromisedObject::File(name, contents) => format!("{name} {}", contents.promise),
            other => format!("{other:?}"),
        })
    };
    assert!(done(&["unsynced-contents"]).kept.is_none(), "nothing of ours");
    let (kept, all) = done(&["synced-by-sync"]).promises();
    let all = all.expect("something is excluded");
    assert_eq!(promise_words(&all, "/b").as_deref(), Some("synced-by-sync synced-by-sync"));
    assert_eq!(promise_words(&kept, "/b"), None, "sync alone has made it durable");
    assert_eq!(
        promise_words(&all, "/a").as_deref(),
        Some("synced-by-sync synced-by-sync"),
        "the stronger one"
    );
    assert_eq!(
        promise_words(&kept, "/a").as_deref(),
        Some("synced-directory synced-by-fsync"),
        "what is left of it"
    );
}
