//! Targets by family in the human format: the real systems first, then the seeded bugs, each below
//! the same system without it.

use std::collections::BTreeSet;

use explode_runtime::base::Mode;
use explode_runtime::plan::{Registry, Target};

use super::columns::{Row, rows};

/// The width of lines, in columns.
const WIDTH: usize = 100;
/// The heading of targets without a family.
const OTHERS: &str = "Other targets";

/// The targets under one heading.
struct Part<'r> {
    heading: &'r str,
    is_real: bool,
    targets: Vec<&'r Target>,
}

/// Returns the lines of the real systems by family, with what each target shows.
pub(super) fn real(registry: &Registry) -> Vec<String> {
    let parts = by_family(registry).into_iter().filter(|part| part.is_real).map(|part| {
        let targets: Vec<_> = part.targets.into_iter().filter(|target| !target.seeded).collect();
        let is_guest = |target: &&Target| registry.mode_of(&target.stack) == Ok(Mode::Vm);
        let more = if targets.iter().all(is_guest) { " (in a guest)" } else { "" };
        (format!("{}{more}", part.heading), folded(&targets))
    });
    rows(["Target", "Expected", "What it shows"], &parts.collect::<Vec<_>>(), WIDTH)
}

/// Returns the lines of the seeded bugs by family: each system without a bug, followed by the same
/// system with one.
pub(super) fn seeded(registry: &Registry) -> Vec<String> {
    let parts = by_family(registry).into_iter();
    let parts = parts.map(|Part { heading, targets, .. }| {
        (heading.to_owned(), beside_twins(registry, &targets))
    });
    rows(
        ["Target", "Expected", "The system, or what is wrong"],
        &parts.collect::<Vec<_>>(),
        usize::MAX,
    )
}

/// Returns all targets in order. Those without a family are last.
fn by_family(registry: &Registry) -> Vec<Part<'_>> {
    let mut others: Vec<&Target> = registry.targets.iter().collect();
    let mut parts = Vec::new();
    for family in &registry.targets.list().families {
        let targets: Vec<&Target>;
        (targets, others) =
            others.into_iter().partition(|target| family.targets.contains(&target.name));
        parts.push(Part { heading: &family.name, is_real: family.real, targets });
    }
    parts.push(Part { heading: OTHERS, is_real: true, targets: others });
    parts
}

/// Returns each system without a bug followed by its bugs. Bugs without such a system are last.
fn beside_twins(registry: &Registry, targets: &[&Target]) -> Vec<Row> {
    let twin_of = |bug: &Target| registry.targets.list().twins.get(&bug.name).map(|twin| &**twin);
    let bugs: Vec<&Target> = targets.iter().filter(|target| target.seeded).copied().collect();
    let mut found = Vec::new();
    for twin in targets.iter().filter(|target| !target.seeded) {
        let of_twin = bugs.iter().filter(|bug| twin_of(bug) == Some(&*twin.name));
        let of_twin: Vec<Row> = of_twin.map(|bug| row(bug, 1)).collect();
        if !of_twin.is_empty() {
            found.push(row(twin, 0));
            found.extend(of_twin);
        }
    }
    found.extend(bugs.iter().filter(|bug| twin_of(bug).is_none()).map(|bug| row(bug, 0)));
    found
}

fn row(target: &Target, indent: usize) -> Row {
    Row {
        indent,
        name: target.name.to_string(),
        word: target.expect.to_string(),
        text: target.about.to_string(),
    }
}

/// Returns a row for each target. Targets named after the same checker share rows: one for what
/// they show, and one for the systems of each expected verdict.
fn folded(targets: &[&Target]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let alike = |other: &&&Target| other.checker == target.checker && system(other).is_some();
        let all: Vec<&Target> = targets.iter().filter(alike).copied().collect();
        if system(target).is_none() || all.len() < 2 {
            rows.push(row(target, 0));
        } else if !targets[..index].iter().any(|before| alike(&before)) {
            rows.extend(shared(&all));
        }
    }
    rows
}

/// Returns the part of a target's name after its checker: `ext4` in `fs-sync-ext4`.
fn system(target: &Target) -> Option<&str> {
    target.name.strip_prefix(&*target.checker)?.strip_prefix('-')
}

fn shared(targets: &[&Target]) -> Vec<Row> {
    let [first, ..] = targets else { return Vec::new() };
    let name = format!("{}-SYSTEM", first.checker);
    let row = |name, word: &str, text| Row { indent: 0, name, word: word.to_owned(), text };
    let mut rows = vec![row(name, "", format!("{}SYSTEM", common_words(targets)))];
    let mut seen = BTreeSet::new();
    for verdict in targets.iter().map(|target| &*target.expect) {
        if seen.insert(verdict) {
            let same = targets.iter().filter(|target| target.expect == verdict);
            let systems: Vec<&str> = same.filter_map(|target| system(target)).collect();
            rows.push(row(String::new(), verdict, systems.join(", ")));
        }
    }
    rows
}

/// Returns the words with which the descriptions of all targets begin.
fn common_words(targets: &[&Target]) -> String {
    let mut texts = targets.iter().map(|target| target.about.split_inclusive(' '));
    let Some(first) = texts.next() else { return String::new() };
    let mut words: Vec<&str> = first.collect();
    for text in texts {
        let same = words.iter().zip(text).take_while(|(word, other)| **word == *other).count();
        words.truncate(same);
    }
    words.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_named_after_a_checker_share_rows() {
        let targets = crate::registry().targets;
        let named = |name: &str| targets.iter().find(|target| target.name == name).unwrap();
        let names = ["fs-basic-ext4", "fs-sync-ext4", "fs-sync-vfat", "fs-sync", "fs-sync-xfs"];
        let rows = folded(&names.map(named));
        let rows: Vec<String> =
            rows.iter().map(|row| format!("{}|{}|{}", row.name, row.word, row.text)).collect();
        let [basic, sync, plain, ..] = ["fs-basic-ext4", "fs-sync-ext4", "fs-sync"].map(named);
        assert_eq!(
            rows,
            [
                format!("fs-basic-ext4|clean|{}", basic.about),
                format!("fs-sync-SYSTEM||{}", sync.about.replace("ext4", "SYSTEM")),
                "|clean|ext4, xfs".to_owned(),
                "|lost|vfat".to_owned(),
                format!("fs-sync|clean|{}", plain.about),
            ]
        );
    }
}
