//! Prints cells of a matrix as a Markdown table, as in `docs/results/matrix.md`.
//!
//!     cargo run --example matrix_table FOLDER [SYSTEM...]
//!
//! Each check has a row and each system a column. All systems are the default. The last line counts
//! all cells of the folder.

#![allow(clippy::print_stdout, reason = "the table is its output")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

fn read(path: &Path) -> Result<Value, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read(path).map_err(|error| wrong(&error))?;
    serde_json::from_slice(&text).map_err(|error| wrong(&error))
}

/// Returns the names of the rows or the columns of a grid.
fn names(grid: &Value, what: &str) -> Vec<String> {
    let all = grid[what].as_array().into_iter().flatten();
    all.filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect()
}

fn number(summary: &Value, count: &str) -> u64 {
    summary[count].as_u64().unwrap_or(0)
}

/// Returns the findings without the checker's name: `lost synced-by-sync`.
fn found(cell: &Value) -> String {
    let findings = cell["findings"].as_array().into_iter().flatten();
    let words = findings.filter(|finding| finding["by_design"] == false).filter_map(|finding| {
        let (_, words) = finding["signature"].as_str()?.split_once('/')?;
        Some(words.replacen('/', " ", 1))
    });
    let mut words: Vec<String> = words.collect();
    words.sort();
    words.dedup();
    words.join(", ")
}

/// Returns the number of states, of all topologies if known, of operations and of crash disks, and
/// whether the run was complete.
fn counts(summary: &Value) -> String {
    let topologies =
        summary["topologies"].as_u64().map_or_else(String::new, |count| format!(" of {count}"));
    let all = if summary["complete"] == true { ", all" } else { "" };
    let [states, operations, checked] =
        ["states", "operations", "checked"].map(|count| number(summary, count));
    format!("{states}{topologies}, {operations}, {checked}{all}")
}

fn text(cell: &Value) -> String {
    match cell["outcome"].as_str().unwrap_or("not run") {
        "bug" => format!("bug: {}", found(cell)),
        // The word of earlier releases.
        "blind" => format!("inconclusive: {}", counts(&cell["summary"])),
        outcome @ ("pass" | "inconclusive" | "by-design") => {
            format!("{}: {}", outcome.replace('-', " "), counts(&cell["summary"]))
        }
        outcome => outcome.replace('-', " "),
    }
}

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name the folder of a matrix")?;
    let folder = Path::new(&folder);
    let grid = read(&folder.join("grid.json"))?;
    let (systems, checks) = (names(&grid, "systems"), names(&grid, "checks"));
    let asked: Vec<String> = arguments.collect();
    let shown = if asked.is_empty() { systems.clone() } else { asked };
    let cell = |system: &str, check: &str| read(&folder.join(system).join(check).join("cell.json"));
    println!("| check | {} |", shown.join(" | "));
    println!("| --- |{}", " --- |".repeat(shown.len()));
    for check in &checks {
        let cells = shown
            .iter()
            .map(|system| cell(system, check).map_or("not run".to_owned(), |cell| text(&cell)));
        println!("| `{check}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let (mut outcomes, mut sums) = (BTreeMap::<String, u32>::new(), [0; 3]);
    for cell in
        systems.iter().flat_map(|system| checks.iter().map(move |check| cell(system, check)))
    {
        let cell = cell.unwrap_or_default();
        *outcomes.entry(cell["outcome"].as_str().unwrap_or("not-run").to_owned()).or_default() += 1;
        for (sum, count) in sums.iter_mut().zip(["operations", "states", "checked"]) {
            *sum += number(&cell["summary"], count);
        }
    }
    let outcomes: Vec<String> =
        outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
    let [operations, states, disks] = sums;
    println!();
    println!(
        "{}; {operations} operations, {states} states, {disks} crash disks checked",
        outcomes.join(", ")
    );
    Ok(())
}
