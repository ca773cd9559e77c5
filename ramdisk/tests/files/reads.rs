//! Tests of the recorded reads of simulated files. If two crash disks have equal values for all
//! reads of a mount and its calls on the first, the results and writes on the second are the same.

use std::cell::Cell;

use explode_ramdisk::files::{FileModel, Granule};
use explode_ramdisk::{Event, Image, ImageView, ReadRange, Recording, SimFiles, Storage, Values};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::by_nodes::call_by_nodes;
use crate::operations::{Op, call, op};
use crate::replay::Replay;

const BASE: u32 = 3;

/// The results of calls on an image, with the events and the reads.
type Outcome = (String, Vec<Event>, Vec<ReadRange>);

/// Returns the outcome of calls on nodes.
fn outcome_by_nodes(model: FileModel, image: &Image, granule: u32, ops: &[Op]) -> Outcome {
    let storage = Storage::new(image.clone(), Recording::On);
    storage.note_reads();
    let files = SimFiles::mount_by_nodes(model, storage.clone(), BASE, Granule(granule)).unwrap();
    let answers: Vec<String> =
        ops.iter().map(|op| format!("{:?}", call_by_nodes(&files, op))).collect();
    let reads = storage.take_reads().expect("the image was not asked for");
    (answers.join("\n"), storage.take_log(), reads)
}

/// Returns the outcome of calls on paths.
fn outcome(model: FileModel, image: &Image, granule: u32, ops: &[Op]) -> Outcome {
    let storage = Storage::new(image.clone(), Recording::On);
    storage.note_reads();
    let files = SimFiles::mount_as(model, storage.clone(), BASE, Granule(granule)).unwrap();
    // The status of a file needs no reads beyond those of the mount.
    let sizes = ["/a", "/b", "/c"].map(|path| Op::Stat(path.to_owned()));
    let answers: Vec<String> =
        ops.iter().chain(&sizes).map(|op| format!("{:?}", call(&files, op))).collect();
    let reads = storage.take_reads().expect("nobody has asked for the image");
    (answers.join("\n"), storage.take_log(), reads)
}

/// Returns possible crash disks after these calls.
fn crashes(model: FileModel, ops: &[Op], granule: u32, seeds: &[u64]) -> Vec<Image> {
    let storage = Storage::new(Image::new(), Recording::On);
    let files = SimFiles::mount_as(model, storage.clone(), BASE, Granule(granule)).unwrap();
    let mut replay = Replay::new(Image::new(), BASE, granule);
    for op in ops {
        let _ = call(&files, op);
    }
    storage.take_log().iter().for_each(|event| replay.event(event));
    seeds.iter().map(|seed| replay.crash(*seed)).collect()
}

/// Compares the outcomes for pairs of images that agree on the reads of the first. Returns the
/// number of pairs of unequal images.
fn compare(
    model: FileModel,
    outcome: fn(FileModel, &Image, u32, &[Op]) -> Outcome,
    before: &[Op],
    granule: u32,
    seeds: &[u64],
    after: &[Op],
) -> u32 {
    let mut values = Values::default();
    let images = crashes(model, before, granule, seeds);
    let outcomes: Vec<_> =
        images.iter().map(|image| outcome(model, image, granule, after)).collect();
    let mut agreeing = 0;
    for (one, (answers, log, reads)) in images.iter().zip(&outcomes) {
        for (other, (other_answers, other_log, _)) in images.iter().zip(&outcomes) {
            let (seen, other_seen) = (ImageView::of(one), ImageView::of(other));
            if reads.iter().all(|read| values.of(*read, &seen) == values.of(*read, &other_seen)) {
                assert_eq!((answers, log), (other_answers, other_log), "{reads:?}");
                agreeing += u32::from(one.identity() != other.identity());
            }
        }
    }
    agreeing
}

/// Returns a strategy for calls without a new mount, because a mount reads the whole image.
fn calls(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = op().prop_filter("no new mount", |op| !matches!(op, Op::Remount));
    prop::collection::vec(op, 0..most)
}

#[test]
fn images_with_equal_reads_give_equal_results() {
    assert!(pairs(FileModel::Posix, outcome) > 100);
}

#[test]
fn images_with_equal_reads_of_nodes_give_equal_results() {
    // A mount reads nothing, so more images agree.
    assert!(pairs(FileModel::Posix, outcome_by_nodes) > 2 * pairs(FileModel::Posix, outcome));
}

#[test]
fn images_with_a_journal_and_equal_reads_give_equal_results() {
    for model in [FileModel::Ext4, FileModel::Xfs, FileModel::Btrfs] {
        let (by_nodes, by_paths) = (pairs(model, outcome_by_nodes), pairs(model, outcome));
        assert!(by_nodes > 100 && by_paths > 10, "{model}: {by_nodes}, {by_paths}");
    }
}

/// Compares pairs of images, and returns the number of those that agree on the reads.
fn pairs(model: FileModel, outcome: fn(FileModel, &Image, u32, &[Op]) -> Outcome) -> u32 {
    let agreeing = Cell::new(0);
    let granule = prop::sample::select(vec![512, 1536, 4096, 8192]);
    let seeds = prop::collection::vec(any::<u64>(), 8);
    // The cases are the same each time, so the number of compared pairs is fixed.
    let config =
        ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    let property = |(before, granule, seeds, after): (Vec<Op>, u32, Vec<u64>, Vec<Op>)| {
        agreeing.set(agreeing.get() + compare(model, outcome, &before, granule, &seeds, &after));
        Ok(())
    };
    runner.run(&(calls(60), granule, seeds, calls(12)), property).unwrap();
    agreeing.get()
}
