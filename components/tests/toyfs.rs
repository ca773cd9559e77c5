//! Tests that the toy file system returns the same results as simulated files, also after it was
//! unmounted and mounted again.

use std::rc::Rc;

use explode_components::broken::toyfs;
use explode_ramdisk::files::{Fd, Files, Granule, OpenFlags};
use explode_ramdisk::{Image, RamDisk, Recording, SimFiles, Storage};
use explode_runtime::base::Options;
use explode_runtime::stack::{
    Asks, Below, Component, LayerPaths, LazyLayerPaths, Recovery, Surface,
};
use explode_runtime::writeset::DeviceRules;
use proptest::prelude::*;

/// Calls one of the component's methods on a disk.
fn on<T>(storage: &Storage, step: impl FnOnce(&Below<'_>) -> T) -> T {
    let disk = RamDisk::new(storage.clone(), 0, 4096);
    step(&Below {
        children: &[Surface::Disk(disk)],
        paths: &LazyLayerPaths::new(&|| vec![LayerPaths::default()]),
        devices: storage,
        first_device: 0,
        buffers: true,
        place: std::path::Path::new("/nonexistent"),
        rules: DeviceRules::default(),
        seed: 0,
        asks: Asks::default(),
        calls: None,
    })
}

fn files(component: &dyn Component) -> Rc<dyn Files> {
    match component.surface() {
        Surface::Files(files) => files,
        other => panic!("it offers {other:?}"),
    }
}

#[derive(Clone, Debug)]
enum Op {
    Write(usize, u64, Vec<u8>),
    Truncate(usize, u64),
    Mkdir(usize),
    Rmdir(usize),
    Unlink(usize),
    Link(usize, usize),
    Rename(usize, usize),
    Sync,
    Remount,
}

const PATHS: [&str; 6] = ["/a", "/b", "/d", "/d/a", "/d/e", "/d/e/f"];

/// Returns the result of a call as text. Files opened for the call are closed again.
fn take(files: &dyn Files, op: &Op) -> String {
    let with = |path: &str, call: &dyn Fn(Fd) -> explode_ramdisk::files::Result<()>| {
        let fd = files.open(path, OpenFlags::CREATE)?;
        let answer = call(fd);
        files.close(fd)?;
        answer
    };
    let answer = match op {
        Op::Write(path, at, data) => with(PATHS[*path], &|fd| files.pwrite(fd, *at, data)),
        Op::Truncate(path, size) => with(PATHS[*path], &|fd| files.ftruncate(fd, *size)),
        Op::Mkdir(path) => files.mkdir(PATHS[*path]),
        Op::Rmdir(path) => files.rmdir(PATHS[*path]),
        Op::Unlink(path) => files.unlink(PATHS[*path]),
        Op::Link(from, to) => files.link(PATHS[*from], PATHS[*to]),
        Op::Rename(from, to) => files.rename(PATHS[*from], PATHS[*to]),
        Op::Sync | Op::Remount => files.sync(),
    };
    format!("{answer:?}")
}

/// Returns everything that can be read, as text.
fn tree(files: &dyn Files) -> String {
    let look = |path: &str| {
        let stat = files.stat(path).map(|stat| (stat.kind, stat.size, stat.links));
        let links =
            stat.map(|(kind, size, links)| (kind, size, if path.len() > 1 { links } else { 0 }));
        format!("{path} {:?} {:?} {:?}\n", links, files.readdir(path), files.read_file(path))
    };
    ["/"].iter().chain(&PATHS).map(|path| look(path)).collect()
}

fn op() -> impl Strategy<Value = Op> {
    let path = 0..PATHS.len();
    let at = prop_oneof![0_u64..10_000, 30_000_u64..50_000];
    let data = prop::collection::vec(1_u8..=255, 1..6000);
    prop_oneof![
        4 => (path.clone(), at.clone(), data)
            .prop_map(|(path, at, data)| Op::Write(path, at, data)),
        2 => (path.clone(), at).prop_map(|(path, size)| Op::Truncate(path, size)),
        2 => path.clone().prop_map(Op::Mkdir),
        1 => path.clone().prop_map(Op::Rmdir),
        2 => path.clone().prop_map(Op::Unlink),
        1 => (path.clone(), path.clone()).prop_map(|(from, to)| Op::Link(from, to)),
        2 => (path.clone(), path).prop_map(|(from, to)| Op::Rename(from, to)),
        1 => Just(Op::Sync),
        1 => Just(Op::Remount),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn toyfs_gives_the_results_of_simulated_files(
        metadata in prop::sample::select(vec!["journal", "versions", "in-place"]),
        ops in prop::collection::vec(op(), 1..40),
    ) {
        let options = Options::none().with("metadata", metadata);
        let storage = Storage::new(Image::new(), Recording::Off);
        let simulated = Storage::new(Image::new(), Recording::Off);
        let simulated = SimFiles::mount(simulated, 0, Granule::default()).unwrap();
        let mut toy = toyfs::def().make(&options).unwrap();
        on(&storage, |below| toy.init(below)).unwrap();
        on(&storage, |below| toy.mount(below)).unwrap();
        for op in &ops {
            prop_assert_eq!(take(files(toy.as_ref()).as_ref(), op), take(&simulated, op), "{:?}",
                op);
            if let Op::Remount = op {
                on(&storage, |below| toy.unmount(below)).unwrap();
                toy = toyfs::def().make(&options).unwrap();
                let recovery = on(&storage, |below| toy.recover(below)).unwrap();
                prop_assert_eq!(recovery, Recovery::Clean, "its fsck has found something to \
                    repair");
                on(&storage, |below| toy.mount(below)).unwrap();
            }
            prop_assert_eq!(tree(files(toy.as_ref()).as_ref()), tree(&simulated), "after {:?}", op);
        }
    }
}

/// A bug belongs to one design, and the others refuse it.
#[test]
fn a_bug_of_another_design_is_refused() {
    let make = |metadata: &str, bug: &str| {
        toyfs::def().make(&Options::none().with("metadata", metadata).with("bug", bug)).map(drop)
    };
    for (metadata, bug) in [
        ("journal", "no-revoke"),
        ("versions", "inode-reuse"),
        ("in-place", "block-reuse"),
        ("in-place", "none"),
    ] {
        make(metadata, bug).unwrap();
    }
    for (metadata, bug) in [
        ("journal", "inode-reuse"),
        ("journal", "block-reuse"),
        ("versions", "no-revoke"),
        ("in-place", "inode-reuse"),
    ] {
        let refused = make(metadata, bug).unwrap_err().to_string();
        assert!(refused.contains("another design"), "{refused}");
    }
}
