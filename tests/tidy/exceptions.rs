//! The lists of today's exceptions, which may only shrink: an entry that is not needed any more fails
//! as a new violation does.

use std::collections::{BTreeMap, BTreeSet};

use crate::circles::Circle;

/// The entries of a list; lines with `#` are comments.
pub fn entries(text: &str) -> BTreeSet<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Compares the uses that run upwards with the list of those that are allowed.
pub fn compare_uses(found: &BTreeMap<String, String>, file: &str, listed: &str) -> Vec<String> {
    let listed = entries(listed);
    let new = found.iter().filter(|(key, _)| !listed.contains(key.as_str()));
    let stale = listed.iter().filter(|key| !found.contains_key(**key));
    new.map(|(_, message)| message.clone())
        .chain(stale.map(|key| format!("{file}: `{key}` is not needed any more: delete the line")))
        .collect()
}

/// Compares circles, by `crate: file file ...`, with the list of those that are allowed.
pub fn compare_circles(found: &BTreeMap<String, Circle>, file: &str, listed: &str) -> Vec<String> {
    let listed = entries(listed);
    let mut problems = Vec::new();
    for (key, circle) in found {
        if !listed.iter().any(|line| is_part(key, line)) {
            let way = circle.way.join("\n    ");
            let advice = "move what they share into a file of its own";
            problems.push(format!("a circle of {} files: {advice}\n    {way}", circle.nodes.len()));
        }
    }
    for line in listed.iter().filter(|line| !found.contains_key(**line)) {
        let rest: Vec<_> = found.keys().filter(|key| is_part(key, line)).cloned().collect();
        problems.push(if rest.is_empty() {
            format!("{file}: `{line}` is no circle any more: delete the line")
        } else {
            format!("{file}: `{line}` is smaller now: write `{}` instead", rest.join("`, `"))
        });
    }
    problems
}

/// Returns true if a circle's files are all in another one of its crate.
fn is_part(key: &str, other: &str) -> bool {
    let (Some((of, files)), Some((other_of, other_files))) = (key.split_once(": "), other.split_once(": "))
    else {
        return false;
    };
    let other_files: BTreeSet<_> = other_files.split(' ').collect();
    of == other_of && files.split(' ').all(|file| other_files.contains(file))
}

/// Returns the text of a list.
pub fn text<'k>(about: &str, keys: impl Iterator<Item = &'k String>) -> String {
    let entries: String = keys.map(|key| format!("{key}\n")).collect();
    format!(
        "# {about}\n# Written by `TIDY_WRITE=1 cargo test --test tidy`. This list may only shrink.\n{entries}"
    )
}
