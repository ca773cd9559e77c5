//! The numbers of `README.md` agree with `bugs/`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{maker, table};

const PAGE: &str = include_str!("../../README.md");

/// Returns the number of bugs of each system, which is the first word of a bug's system. sync(2)
/// belongs to several systems and counts by itself.
fn counted() -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bugs");
    for bug in maker::bugs(&folder).unwrap() {
        let of = if bug.title.starts_with("sync(2)") { &bug.title } else { &bug.cells[0] };
        let name = of.split([' ', ',']).next().unwrap().trim_matches('`').to_owned();
        *counts.entry(name).or_default() += 1;
    }
    counts
}

#[test]
fn each_system_has_its_findings() {
    let mut left = counted();
    let all: usize = left.values().sum();
    for row in table(PAGE, "| system | findings |") {
        let names = row[0].split(", ").map(|name| name.split(' ').next().unwrap());
        let count: usize = names.map(|name| left.remove(name).unwrap_or(0)).sum();
        assert_eq!(row[1], count.to_string(), "{}", row[0]);
    }
    assert_eq!(left, BTreeMap::new(), "systems that the table omits");
    assert!(PAGE.contains(&format!("It has found {all} bugs ")), "{all} bugs");
}
