//! Random scripts of every kind of event. Sectors, contents and favourite ranges are few, so that
//! pieces overlap.

use explode_ramdisk::Flags;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::case::{Case, DEVICES};
use super::script::{Action, Script, Spot, Write};
use super::{Atom, Rules, Token};

/// The seed unless PROPTEST_RNG_SEED names another. CI runs the same cases each time.
const SEED: u64 = 0x5eed;

/// Returns a runner for PROPTEST_CASES cases, or `cases` without that variable. The cases are
/// always the same.
pub fn runner(cases: u32) -> TestRunner {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let cases = number("PROPTEST_CASES")
        .map_or(cases, |cases| u32::try_from(cases).expect("PROPTEST_CASES"));
    let mut seed = [0; 16];
    seed[..8].copy_from_slice(&number("PROPTEST_RNG_SEED").unwrap_or(SEED).to_le_bytes());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    // Most of the time of a case would be that of proptest's default generator.
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::XorShift, &seed))
}

/// Returns random logs under these rules, with blocks of 1024 or 4096 bytes.
pub fn cases(durable: bool, atom: Atom, replace_versions: bool) -> impl Strategy<Value = Case> {
    let rules = select(vec![4096, 1024]).prop_map(move |block_bytes| Rules {
        durable,
        atom,
        block_bytes,
        replace_versions,
    });
    let base = prop_oneof![Just(vec![0]), vec(select(vec![0, b'A', b'z']), 1..5)];
    let most_combinations = prop_oneof![3 => Just(32), 3 => Just(192), 1 => Just(1024)];
    let actions = vec(action(), 0..60);
    // Every other log has only some kinds of events. A kind that is rare among all is common there.
    let off =
        prop_oneof![Just(0), any::<u16>(), (any::<u16>(), any::<u16>()).prop_map(|(a, b)| a & b)];
    let from = prop_oneof![Just(0), 0..30usize];
    let to = prop_oneof![Just(usize::MAX), 0..60usize];
    (rules, select(vec![8, 16, 24]), base, actions, off, (from, to), most_combinations).prop_map(
        |(rules, sectors, base, actions, off, (from, to), most_combinations)| {
            Script { rules, sectors, base, actions, off, from, to, most_combinations }.case()
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    let again = prop_oneof![3 => 0..3usize, 1 => 0..12usize];
    prop_oneof![
        8 => write().prop_map(Action::Dirty),
        3 => again.clone().prop_map(Action::DirtyAgain),
        3 => spot().prop_map(Action::Clean),
        2 => spot().prop_map(Action::Lock),
        2 => spot().prop_map(Action::Unlock),
        6 => (write(), flags()).prop_map(|(write, flags)| Action::Submit(write, flags)),
        5 => (again, flags()).prop_map(|(which, flags)| Action::SubmitAgain(which, flags)),
        1 => (spot(), flags()).prop_map(|(spot, flags)| Action::Zeroes(spot, flags)),
        1 => (spot(), flags()).prop_map(|(spot, flags)| Action::Discard(spot, flags)),
        1 => (0..DEVICES, any::<bool>()).prop_map(|(dev, fua)| Action::EmptyPreflush { dev, fua }),
        10 => (0..6usize, prop::bool::weighted(0.15))
            .prop_map(|(which, error)| Action::Complete { which, error }),
        3 => (0..DEVICES).prop_map(|dev| Action::Flush { dev }),
        1 => Just(Action::Mark),
    ]
}

fn write() -> impl Strategy<Value = Write> {
    let one = || select(vec![b'A', b'B', b'C', 0]);
    let tokens = prop_oneof![
        5 => one().prop_map(|token: Token| vec![token]),
        2 => vec(one(), 2..4),
    ];
    (spot(), tokens).prop_map(|(spot, tokens)| Write { spot, tokens })
}

fn spot() -> impl Strategy<Value = Spot> {
    let favourite = select(vec![(0, 1), (1, 1), (0, 2), (1, 2), (0, 8), (6, 4)]);
    let any = (0..24u64, 1..=10u64);
    let dev = prop::bool::weighted(0.3).prop_map(u32::from);
    (dev, prop_oneof![3 => favourite, 2 => any]).prop_map(|(dev, (sector, sectors))| Spot {
        dev,
        sector,
        sectors,
    })
}

fn flags() -> impl Strategy<Value = Flags> {
    prop_oneof![
        5 => Just(Flags::NONE),
        1 => Just(Flags::FUA),
        2 => Just(Flags::PREFLUSH),
        2 => Just(Flags::PREFLUSH_FUA),
    ]
}
