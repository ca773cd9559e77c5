//! The golden logs (`tests/golden/README.md`). The engine gives exactly their disks, with their
//! epochs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use explode_ramdisk::{Event, Image};
use explode_runtime::crash::{SampleLimits, SampleSeed, crash_disks};
use explode_runtime::events::read_jsonl;
use explode_runtime::writeset::{Atom, Completion, DeviceRules};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    case: String,
    completion: Completion,
    atom: Atom,
    size: usize,
    disks: BTreeMap<String, Vec<String>>,
    from: Option<String>,
    to: Option<String>,
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Reads the log of a case.
fn events(case: &str) -> Vec<Event> {
    let log = fs::File::open(golden().join(format!("{case}.jsonl"))).expect("the case has a log");
    let events = read_jsonl(BufReader::new(log)).expect("the log is well-formed");
    events.into_iter().map(|(_, event)| event).collect()
}

/// Returns one character per sector, with `|` between devices.
fn draw(image: &Image, devices: u32, size: usize) -> String {
    let disk = |dev: u32| {
        let mut bytes = vec![0; size];
        image.read(dev, 0, &mut bytes);
        let sector = |sector: &[u8]| {
            assert!(
                sector.iter().all(|byte| *byte == sector[0]),
                "a golden sector is one byte, repeated"
            );
            if sector[0] == 0 { '.' } else { char::from(sector[0]) }
        };
        bytes.chunks(512).map(sector).collect::<String>()
    };
    (0..devices).map(disk).collect::<Vec<_>>().join("|")
}

#[test]
fn every_golden_log_leaves_exactly_its_disks() {
    let expected =
        fs::read_to_string(golden().join("expected.jsonl")).expect("the golden files are there");
    let mut cases = 0;
    for line in expected.lines() {
        let Expected { case, completion, atom, size, disks, from, to } =
            serde_json::from_str(line).expect("expected.jsonl is well-formed");
        let events = events(&case);
        let mark = |name: &Option<String>, default| {
            let at = |event: &Event| match event {
                Event::Mark { name: other } => Some(other) == name.as_ref(),
                _ => false,
            };
            name.as_ref()
                .map_or(default, |_| events.iter().position(at).expect("the mark is there"))
        };
        let (from, to) = (mark(&from, 0), mark(&to, events.len()));
        let rules = DeviceRules { completion, atom, ..DeviceRules::default() };
        let mut images = BTreeMap::new();
        let found = crash_disks(
            Image::new(),
            &events[..from],
            &events[from..to],
            &events[to..],
            rules,
            &SampleLimits::default(),
            &mut |disk| drop(images.insert(disk.identity(), disk.image())),
        )
        .unwrap();
        let devices = disks.keys().next().expect("at least one disk").split('|').count() as u32;
        let found: BTreeMap<String, Vec<String>> = found
            .disks
            .iter()
            .map(|disk| {
                let image = &images[&disk.identity];
                assert_eq!(image.identity(), disk.identity, "{case}: identity of the built image");
                let epochs = disk.epochs.iter().map(|epoch| epoch.to_string()).collect();
                (draw(image, devices, size), epochs)
            })
            .collect();
        assert_eq!(found, disks, "{case}, completion {completion:?}, atom {atom:?}");
        cases += 1;
    }
    assert_eq!(cases, 46);
}

/// EX-70: two versions of one block and one version of another leave six disks, and four when
/// versions are replaced.
#[test]
fn versions_are_six_disks_and_four_when_replaced() {
    let events = events("paper-versions");
    for (replace_versions, count) in [(false, 6u32), (true, 4)] {
        let rules = DeviceRules { replace_versions, ..DeviceRules::default() };
        let found = crash_disks(
            Image::new(),
            &[],
            &events,
            &[],
            rules,
            &SampleLimits::default(),
            &mut |_| {},
        )
        .unwrap();
        assert_eq!((found.crash_disks, found.disks.len()), (count.into(), count as usize));
    }
}

#[derive(Deserialize)]
struct ExpectedSample {
    case: String,
    blocks: usize,
    limit: u64,
    samples: u64,
    combinations: u64,
    /// The disks that every sample has, with any seed; one character per block.
    directed: BTreeSet<String>,
}

#[test]
fn every_sample_of_a_golden_log_has_nothing_everything_and_the_three_families() {
    let expected =
        fs::read_to_string(golden().join("samples.jsonl")).expect("the golden files are there");
    assert_eq!(expected.lines().count(), 2);
    for line in expected.lines() {
        let ExpectedSample { case, blocks, limit, samples, combinations, directed } =
            serde_json::from_str(line).expect("samples.jsonl is well-formed");
        let events = events(&case);
        let mut met = BTreeSet::new();
        for seed in 0..100 {
            let limits =
                SampleLimits { limit, samples, seed: SampleSeed { seed, ..SampleSeed::default() } };
            let mut images = Vec::new();
            let rules = DeviceRules::default();
            let counts =
                crash_disks(Image::new(), &events, &[], &[], rules, &limits, &mut |disk| {
                    images.push(disk.image())
                })
                .unwrap();
            assert_eq!(counts.crash_disks, combinations.into(), "{case}");
            assert_eq!(counts.left_out, (combinations - samples).into(), "{case}");
            let block = |image: &Image| {
                draw(image, 1, blocks * 4096).chars().step_by(8).collect::<String>()
            };
            let found: BTreeSet<String> = images.iter().map(block).collect();
            let missing: Vec<&String> = directed.difference(&found).collect();
            assert!(missing.is_empty(), "{case}, seed {seed}: {missing:?} are not in the sample");
            met.extend(found);
        }
        let all = SampleLimits { limit: combinations, ..SampleLimits::default() };
        let all =
            crash_disks(Image::new(), &events, &[], &[], DeviceRules::default(), &all, &mut |_| {})
                .unwrap();
        assert_eq!(met.len(), all.disks.len(), "{case}: the random part meets every other disk");
    }
}
