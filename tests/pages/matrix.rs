//! `docs/results/matrix.md`: its sums agree with its cells.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../docs/results/matrix.md");

#[test]
fn the_sums_are_those_of_the_cells() {
    let first = PAGE.split("\n## Ways ").next().unwrap();
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    for row in first.lines().filter(|line| line.starts_with("| `")) {
        for cell in row.trim_matches('|').split(" | ").skip(1) {
            *outcomes.entry(cell.trim().split(':').next().unwrap()).or_default() += 1;
        }
    }
    let [pass, bugs, by_design, not_supported, inconclusive] =
        ["pass", "bug", "by design", "not supported", "inconclusive"].map(|word| outcomes[word]);
    let sums = format!(
        "{pass} cells pass, {bugs} are bugs, {by_design} by design, {not_supported} not supported, \
         {inconclusive} inconclusive;"
    );
    assert!(first.contains(&sums), "{sums}");
    let all: u32 = outcomes.values().sum();
    assert!(first.contains(&format!("all {all} cells")), "{all}");
}

/// A page that a program prints names the command.
#[test]
fn the_first_line_has_the_command() {
    let first = PAGE.lines().next().unwrap();
    assert!(first.contains("explode matrix ") && first.contains("--example matrix_table "));
}
