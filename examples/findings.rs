//! Writes `docs/results/findings.md`, a table of the folders of `bugs/`, from the tables in their
//! READMEs.
//!
//!     cargo run --example findings
//!
//! `tests/pages` compares the page with the output of this program.

use std::fs;
use std::path::Path;

/// The rows that every README must have, in this order.
pub const ROWS: [&str; 5] = ["System", "Found by", "Promised by", "Expected", "Replay"];

/// The text before the table.
const HEAD: &str = "\
<!-- Generated from bugs/: cargo run --example findings -->

# Findings

This page is for people who want to know which bugs explode found, and for developers of these
systems. Each row is one bug, however many systems or calls show it, with a command that replays it.
Its folder in `bugs/` has the cause in the source, the words of the promise (one has none, and says
that), and a minimised trace (two are not minimised, because each attempt ends a guest).
`tests/guest` or `tests/engines` replays it. [bugs/README.md](../../bugs/README.md) says what counts
as a bug.

";

/// A bug, as the README in its folder describes it.
pub struct Bug {
    /// The name of the folder.
    pub folder: String,
    /// The title of the README.
    pub title: String,
    /// The cells of [`ROWS`].
    pub cells: [String; 5],
}

impl Bug {
    /// Reads the README of a folder.
    ///
    /// # Errors
    /// The README lacks a part; the error names it.
    pub fn read(folder: &Path) -> Result<Bug, String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = folder.join("README.md");
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
        let title = title.ok_or(format!("bugs/{name}/README.md has no title"))?.to_owned();
        let cell = |row: &str| {
            let start = format!("| {row} | ");
            let line = text.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix(" |"));
            line.map(str::to_owned).ok_or(format!("bugs/{name}/README.md has no row '{row}'"))
        };
        let [system, found, promised, expected, replay] = ROWS.map(cell);
        Ok(Bug { folder: name, title, cells: [system?, found?, promised?, expected?, replay?] })
    }

    /// Returns the verdict that the trace must have, and the beginning of its message.
    ///
    /// # Errors
    /// The cell lacks one of them.
    pub fn expected(&self) -> Result<(&str, &str), String> {
        let mut ticked = self.cells[3].split('`').skip(1).step_by(2);
        let both = ticked.next().zip(ticked.next());
        both.ok_or(format!(
            "bugs/{}/README.md: 'Expected' is not: verdict `...`: `...`",
            self.folder
        ))
    }
}

/// Returns all bugs, in the order of the names of their folders.
///
/// # Errors
/// A README lacks a part.
pub fn bugs(folder: &Path) -> Result<Vec<Bug>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders.iter().map(|path| Bug::read(path)).collect()
}

/// Returns the text of the page.
///
/// # Errors
/// A README lacks a part.
pub fn page(folder: &Path) -> Result<String, String> {
    let bugs = bugs(folder)?;
    let mut page = format!("{HEAD}{} findings:\n\n", bugs.len());
    page.push_str("| what | system | promised by | verdict | found by | replay |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for bug in &bugs {
        let [system, found, promised, _, replay] = &bug.cells;
        let (verdict, _) = bug.expected()?;
        let what = format!("[{}](../../bugs/{}/README.md)", bug.title, bug.folder);
        page.push_str(&format!(
            "| {what} | {system} | {promised} | `{verdict}` | {found} | {replay} |\n"
        ));
    }
    Ok(page)
}

#[allow(dead_code, reason = "the test of the page has a main of its own")]
fn main() -> Result<(), String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = page(&here.join("bugs"))?;
    let path = here.join("docs/results/findings.md");
    fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))
}
