//! Limits: an exact number of disks of an exactly counted total, equal for equal seeds.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::log::{clean, crash_disks, dirty};
use crate::common::of_type;

/// Returns changes in `blocks` blocks without an order: 2^blocks disks.
fn independent(blocks: u64) -> Vec<Value> {
    (0..blocks).map(|block| dirty(0, block * 8, 1, 'A')).collect()
}

fn run(events: &[Value], args: &str) -> Vec<Value> {
    crash_disks(tempdir().unwrap().path(), events, &format!("--size 1048576 {args}"))
        .expect(0)
        .json()
}

fn counts(lines: &[Value]) -> [Value; 3] {
    ["crash_disks", "distinct", "left_out"].map(|key| lines.last().unwrap()[key].clone())
}

fn blocks(lines: &[Value]) -> BTreeSet<String> {
    of_type(lines, "disk").iter().map(|disk| disk["blocks"].to_string()).collect()
}

#[test]
fn at_the_limit_there_is_no_sample_and_above_it_exactly_one() {
    let log = independent(4);
    assert_eq!(counts(&run(&log, "--limit 16 --samples 5")), [json!(16), json!(16), json!(0)]);
    assert_eq!(counts(&run(&log, "--limit 15 --samples 5")), [json!(16), json!(5), json!(11)]);
    assert_eq!(counts(&run(&log, "--limit 1 --samples 2")), [json!(16), json!(2), json!(14)]);
    assert_eq!(counts(&run(&log, "--limit 1 --samples 15")), [json!(16), json!(15), json!(1)]);
    assert_eq!(counts(&run(&log, "--limit 1 --samples 16")), [json!(16), json!(16), json!(0)]);
}

#[test]
fn the_empty_and_the_full_disk_are_in_every_sample() {
    for seed in 0..5 {
        let lines = run(&independent(4), &format!("--limit 1 --samples 3 --seed {seed}"));
        let found = blocks(&lines);
        assert_eq!(found.len(), 3);
        assert!(
            found.contains("[]") && found.contains("[[0,0,1],[0,8,1],[0,16,1],[0,24,1]]"),
            "{found:?}"
        );
    }
}

#[test]
fn a_seed_gives_the_same_disks_and_another_seed_others() {
    let log = independent(60);
    let sample = |seed| run(&log, &format!("--limit 1000 --samples 100 --seed {seed}"));
    assert_eq!(sample(3), sample(3));
    // Of 2^60 disks two seeds share only the disks that every sample has, or disks of a family of
    // 60 members.
    let directed = |lines: &[Value]| -> BTreeSet<String> {
        let kept = |disk: &&&Value| disk["blocks"].as_array().unwrap().len();
        let ordered = |disk: &&&Value| {
            let blocks = disk["blocks"].as_array().unwrap();
            (0..).zip(blocks).all(|(at, block)| block[1] == 8 * at)
        };
        let is_directed = |disk: &&&Value| [0, 1, 59, 60].contains(&kept(disk)) || ordered(disk);
        of_type(lines, "disk")
            .iter()
            .filter(is_directed)
            .map(|disk| disk["blocks"].to_string())
            .collect()
    };
    let (one, other) = (sample(3), sample(4));
    assert_eq!(
        [directed(&one).len(), directed(&other).len()],
        [2 + 49; 2],
        "half of 98 are directed"
    );
    let common: BTreeSet<String> = blocks(&one).intersection(&blocks(&other)).cloned().collect();
    assert_eq!(common.difference(&directed(&one)).count(), 0, "{common:?}");
    assert!(common.len() < 40, "{common:?}");
    assert_eq!(run(&log, "--limit 1000 --samples 100"), sample(0), "the default seed is 0");
}

#[test]
fn counts_are_integers_up_to_two_to_the_53_and_decimal_strings_above() {
    let counts = |blocks| counts(&run(&independent(blocks), "--limit 1000 --samples 100"));
    let [all, distinct, left_out] = counts(53);
    assert_eq!(
        [all, distinct, left_out],
        [json!(1u64 << 53), json!(100), json!((1u64 << 53) - 100)]
    );
    assert_eq!(counts(54)[0], json!("18014398509481984"));
    assert_eq!(
        counts(60),
        [json!("1152921504606846976"), json!(100), json!("1152921504606846876")]
    );
    assert_eq!(counts(120)[0], json!("1329227995784915872903807060280344576"));
}

/// 2^60 disks before the buffer is dropped, 2^59 after it. Each emission has its own sample.
#[test]
fn the_sum_over_emissions_is_exact() {
    let mut log = independent(60);
    log.push(clean(0, 0, 1));
    let lines = run(&log, "--limit 1000 --samples 100");
    // The empty disk is in both samples, and so are the directed disks that both seeds have drawn.
    assert_eq!(
        counts(&lines),
        [json!("1729382256910270464"), json!(193), json!("1729382256910270264")]
    );
}
