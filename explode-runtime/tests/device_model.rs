//! The engine against the simulation of `device_model/`: random logs, every disk, its epochs, and
//! the exact count.
//!
//! PROPTEST_CASES and PROPTEST_RNG_SEED choose logs other than the fixed ones.

#![allow(clippy::print_stdout, reason = "what a property test met is its result too")]

#[path = "device_model/mod.rs"]
pub(crate) mod device_model;

use std::cell::RefCell;
use std::collections::BTreeMap;

use device_model::case::{Case, DEVICES};
use device_model::seen::Seen;
use device_model::{Disk, Disks, Epoch, generate, picture, tokens};
use explode_ramdisk::{Event, Identity, Image, Payload};
use explode_runtime::crash::{self, LogDisks, SampleLimits};
use explode_runtime::writeset::{Atom, Completion, DeviceRules, WriteSet};
use num_bigint::BigUint;
use proptest::prelude::*;

#[test]
fn volatile_block() {
    compare(4096, Completion::Volatile, Atom::Block, false);
}

#[test]
fn volatile_sector() {
    compare(4096, Completion::Volatile, Atom::Sector, false);
}

#[test]
fn volatile_request() {
    compare(4096, Completion::Volatile, Atom::Request, false);
}

#[test]
fn durable_block() {
    compare(4096, Completion::Durable, Atom::Block, false);
}

#[test]
fn durable_sector() {
    compare(4096, Completion::Durable, Atom::Sector, false);
}

#[test]
fn durable_request() {
    compare(4096, Completion::Durable, Atom::Request, false);
}

#[test]
fn replace_versions() {
    for completion in [Completion::Volatile, Completion::Durable] {
        compare(1024, completion, Atom::Block, true);
        compare(512, completion, Atom::Sector, true);
        compare(512, completion, Atom::Request, true);
    }
}

/// If all writes are dropped from some event on, the disk has each write that was submitted and has
/// not failed, in that order.
#[test]
fn dropping_later_writes_leaves_the_submitted_ones() {
    for atom in [Atom::Block, Atom::Sector, Atom::Request] {
        let rules = DeviceRules { atom, ..DeviceRules::default() };
        let result =
            generate::runner(256).run(&generate::cases(false, simulated(atom), false), |case| {
                let rules = DeviceRules { block_bytes: case.rules.block_bytes as u32, ..rules };
                let mut write_set = WriteSet::new(base(&case), rules);
                let mut expected = base(&case);
                for (index, event) in case.log.iter().enumerate() {
                    write_set.apply(event).expect("a valid log");
                    let Event::Submit { id, dev, sector, payload, .. } = event else { continue };
                    let mut ends = case.log[index..].iter().filter_map(|event| match event {
                        Event::Complete { id: ended, error } if ended == id => Some(*error),
                        _ => None,
                    });
                    if ends.next() != Some(true) {
                        match payload {
                            Payload::Data(data) => expected.disk_mut(*dev).write(*sector, data),
                            Payload::Zeroes(len) | Payload::Discard(len) => {
                                expected.disk_mut(*dev).write(*sector, &vec![0; *len as usize]);
                            }
                        }
                    }
                }
                let found = read(&write_set.submitted(), case.sectors);
                prop_assert_eq!(picture(&found), picture(&read(&expected, case.sectors)));
                Ok(())
            });
        result.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// The sample of the last instant has the disks of the families, and the requested number of
/// combinations.
#[test]
fn samples() {
    let met = RefCell::new([0_usize; 2]);
    for (completion, atom) in
        [(Completion::Volatile, Atom::Block), (Completion::Durable, Atom::Sector)]
    {
        let durable = completion == Completion::Durable;
        let result =
            generate::runner(1024).run(&generate::cases(durable, simulated(atom), false), |case| {
                let case = Case { interval: (case.log.len(), case.log.len()), ..case };
                let block_bytes = u32::try_from(case.rules.block_bytes).expect("1024 or 4096");
                let rules = DeviceRules { completion, atom, block_bytes, replace_versions: false };
                let machine = &case.instants()[0];
                let (ends, directed) = (machine.ends().to_vec(), machine.directed());
                let members = machine.pieces.len() * (2 + machine.worlds().len());
                for (samples, wanted) in
                    [(2, ends.clone()), (2 + 2 * members, directed.into_iter().collect())]
                {
                    let count = BigUint::from(machine.combinations());
                    if count <= BigUint::from(samples.max(2)) {
                        continue;
                    }
                    let (found, images) = run_engine(
                        &case,
                        rules,
                        &SampleLimits {
                            limit: 0,
                            samples: samples as u64,
                            ..SampleLimits::default()
                        },
                    );
                    let found_disks = disks(&found, &images, case.sectors);
                    for disk in ends.iter().chain(&wanted) {
                        prop_assert!(
                            found_disks.contains_key(&picture(disk)),
                            "{} in the sample",
                            picture(disk)
                        );
                    }
                    prop_assert!(samples > 2 || found_disks.len() <= 2);
                    prop_assert_eq!(&found.crash_disks, &count);
                    prop_assert_eq!(&found.left_out, &(count - samples), "left_out");
                    met.borrow_mut()[usize::from(samples > 2)] += 1;
                }
                Ok(())
            });
        result.unwrap_or_else(|failure| panic!("{failure}"));
    }
    let [ends, families] = met.into_inner();
    println!("{ends} samples of two disks, {families} with all families");
    assert!(ends > 0 && families > 0, "{ends} samples of two disks, {families} with all families");
}

/// Compares `cases` random logs, and prints the situations that they met.
fn compare(cases: u32, completion: Completion, atom: Atom, replace_versions: bool) {
    let (durable, cut) = (matches!(completion, Completion::Durable), simulated(atom));
    let met = RefCell::new(Seen::default());
    let result =
        generate::runner(cases).run(&generate::cases(durable, cut, replace_versions), |case| {
            let block_bytes = u32::try_from(case.rules.block_bytes).expect("1024 or 4096");
            let rules = DeviceRules { completion, atom, block_bytes, replace_versions };
            let (found, images) = run_engine(&case, rules, &SampleLimits::default());
            let expected = case.simulate();
            met.borrow_mut().look_at(&case);
            met.borrow_mut().add("disks", expected.disks.len());
            prop_assert_eq!(
                disks(&found, &images, case.sectors),
                show(expected.disks),
                "engine and simulation"
            );
            prop_assert_eq!(
                found.crash_disks,
                BigUint::from(expected.crash_disks),
                "crash_disks of engine and simulation"
            );
            prop_assert_eq!(found.left_out, BigUint::ZERO, "left_out");
            Ok(())
        });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    println!(
        "durable {durable}, atom {cut:?}, replace_versions {replace_versions}: {}",
        met.borrow()
    );
    met.borrow().require_all(durable, replace_versions);
}

fn run_engine(
    case: &Case,
    rules: DeviceRules,
    limits: &SampleLimits,
) -> (LogDisks, BTreeMap<Identity, Image>) {
    let (from, to) = case.interval;
    let mut images = BTreeMap::new();
    let found = crash::crash_disks(
        base(case),
        &case.log[..from],
        &case.log[from..to],
        &case.log[to..],
        rules,
        limits,
        &mut |disk| drop(images.insert(disk.identity(), disk.image())),
    );
    (found.expect("a valid log"), images)
}

fn base(case: &Case) -> Image {
    let mut base = Image::new();
    for (dev, bytes) in (0..).zip(&case.base) {
        base.disk_mut(dev).write(0, bytes);
    }
    base
}

/// Returns the engine's disks as pictures.
fn disks(
    found: &LogDisks,
    images: &BTreeMap<Identity, Image>,
    sectors: u64,
) -> BTreeMap<String, Vec<Epoch>> {
    let mut disks = BTreeMap::new();
    for disk in &found.disks {
        let image = &images[&disk.identity];
        assert_eq!(
            disk.identity,
            image.identity(),
            "identity of {}",
            picture(&read(image, sectors))
        );
        let mut epochs: Vec<Epoch> = disk.epochs.iter().map(simulated_epoch).collect();
        epochs.sort();
        let other = disks.insert(picture(&read(image, sectors)), epochs);
        assert_eq!(other, None, "{} comes twice", picture(&read(image, sectors)));
    }
    disks
}

fn read(image: &Image, sectors: u64) -> Disk {
    let device = |dev| {
        let mut bytes = vec![0; (sectors * device_model::SECTOR) as usize];
        image.read(dev, 0, &mut bytes);
        tokens(&bytes)
    };
    (0..DEVICES).map(device).collect()
}

fn show(disks: Disks) -> BTreeMap<String, Vec<Epoch>> {
    disks.into_iter().map(|(disk, epochs)| (picture(&disk), epochs.into_iter().collect())).collect()
}

fn simulated(atom: Atom) -> device_model::Atom {
    match atom {
        Atom::Block => device_model::Atom::Block,
        Atom::Sector => device_model::Atom::Sector,
        Atom::Request => device_model::Atom::Request,
    }
}

fn simulated_epoch(epoch: crash::Epoch) -> Epoch {
    match epoch {
        crash::Epoch::Begin => Epoch::Begin,
        crash::Epoch::InBetween => Epoch::InBetween,
        crash::Epoch::End => Epoch::End,
        crash::Epoch::Now | crash::Epoch::Soft => {
            panic!("an interval has no epoch now, and none soft")
        }
    }
}
