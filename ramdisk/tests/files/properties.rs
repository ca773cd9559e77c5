//! Tests with random calls: results equal those of the model, the log shows the durability that
//! syncs promise, and the files of every crash disk can be used.

use explode_ramdisk::files::{Fd, FileKind, Granule, OpenFlags};
use explode_ramdisk::{Event, Files, Image, Recording, SimFiles, Storage};
use proptest::prelude::*;

use crate::model::Model;
use crate::operations::{Op, call, op, tree};
use crate::replay::Replay;

const BASE: u32 = 3;

fn mount(image: Image, granule: u32) -> SimFiles {
    SimFiles::mount(Storage::new(image, Recording::On), BASE, Granule(granule)).unwrap()
}

fn granule() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![512, 1536, 4096, 8192])
}

/// A file system and the replay of its log since a durable image.
struct Logged {
    files: SimFiles,
    replay: Replay,
    granule: u32,
}

impl Logged {
    fn new(image: Image, granule: u32) -> Logged {
        Logged {
            files: mount(image.clone(), granule),
            replay: Replay::new(image, BASE, granule),
            granule,
        }
    }

    fn open_inodes(&self) -> impl Iterator<Item = u32> + '_ {
        // No test makes more calls than this, so no handle has a larger number.
        (0..120).filter_map(|fd| self.files.fstat(Fd(fd)).ok()).map(|stat| stat.inode)
    }

    /// Replays the new events of the log, and checks the durability that they must show after this
    /// call.
    fn check(&mut self, op: &Op) {
        for event in self.files.storage().take_log() {
            self.replay.event(&event);
        }
        let unsynced = self.replay.unsynced();
        match op {
            Op::Sync => {
                assert!(unsynced.is_empty(), "not synced: {unsynced:?}");
                assert_eq!(tree(&mount(self.replay.durable(), self.granule)), tree(&self.files));
            }
            Op::SyncDir(path) => {
                if let Ok(stat) = self.files.stat(path) {
                    assert!(stat.kind == FileKind::File || !unsynced.contains(&stat.inode));
                }
            }
            Op::Fsync(fd) | Op::Fdatasync(fd) => {
                if let Ok(stat) = self.files.fstat(Fd(*fd)) {
                    assert!(!unsynced.contains(&stat.inode));
                }
            }
            _ => {}
        }
        let mut kept = self.replay.reachable();
        kept.extend(self.open_inodes());
        assert!(unsynced.is_subset(&kept), "not forgotten: {unsynced:?} is more than {kept:?}");
    }
}

/// Checks that every file can be read and grows over zeroes, and that a new file can be made and is
/// empty.
fn use_it(files: &SimFiles) {
    for (path, (_, contents)) in tree(files) {
        if files.readdir(&path).is_ok() {
            continue;
        }
        let fd = files.open(&path, OpenFlags::EXISTING).unwrap();
        let before = files.read_file(&path).unwrap();
        assert!(before.starts_with(&contents), "two names of one file: it can only have grown");
        files.pwrite(fd, before.len() as u64 + 9000, b"x").unwrap();
        let after = files.read_file(&path).unwrap();
        assert!(
            after.starts_with(&before)
                && after[before.len()..].iter().all(|byte| [0, b'x'].contains(byte))
        );
        files.close(fd).unwrap();
    }
    let new = files.open("/new", OpenFlags { exclusive: true, ..OpenFlags::CREATE }).unwrap();
    assert_eq!(files.fstat(new).unwrap().size, 0);
    files.ftruncate(new, 30_000).unwrap();
    assert!(files.read_file("/new").unwrap().iter().all(|byte| *byte == 0));
    files.mkdir("/new directory").unwrap();
    assert_eq!(files.readdir("/new directory").unwrap(), []);
    files.sync().unwrap();
    assert_eq!(tree(&mount(files.storage().image(), 4096)), tree(files));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_equal_those_of_the_model(
        ops in prop::collection::vec(op(), 0..120),
        granule in granule(),
    ) {
        let model = Model::default();
        let mut files = mount(Image::new(), granule);
        for op in ops {
            if matches!(op, Op::Remount) {
                model.close_all();
                files = mount(files.storage().image(), granule);
                prop_assert_eq!(tree(&files), tree(&model));
            }
            prop_assert_eq!(call(&files, &op), call(&model, &op), "{:?}", op);
        }
        prop_assert_eq!(tree(&files), tree(&model));
        prop_assert_eq!(tree(&mount(files.storage().image(), granule)), tree(&model));
    }

    #[test]
    fn the_log_keeps_the_promises_of_syncs(ops in prop::collection::vec(op(), 0..120),
        granule in granule()) {
        let mut logged = Logged::new(Image::new(), granule);
        for op in ops {
            if matches!(op, Op::Remount) {
                logged = Logged::new(logged.files.storage().image(), granule);
            }
            let _ = call(&logged.files, &op);
            logged.check(&op);
        }
    }

    #[test]
    fn crashes_leave_usable_file_systems(
        ops in prop::collection::vec((op(), prop::option::weighted(0.1, any::<u64>())), 0..80),
        granule in granule(),
    ) {
        let mut logged = Logged::new(Image::new(), granule);
        for (op, crash) in ops {
            let _ = call(&logged.files, &op);
            logged.check(&op);
            if let Some(seed) = crash {
                use_it(&mount(logged.replay.crash(seed), granule));
                if matches!(op, Op::Remount) || seed % 4 == 0 {
                    logged = Logged::new(logged.replay.crash(seed), granule);
                }
            }
        }
    }

    #[test]
    fn the_same_calls_make_the_same_log(ops in prop::collection::vec(op(), 0..60)) {
        let log = || -> Vec<Event> {
            let files = mount(Image::new(), 4096);
            for op in &ops {
                let _ = call(&files, op);
            }
            files.storage().take_log()
        };
        prop_assert_eq!(log(), log());
    }
}
