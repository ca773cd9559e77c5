//! Counts, epochs and block names that were computed by hand.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::log::{
    clean, complete, crash_disks, dirty, draw, flush, full, submit, submit_with,
};
use crate::common::of_type;

/// Returns the epochs and blocks of each disk, by its drawing, and the three counts.
fn disks(events: &[Value], args: &str) -> (BTreeMap<String, (String, Value)>, [Value; 3]) {
    let folder = tempdir().unwrap();
    let images = folder.path().join("images");
    let args = format!("{args} --write {}", images.display());
    let lines = crash_disks(folder.path(), events, &args).expect(0).json();
    let disk = |disk: &&Value| {
        let image = images.join(format!("{}.0.img", disk["id"].as_str().unwrap()));
        let drawing = draw(&std::fs::read(image).unwrap()).trim_end_matches('.').to_owned();
        let epochs: Vec<&str> = disk["epochs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|epoch| epoch.as_str().unwrap())
            .collect();
        (drawing, (epochs.join(" "), disk["blocks"].clone()))
    };
    let summary = lines.last().unwrap();
    let counts = ["crash_disks", "distinct", "left_out"].map(|key| summary[key].clone());
    (of_type(&lines, "disk").iter().map(disk).collect(), counts)
}

fn expected(disks: &[(&str, &str, Value)]) -> BTreeMap<String, (String, Value)> {
    let disk = |(drawing, epochs, blocks): &(&str, &str, Value)| {
        ((*drawing).to_owned(), ((*epochs).to_owned(), blocks.clone()))
    };
    disks.iter().map(disk).collect()
}

/// EX-70: two versions of one block, one of another.
#[test]
fn the_papers_six_disks_are_four_where_versions_are_replaced() {
    let log = [dirty(0, 0, 1, 'A'), dirty(0, 1, 1, 'B'), dirty(0, 0, 1, 'C')];
    let six = expected(&[
        ("", "begin in-between end", json!([])),
        (".B", "in-between end", json!([[0, 1, 1]])),
        ("A", "in-between end", json!([[0, 0, 1]])),
        ("AB", "in-between end", json!([[0, 0, 1], [0, 1, 1]])),
        ("C", "end", json!([[0, 0, 2]])),
        ("CB", "end", json!([[0, 0, 2], [0, 1, 1]])),
    ]);
    assert_eq!(disks(&log, "--size 4096"), (six, [json!(6), json!(6), json!(0)]));

    let (four, counts) = disks(&log, "--size 4096 --replace-versions");
    assert_eq!(four.keys().collect::<Vec<_>>(), ["", ".B", "C", "CB"]);
    assert_eq!(counts, [json!(4), json!(4), json!(0)]);
}

/// The flush makes A durable when it completes: two disks before that, one after.
#[test]
fn an_emission_precedes_each_removal_and_one_is_at_the_end() {
    let log = [dirty(0, 0, 1, 'A'), submit(1, 0, 0, 1, 'A'), complete(1), flush(2, 0), complete(2)];
    let both = expected(&[
        ("", "begin in-between", json!([])),
        ("A", "in-between end", json!([[0, 0, 1]])),
    ]);
    assert_eq!(disks(&log, "--size 4096"), (both.clone(), [json!(3), json!(2), json!(0)]));
    // Under the other rule A is durable two events earlier. The counts are equal.
    assert_eq!(
        disks(&log, "--size 4096 --completion durable"),
        (both, [json!(3), json!(2), json!(0)])
    );
}

#[test]
fn a_forgotten_buffer_was_possible_until_then() {
    let log = [dirty(0, 0, 1, 'A'), dirty(0, 8, 1, 'B'), clean(0, 0, 1)];
    let b = "........B";
    let four = expected(&[
        ("", "begin in-between end", json!([])),
        ("A", "in-between", json!([[0, 0, 1]])),
        (b, "in-between end", json!([[0, 8, 1]])),
        ("A.......B", "in-between", json!([[0, 0, 1], [0, 8, 1]])),
    ]);
    assert_eq!(disks(&log, "--size 8192"), (four, [json!(6), json!(4), json!(0)]));
}

/// A commit block after a flush: 2 disks in the world before the flush, 2 in the world after it,
/// and the end.
#[test]
fn a_preflush_adds_up_two_worlds() {
    let log = [
        submit(1, 0, 0, 1, 'J'),
        complete(1),
        submit_with(&["preflush", "fua"], 2, 0, 1, 1, 'C'),
        complete(2),
    ];
    let (three, counts) = disks(&log, "--size 4096");
    let epochs: Vec<(&str, &str)> =
        three.iter().map(|(image, disk)| (image.as_str(), disk.0.as_str())).collect();
    assert_eq!(epochs, [("", "begin in-between"), ("J", "in-between"), ("JC", "in-between end")]);
    assert_eq!(counts, [json!(5), json!(3), json!(0)]);
}

/// B is version 2 of its block while A is pending, and has that name: its disk first appears before
/// A becomes durable.
#[test]
fn a_version_is_named_as_at_the_instant_that_is_shown() {
    let log = [submit_with(&["fua"], 1, 0, 0, 8, 'A'), dirty(0, 0, 8, 'B'), complete(1)];
    let three = expected(&[
        ("", "begin in-between", json!([])),
        ("AAAAAAAA", "in-between end", json!([[0, 0, 1]])),
        ("BBBBBBBB", "in-between end", json!([[0, 0, 2]])),
    ]);
    assert_eq!(disks(&log, "--size 4096"), (three, [json!(5), json!(3), json!(0)]));
}

/// The versions that a disk of a log of dirty buffers names determine its contents.
#[test]
fn the_versions_on_a_disk_determine_its_contents() {
    let log = [
        dirty(0, 0, 8, 'A'),
        dirty(0, 0, 8, 'B'),
        dirty(0, 8, 8, 'C'),
        submit(1, 0, 0, 8, 'D'),
        dirty(0, 1, 1, 'e'),
        dirty(0, 1, 1, 'f'),
    ];
    // In the order of writing: first sector, version of its range, sectors, letter.
    let versions = [
        (0, 1, 8, 'A'),
        (0, 2, 8, 'B'),
        (8, 1, 8, 'C'),
        (0, 3, 8, 'D'),
        (1, 1, 1, 'e'),
        (1, 2, 1, 'f'),
    ];
    let (found, counts) = disks(&log, "--size 8192");
    assert_eq!(counts, [json!(4 * 2 * 3), json!(4 * 2 * 3), json!(0)]);
    for (drawing, (_, blocks)) in &found {
        let mut image = full(16, '.');
        for (sector, version, sectors, letter) in versions {
            if blocks.as_array().unwrap().contains(&json!([0, sector, version])) {
                let start = sector * 512;
                image[start..start + sectors * 512].copy_from_slice(&full(sectors, letter));
            }
        }
        assert_eq!(draw(&image).trim_end_matches('.'), drawing, "{blocks}");
    }
    let named: usize = found.values().map(|(_, blocks)| blocks.as_array().unwrap().len()).sum();
    // Of 24 disks 18 keep one of three versions of the first block, 12 keep the second block, and
    // 16 keep one of two versions of the sector.
    assert_eq!(named, 18 + 12 + 16);
}

#[test]
fn an_id_can_be_used_again_after_its_completion() {
    let twice = |second| {
        [submit(1, 0, 0, 1, 'A'), complete(1), submit(second, 0, 1, 1, 'B'), complete(second)]
    };
    assert_eq!(disks(&twice(1), "--size 4096"), disks(&twice(2), "--size 4096"));
}

#[test]
fn lines_about_system_calls_and_choices_are_no_events() {
    let log = [dirty(0, 0, 1, 'A'), submit(1, 0, 0, 1, 'A'), complete(1)];
    let mut more = vec![json!({"e": "syscall", "name": "open", "args": ["a", 1]})];
    for event in &log {
        more.extend([event.clone(), json!({"e": "choice", "value": 3}), json!({"e": "syscall"})]);
    }
    assert_eq!(disks(&log, "--size 4096"), disks(&more, "--size 4096"));
}

#[test]
fn without_events_there_is_one_disk_and_it_is_begin_and_end() {
    let one = expected(&[("", "begin end", json!([]))]);
    assert_eq!(disks(&[], "--size 4096"), (one, [json!(1), json!(1), json!(0)]));
}
