//! What counts as read of simulated files: whatever two crashes leave, if they agree on all that
//! one mount and its calls have read, then the other gives the same answers, and writes the same.

use std::cell::Cell;

use explode_ramdisk::files::Granule;
use explode_ramdisk::{Event, Image, ReadRange, Recording, SimFiles, Storage, Values};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::operations::{Op, call, op};
use crate::replay::Replay;

const BASE: u32 = 3;

/// What calls on an image have answered, what they have written, and what they have read.
fn outcome(image: &Image, granule: u32, ops: &[Op]) -> (String, Vec<Event>, Vec<ReadRange>) {
    let storage = Storage::new(image.clone(), Recording::On);
    storage.note_reads();
    let files = SimFiles::mount(storage.clone(), BASE, Granule(granule)).unwrap();
    // To look at a file's size takes no more than the mount.
    let sizes = ["/a", "/b", "/c"].map(|path| Op::Stat(path.to_owned()));
    let answers: Vec<String> =
        ops.iter().chain(&sizes).map(|op| format!("{:?}", call(&files, op))).collect();
    let reads = storage.take_reads().expect("nobody has asked for the image");
    (answers.join("\n"), storage.take_log(), reads)
}

/// Images that crashes can leave after these calls.
fn crashes(ops: &[Op], granule: u32, seeds: &[u64]) -> Vec<Image> {
    let storage = Storage::new(Image::new(), Recording::On);
    let files = SimFiles::mount(storage.clone(), BASE, Granule(granule)).unwrap();
    let mut replay = Replay::new(Image::new(), BASE, granule);
    for op in ops {
        let _ = call(&files, op);
    }
    storage.take_log().iter().for_each(|event| replay.event(event));
    seeds.iter().map(|seed| replay.crash(*seed)).collect()
}

/// Pairs of unequal images that agree on what was read of the first.
fn compare(before: &[Op], granule: u32, seeds: &[u64], after: &[Op]) -> u32 {
    let mut values = Values::default();
    let images = crashes(before, granule, seeds);
    let outcomes: Vec<_> = images.iter().map(|image| outcome(image, granule, after)).collect();
    let mut agreeing = 0;
    for (one, (answers, log, reads)) in images.iter().zip(&outcomes) {
        for (other, (other_answers, other_log, _)) in images.iter().zip(&outcomes) {
            if reads.iter().all(|read| values.of(*read, one) == values.of(*read, other)) {
                assert_eq!((answers, log), (other_answers, other_log), "{reads:?}");
                agreeing += u32::from(one.identity() != other.identity());
            }
        }
    }
    agreeing
}

/// Calls without mounting anew, which looks at the whole image.
fn calls(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = op().prop_filter("no new mount", |op| !matches!(op, Op::Remount));
    prop::collection::vec(op, 0..most)
}

#[test]
fn who_agrees_on_what_was_read_answers_the_same() {
    let agreeing = Cell::new(0);
    let granule = prop::sample::select(vec![512, 1536, 4096, 8192]);
    let seeds = prop::collection::vec(any::<u64>(), 8);
    // The same cases each time: how many pairs they compare is known.
    let config =
        ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    let property = |(before, granule, seeds, after): (Vec<Op>, u32, Vec<u64>, Vec<Op>)| {
        agreeing.set(agreeing.get() + compare(&before, granule, &seeds, &after));
        Ok(())
    };
    runner.run(&(calls(60), granule, seeds, calls(12)), property).unwrap();
    assert!(agreeing.get() > 100, "{} pairs", agreeing.get());
}
