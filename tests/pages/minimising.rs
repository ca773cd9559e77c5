//! The minimised trace on `docs/guide/explain-a-finding.md` equals the output of the command.

use tempfile::tempdir;

use crate::common::{explode_in, program};

/// Removes the seconds, which depend on the machine.
fn without_seconds(text: &str) -> String {
    let cut = |line: &str| match line.split_once(" answered from memory, ") {
        Some((counts, _)) => format!("{counts} answered from memory"),
        None => line.to_owned(),
    };
    text.lines().map(|line| cut(line.trim_start()) + "\n").collect()
}

#[test]
fn the_example_equals_the_output_of_the_command() {
    let page = include_str!("../../docs/guide/explain-a-finding.md");
    let (_, block) = page.split_once("\n$ explode minimise ").expect("the command");
    let (trace, block) = block.split_once('\n').expect("what it says");
    let (block, _) = block.split_once("\n```").expect("the end of it");
    let (run, _) = trace.split_once("/traces/").expect("a trace of a run");

    // The finding is the same one step deep.
    let folder = tempdir().unwrap();
    let args = format!("run sqlite-off --depth 1 --require-complete --out {run}");
    explode_in(folder.path(), args.split_whitespace()).expect(1);
    let said =
        explode_in(folder.path(), ["minimise", trace]).expect(0).out.replace(program(), "explode");
    // The commands name the trace from the root, and the page's folder differs.
    let here = format!("{}/", folder.path().display());
    let said = said.replace(&format!("show {here}"), "show /home/me/explode/");
    let said = said.replace(&format!("replay {here}"), "replay /home/me/explode/");
    assert_eq!(without_seconds(&said), without_seconds(block), "{said}");
}
