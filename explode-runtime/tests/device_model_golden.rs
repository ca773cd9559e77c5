//! The simulation of `device_model/` on its own: against the golden disks, and against itself. Here
//! are also the tests of the engine against it, so that both are built once.

#![allow(clippy::print_stdout, reason = "what a property test met is its result too")]

#[path = "device_model.rs"]
mod engine;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use engine::device_model::case::{Case, DEVICES};
use engine::device_model::machine::Machine;
use engine::device_model::seen::Seen;
use engine::device_model::{self, Atom, Disks, Epoch, Rules};
use engine::device_model::{blank, eager, emissions, generate, instants, picture, simulate};
use explode_ramdisk::Event;
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn golden_disks() {
    let expected = std::fs::read_to_string(golden("expected.jsonl")).expect("tests/golden");
    let mut lines = 0;
    for line in expected.lines() {
        let line: Value = serde_json::from_str(line).expect(line);
        check_golden(&line);
        lines += 1;
    }
    assert_eq!(lines, 46, "lines of expected.jsonl");
}

#[test]
fn golden_samples() {
    let expected = std::fs::read_to_string(golden("samples.jsonl")).expect("tests/golden");
    let mut lines = 0;
    for line in expected.lines() {
        let line: Value = serde_json::from_str(line).expect(line);
        let name = line["case"].as_str().expect("case");
        let sectors = line["blocks"].as_u64().expect("blocks") * 8;
        let rules =
            Rules { durable: false, atom: Atom::Block, block_bytes: 4096, replace_versions: false };
        let text = std::fs::read_to_string(golden(&format!("{name}.jsonl"))).expect(name);
        let log: Vec<Event> =
            text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let machine = &instants(&log, (log.len(), log.len()), sectors, 1, &[], &rules)[0];
        let block =
            |disk: &device_model::Disk| picture(disk).chars().step_by(8).collect::<String>();
        let found: BTreeSet<String> =
            machine.directed().iter().chain(&machine.ends()).map(block).collect();
        let directed = line["directed"].as_array().expect("directed").iter();
        let directed: BTreeSet<String> =
            directed.map(|disk| disk.as_str().expect("a disk").to_owned()).collect();
        assert_eq!(found, directed, "{name}");
        assert_eq!(
            u128::from(line["combinations"].as_u64().unwrap()),
            machine.combinations(),
            "{name}"
        );
        lines += 1;
    }
    assert_eq!(lines, 2, "lines of samples.jsonl");
}

fn check_golden(line: &Value) {
    let name = line["case"].as_str().expect("case");
    let disks = line["disks"].as_object().expect("disks");
    let rules = Rules {
        durable: line["completion"] == "durable",
        atom: match line["atom"].as_str().expect("atom") {
            "block" => Atom::Block,
            "sector" => Atom::Sector,
            "request" => Atom::Request,
            other => panic!("atom {other}"),
        },
        block_bytes: 4096,
        replace_versions: false,
    };
    let text = std::fs::read_to_string(golden(&format!("{name}.jsonl"))).expect(name);
    let log: Vec<Event> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let mark = |key: &str| {
        let wanted = line.get(key)?.as_str()?;
        log.iter().position(|event| matches!(event, Event::Mark { name } if name == wanted))
    };
    let interval = (mark("from").map_or(0, |from| from + 1), mark("to").unwrap_or(log.len()));
    let devices = disks.keys().next().expect("a disk").split('|').count() as u32;
    let sectors = line["size"].as_u64().expect("size") / device_model::SECTOR;

    let outcome = simulate(&log, interval, sectors, devices, &[], &rules);
    let found: BTreeMap<String, BTreeSet<Epoch>> =
        outcome.disks.into_iter().map(|(disk, epochs)| (picture(&disk), epochs)).collect();
    let expected =
        disks.iter().map(|(disk, epochs)| (disk.clone(), golden_epochs(epochs))).collect();
    assert_eq!(found, expected, "{name} {rules:?}");
}

fn golden_epochs(epochs: &Value) -> BTreeSet<Epoch> {
    let epoch = |name: &Value| match name.as_str() {
        Some("begin") => Epoch::Begin,
        Some("in-between") => Epoch::InBetween,
        Some("end") => Epoch::End,
        _ => panic!("epoch {name}"),
    };
    epochs.as_array().expect("epochs").iter().map(epoch).collect()
}

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

/// Section 3: worlds that are derived at each instant leave the same disks as worlds that continue.
#[test]
fn worlds_as_they_happen() {
    for_each_case(512, |case, met| {
        let lazy = case.simulate().disks;
        let machine = Machine::new(blank(case.sectors, DEVICES, &case.base), case.rules);
        match eager::disks(machine, &case.log, case.interval, 4096) {
            None => met.add("logs with too many states", 1),
            Some(eager) => prop_assert_eq!(show(&eager), show(&lazy)),
        }
        Ok(())
    });
}

/// Section 6: the emissions have the same disks as all instants.
#[test]
fn emissions_find_all_disks() {
    for_each_case(512, |case, met| {
        let instants = case.instants();
        let emissions = emissions(&instants);
        met.add("emissions", emissions.len());
        let looked_at: BTreeSet<_> =
            emissions.iter().flat_map(|at| instants[*at].disks(&BTreeSet::new())).collect();
        let all: BTreeSet<_> =
            instants.iter().flat_map(|instant| instant.disks(&BTreeSet::new())).collect();
        prop_assert_eq!(looked_at, all);
        Ok(())
    });
}

/// Checks random cases under each pair of completion rule and atom, and prints the situations that
/// they met.
fn for_each_case(cases: u32, check: impl Fn(&Case, &mut Seen) -> Result<(), TestCaseError>) {
    let met = RefCell::new(Seen::default());
    for durable in [false, true] {
        for atom in [Atom::Block, Atom::Sector, Atom::Request] {
            let cases_of = generate::cases(durable, atom, false);
            let result = generate::runner(cases).run(&cases_of, |case| {
                met.borrow_mut().look_at(&case);
                check(&case, &mut met.borrow_mut())
            });
            result.unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
    println!("{}", met.borrow());
    met.borrow().require_all(false, false);
}

fn show(disks: &Disks) -> BTreeMap<String, &BTreeSet<Epoch>> {
    disks.iter().map(|(disk, epochs)| (picture(disk), epochs)).collect()
}
