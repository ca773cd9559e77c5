//! The pages about exit codes, rooms, traces and JSON lines agree with the program and are
//! complete.

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod exit_codes;
mod findings;
mod interfaces;
#[path = "../../examples/findings.rs"]
mod maker;
mod matrix;
mod minimising;
mod profiles;
mod readme;
mod rooms;
mod trace_format;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use common::{Ran, explode_in, file};

/// Returns the cells of each row of the table with this head, which must be unique on the page.
fn table<'a>(page: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    assert_eq!(page.matches(head).count(), 1, "'{head}'");
    let rows =
        page[page.find(head).unwrap()..].lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// Returns the texts in backticks.
fn names(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the keys of all these objects.
fn keys_of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    objects.into_iter().flat_map(|object| common::keys(object)).map(str::to_owned).collect()
}

/// Runs a stack file of commands on a folder, with this check and alternatives of one command each.
fn run_commands(folder: &Path, name: &str, check: &str, steps: &[&str], args: &str) -> Ran {
    let step = |(at, step): (usize, &&str)| {
        format!("{{ name = \"{at}\", steps = [ {{ sh = '{step}' }} ] }}")
    };
    let mutate: Vec<String> = steps.iter().enumerate().map(step).collect();
    let text = format!(
        "[[component]]\nuse = \"folder\"\n[checker]\nname = \"page\"\nmutate = [ {} ]\ncheck = \
         '{check}'\n",
        mutate.join(", ")
    );
    file(folder, &format!("{name}.toml"), text);
    let depth = if args.contains("--depth") { "" } else { "--depth 1" };
    let args = format!("run {name}.toml {depth} --format jsonl --out {name} {args}");
    explode_in(folder, args.split_whitespace())
}
