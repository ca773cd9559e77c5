//! Tests of simulated files with the order of changes of a file system: names are those after some
//! call, what was synced is there, and each crash disk can be used and can crash again.

use std::collections::BTreeSet;

use explode_ramdisk::files::{Fd, FileKind, FileModel, Granule};
use explode_ramdisk::{Event, Files, Image, Recording, SimFiles, Storage};
use proptest::prelude::*;

use crate::model::Model;
use crate::operations::{Op, call, op, tree};
use crate::replay::Replay;

const BASE: u32 = 3;

fn mount(model: FileModel, image: Image, granule: u32) -> SimFiles {
    let storage = Storage::new(image, Recording::On);
    SimFiles::mount_as(model, storage, BASE, Granule(granule)).unwrap()
}

/// Files, the replay of their log, and the names after each call that a crash can lose.
struct Logged {
    model: FileModel,
    files: SimFiles,
    replay: Replay,
    granule: u32,
    names: Vec<BTreeSet<(String, FileKind)>>,
}

impl Logged {
    fn new(model: FileModel, image: Image, granule: u32) -> Logged {
        let files = mount(model, image.clone(), granule);
        let names = vec![names(&files)];
        Logged { model, files, replay: Replay::new(image, BASE, granule), granule, names }
    }

    fn call(&mut self, op: &Op) {
        let _ = call(&self.files, op);
        for event in self.files.storage().take_log() {
            self.replay.event(&event);
        }
        let now = names(&self.files);
        if matches!(op, Op::Sync) {
            self.names.clear();
            let durable = mount(self.model, self.replay.durable(), self.granule);
            assert_eq!(tree(&durable), tree(&self.files));
        }
        self.names.push(now);
    }

    /// Returns the inodes that have a name.
    fn inodes(&self) -> BTreeSet<u32> {
        let paths = tree(&self.files).into_keys();
        paths.map(|path| self.files.stat(&path).unwrap().inode).collect()
    }

    /// Returns the files after a crash. Their names are those after some call.
    fn crash(&self, seed: u64) -> SimFiles {
        let files = mount(self.model, self.replay.crash(seed), self.granule);
        let found = names(&files);
        // The log trees of btrfs keep names before the ones that precede them.
        let is_ordered = self.model == FileModel::Btrfs || self.names.contains(&found);
        assert!(is_ordered, "{found:?} is none of {:?}", self.names);
        files
    }
}

fn names(files: &SimFiles) -> BTreeSet<(String, FileKind)> {
    tree(files).into_keys().map(|path| (path.clone(), files.stat(&path).unwrap().kind)).collect()
}

fn models() -> impl Strategy<Value = FileModel> {
    prop::sample::select(vec![FileModel::Ext4, FileModel::Xfs, FileModel::Btrfs])
}

/// Returns calls on few names, most of which move names or sync.
fn move_or_sync() -> impl Strategy<Value = Op> {
    let path = || prop::sample::select(vec!["/a", "/b", "/d/a"]).prop_map(str::to_owned);
    prop_oneof![
        3 => path().prop_map(|path| Op::Open { path, flags: (true, false, false) }),
        1 => (0u32..4).prop_map(Op::Close),
        2 => Just(Op::Write { fd: 0, offset: 0, len: 600, byte: 1 }),
        5 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Op::Link(from, to)),
        1 => path().prop_map(Op::Unlink),
        1 => Just(Op::Mkdir("/d".to_owned())),
        3 => (0u32..4).prop_map(Op::Fsync),
        1 => Just(Op::SyncDir("/d".to_owned())),
        1 => Just(Op::SyncDir("/".to_owned())),
        2 => Just(Op::Sync),
    ]
}

fn granule() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![512, 1536, 4096, 8192])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_are_those_of_posix(
        model in models(),
        ops in prop::collection::vec(op(), 0..120),
        granule in granule(),
    ) {
        let simple = Model::default();
        let mut files = mount(model, Image::new(), granule);
        for op in ops {
            if matches!(op, Op::Remount) {
                simple.close_all();
                files = mount(model, files.storage().image(), granule);
                prop_assert_eq!(tree(&files), tree(&simple));
            }
            prop_assert_eq!(call(&files, &op), call(&simple, &op), "{:?}", op);
        }
        prop_assert_eq!(tree(&files), tree(&simple));
        prop_assert_eq!(tree(&mount(model, files.storage().image(), granule)), tree(&simple));
    }

    #[test]
    fn a_crash_leaves_the_names_after_some_call(
        model in models(),
        ops in prop::collection::vec((op(), prop::option::weighted(0.2, any::<u64>())), 0..80),
        granule in granule(),
    ) {
        let mut logged = Logged::new(model, Image::new(), granule);
        for (op, crash) in ops {
            logged.call(&op);
            let Some(seed) = crash else { continue };
            let after = logged.crash(seed);
            let before = tree(&after);
            after.sync().unwrap();
            prop_assert_eq!(tree(&after), before);
            if seed % 4 == 0 {
                // The next crash comes while the files are used that this one has left.
                logged = Logged::new(model, logged.replay.crash(seed), granule);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A file that was synced has its contents and a name. What was durable and still has a name is
    /// under some name, whatever was synced since.
    #[test]
    fn a_crash_leaves_what_was_synced_and_loses_nothing_that_was_moved(
        model in models(),
        ops in prop_oneof![
            prop::collection::vec(op(), 0..100),
            prop::collection::vec(move_or_sync(), 0..60),
        ],
        granule in granule(),
        seeds in prop::collection::vec(any::<u64>(), 100),
    ) {
        let mut logged = Logged::new(model, Image::new(), granule);
        let mut durable = BTreeSet::new();
        for (op, seed) in ops.into_iter().zip(seeds) {
            logged.call(&op);
            let after = logged.crash(seed);
            if seed % 8 == 0 {
                // The next crash comes while the files are used that this one has left.
                logged = Logged::new(model, logged.replay.crash(seed), granule);
                durable = logged.inodes();
                continue;
            }
            if matches!(op, Op::Sync) {
                durable = logged.inodes();
            }
            // btrfs may log that unlink(2) takes a name, and not the names of a link(2) before.
            if model == FileModel::Btrfs && matches!(op, Op::Unlink(_)) {
                durable.clear();
            }
            durable = durable.intersection(&logged.inodes()).copied().collect();
            for inode in &durable {
                prop_assert!(after.path_of(*inode).is_some(), "{:?}: inode {} is lost", op, inode);
            }
            let (Op::Fsync(fd) | Op::Fdatasync(fd)) = op else { continue };
            let Some(synced) = logged.files.fstat(Fd(fd)).ok().filter(|stat| stat.links > 0) else {
                continue;
            };
            let contents = |files: &SimFiles| {
                files.path_of(synced.inode).map(|path| files.read_file(&path).unwrap())
            };
            prop_assert_eq!(contents(&after), contents(&logged.files));
        }
    }
}

/// A file that was lost leaves nothing to one that is made later, in the same place.
#[test]
fn a_lost_change_stays_lost() {
    for model in [FileModel::Ext4, FileModel::Xfs, FileModel::Btrfs] {
        let mut logged = Logged::new(model, Image::new(), 4096);
        let open = |path: &str| Op::Open { path: path.to_owned(), flags: (true, false, false) };
        let write = Op::Write { fd: 0, offset: 0, len: 4096, byte: 1 };
        for op in [open("/a"), write.clone(), Op::Close(0)] {
            logged.call(&op);
        }
        // Nothing is kept: neither the name nor the contents.
        let mut again = Logged::new(model, logged.replay.durable(), 4096);
        assert_eq!(again.files.readdir("/").unwrap(), []);
        for op in [open("/b"), Op::SyncDir("/".to_owned())] {
            again.call(&op);
        }
        let durable = mount(model, again.replay.durable(), 4096);
        assert_eq!(durable.readdir("/").unwrap(), [("b".to_owned(), FileKind::File)]);
        assert_eq!(durable.read_file("/b").unwrap(), []);
    }
}

/// A size that ftruncate(2) has set is durable after fdatasync(2).
#[test]
fn fdatasync_waits_for_a_new_size() {
    for model in [FileModel::Ext4, FileModel::Xfs, FileModel::Btrfs] {
        let mut logged = Logged::new(model, Image::new(), 4096);
        let open = Op::Open { path: "/a".to_owned(), flags: (true, false, false) };
        for op in [open, Op::Sync, Op::Truncate { fd: 0, size: 9000 }, Op::Fdatasync(0)] {
            logged.call(&op);
        }
        let durable = mount(model, logged.replay.durable(), 4096);
        assert_eq!(durable.stat("/a").unwrap().size, 9000, "{model}");
    }
}

/// A log tree that was lost in a crash does not take the number of one that is written later.
#[test]
fn a_lost_log_tree_stays_lost() {
    let mut logged = Logged::new(FileModel::Btrfs, Image::new(), 4096);
    let open = |path: &str| Op::Open { path: path.to_owned(), flags: (true, false, false) };
    logged.call(&open("/a"));
    // The crash comes when the log tree is written and its pointer is not. The name is kept.
    call(&logged.files, &Op::Fsync(0)).unwrap();
    let log = logged.files.storage().take_log();
    let written = log.iter().position(|event| matches!(event, Event::Append { .. }));
    log[..=written.expect("the log tree")].iter().for_each(|event| logged.replay.event(event));
    let image = (0..).map(|seed| logged.replay.crash(seed));
    let has_name = |image: &Image| mount(FileModel::Btrfs, image.clone(), 4096).stat("/a").is_ok();
    let kept = image.take(100).find(has_name).expect("a crash that keeps the name");
    let mut again = Logged::new(FileModel::Btrfs, kept, 4096);
    for op in [open("/b"), Op::Fsync(0)] {
        again.call(&op);
    }
    let durable = mount(FileModel::Btrfs, again.replay.durable(), 4096);
    assert_eq!(durable.stat("/b").unwrap().kind, FileKind::File);
}
