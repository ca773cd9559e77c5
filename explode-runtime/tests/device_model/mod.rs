//! A simulation of the fault model by brute force, written from `docs/model/fault-model.md` alone.
//!
//! It shares no code and no short cuts with the engine. At *every* instant, in every world, it
//! keeps every subset of the visible pieces, each sector on its own. It is slow, and meant to be
//! obviously right. The engine is compared with it (`device_model.rs`), and it is compared with the
//! golden disks (`device_model_golden.rs`).
//!
//! - `machine`: one state of the storage, and the effect of each event on it
//! - `crash`: the disks that a crash can leave in one state
//! - `directed`: the part of a sample that is not random
//! - this file: instants, epochs, emissions
//! - `eager`: the worlds of PREFLUSH again, by forking the state whenever a flush can end
//! - `generate`, `script`, `case`: random logs; `seen`: the situations that they met

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod case;
mod crash;
mod directed;
pub mod eager;
pub mod generate;
pub mod machine;
pub mod script;
pub mod seen;

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::Event;
use machine::Machine;

/// The bytes of a sector.
pub const SECTOR: u64 = 512;

/// The contents of a sector, whose 512 bytes all have this value.
pub type Token = u8;

/// The contents of all devices: one token per sector of each device.
pub type Disk = Vec<Vec<Token>>;

/// The assumptions of the simulation about the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rules {
    /// True for completion rule `durable`; false for `volatile`.
    pub durable: bool,
    /// The size into which an event's bytes are cut.
    pub atom: Atom,
    /// The size of a block in bytes, for [`Atom::Block`].
    pub block_bytes: u64,
    /// True for FiSC's rule, which misses disks.
    pub replace_versions: bool,
}

/// The size into which an event's bytes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Block,
    Sector,
    Request,
}

/// The place of an instant in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Epoch {
    Begin,
    InBetween,
    End,
}

/// All disks that a crash in an interval can leave, with their epochs.
pub type Disks = BTreeMap<Disk, BTreeSet<Epoch>>;

/// The result of the simulation of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub disks: Disks,
    pub crash_disks: u128,
}

/// Simulates a log up to the end of an interval. `interval` is the index of its first event, and
/// one past its last.
pub fn simulate(
    log: &[Event],
    interval: (usize, usize),
    sectors_per_device: u64,
    devices: u32,
    base: &[Vec<u8>],
    rules: &Rules,
) -> Outcome {
    let instants = instants(log, interval, sectors_per_device, devices, base, rules);
    let emissions = emissions(&instants);
    let mut disks = Disks::new();
    for (at, instant) in instants.iter().enumerate() {
        let emission = *emissions.range(at..).next().expect("one at the last instant");
        for disk in instant.disks(&replaced(&instants[at..=emission])) {
            disks.entry(disk).or_default().extend(epochs(at, instants.len() - 1));
        }
    }
    let crash_disks = emissions.iter().map(|at| instants[*at].combinations()).sum();
    Outcome { disks, crash_disks }
}

/// Returns the states s0 ... sn of an interval of n events, marks not counted.
pub fn instants(
    log: &[Event],
    interval: (usize, usize),
    sectors_per_device: u64,
    devices: u32,
    base: &[Vec<u8>],
    rules: &Rules,
) -> Vec<Machine> {
    let mut machine = Machine::new(blank(sectors_per_device, devices, base), *rules);
    for event in &log[..interval.0] {
        machine.apply(event);
    }
    let mut instants = vec![machine];
    for event in events(log, interval) {
        let mut next = instants.last().expect("s0").clone();
        next.apply(event);
        instants.push(next);
    }
    instants
}

/// Returns the events of the interval, without marks.
pub fn events(log: &[Event], interval: (usize, usize)) -> impl Iterator<Item = &Event> {
    log[interval.0..interval.1].iter().filter(|event| !matches!(event, Event::Mark { .. }))
}

/// Returns the emissions of section 6: the instant before each event that loses something, and the
/// last instant.
pub fn emissions(instants: &[Machine]) -> BTreeSet<usize> {
    let last = instants.len() - 1;
    let mut emissions: BTreeSet<usize> =
        (0..last).filter(|at| instants[*at].loses_something(&instants[at + 1])).collect();
    emissions.insert(last);
    emissions
}

/// Returns the epochs of the instant s`at` of s0 ... s`n`.
pub fn epochs(at: usize, n: usize) -> impl Iterator<Item = Epoch> {
    let begin = (at == 0).then_some(Epoch::Begin);
    let in_between = (at > 0 && at < n).then_some(Epoch::InBetween);
    let end = (at == n).then_some(Epoch::End);
    [begin, in_between, end].into_iter().flatten()
}

/// Returns the pieces that `replace_versions` hides from the emission that ends these instants. The
/// emission misses the disks with them.
fn replaced(until_emission: &[Machine]) -> BTreeSet<machine::PieceId> {
    let pieces = until_emission.iter().flat_map(|machine| &machine.pieces);
    pieces.filter(|(_, piece)| piece.replaced).map(|(id, _)| *id).collect()
}

/// Returns the durable contents before the first event.
pub fn blank(sectors_per_device: u64, devices: u32, base: &[Vec<u8>]) -> Disk {
    let zeroes = || vec![0; sectors_per_device as usize];
    (0..devices as usize)
        .map(|dev| base.get(dev).map_or_else(zeroes, |bytes| tokens(bytes)))
        .collect()
}

/// Returns one token per sector.
pub fn tokens(bytes: &[u8]) -> Vec<Token> {
    let token = |sector: &[u8]| {
        // Each byte equals the next one. To compare slices is much faster than to compare bytes.
        assert!(sector[1..] == sector[..sector.len() - 1], "a sector is filled with one byte");
        sector[0]
    };
    bytes.chunks(SECTOR as usize).map(token).collect()
}

/// Returns the bytes of these tokens.
pub fn bytes(tokens: &[Token]) -> Vec<u8> {
    tokens.iter().map(|token| [*token; SECTOR as usize]).collect::<Vec<_>>().concat()
}

/// Returns one character per sector, as in the golden files: `.` is zeroes, `|` separates devices.
pub fn picture(disk: &Disk) -> String {
    let devices: Vec<String> = disk.iter().map(|tokens| row(tokens)).collect();
    devices.join("|")
}

/// Returns one device of a [`picture`].
pub fn row(tokens: &[Token]) -> String {
    tokens.iter().map(|token| if *token == 0 { '.' } else { char::from(*token) }).collect()
}
