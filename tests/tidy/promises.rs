//! The design's rules for single files and rooms: they exist, stay small, and have no interior
//! mutability.

use crate::production::production;
use crate::tokens::{after_closing, tokens};
use crate::workspace::{Files, KBUILD};

/// Files with the number of lines that they must stay below.
const LINES: [(&str, usize); 1] = [("explode-runtime/src/judge/mod.rs", 150)];

/// Traits: the file of each, and the most methods that it may have.
const METHODS: [(&str, &str, usize); 2] = [
    ("Component", "explode-runtime/src/stack/component.rs", 8),
    ("Checker", "explode-runtime/src/check/checker.rs", 9),
];

/// The rooms whose code may only change borrowed data.
const BORROWING: [&str; 4] = [
    "explode-runtime/src/check/",
    "explode-runtime/src/judge/",
    "explode-runtime/src/unit/",
    "explode-runtime/src/worker/",
];
/// The files of the cache of chopped states, which the units of a worker share.
const CHOP_CACHE: [&str; 2] =
    ["explode-runtime/src/unit/runner.rs", "explode-runtime/src/unit/first_start.rs"];

/// Returns the rules that these files break. A missing file breaks its rules.
pub fn problems(files: &Files) -> Vec<String> {
    let text = |path: &str| files.get(path).map_or("", String::as_str);
    let mut problems = Vec::new();
    for (name, main) in KBUILD.into_iter().filter(|(_, main)| !files.contains_key(*main)) {
        problems.push(format!(
            "{main}: the main file of {name} is not there: name its place in KBUILD"
        ));
    }
    for (path, most) in LINES {
        let lines = text(path).lines().count();
        if lines == 0 || lines >= most {
            problems.push(format!("{path}: {lines} lines: it has some, and fewer than {most}"));
        }
    }
    for (name, path, most) in METHODS {
        match methods(text(path), name) {
            None => problems
                .push(format!("{path}: trait {name} is not there: name its file in METHODS")),
            Some(methods) if methods > most => {
                problems.push(format!(
                    "{path}: trait {name} has {methods} methods: it may have {most}"
                ));
            }
            Some(_) => {}
        }
    }
    let is_borrowing = |path: &str| BORROWING.iter().any(|room| path.starts_with(room));
    for (path, text) in files.iter().filter(|(path, _)| is_borrowing(path)) {
        let cell = production(&tokens(text))
            .iter()
            .find(|token| token.text == "RefCell")
            .map(|token| token.line);
        if let Some(line) = cell.filter(|_| !CHOP_CACHE.contains(&path.as_str())) {
            problems.push(format!(
                "{path}:{line}: a RefCell: only the cache of chopped states may be one here"
            ));
        }
    }
    problems
}

/// Returns the number of methods of a trait. `None` if the text has no such trait.
fn methods(text: &str, name: &str) -> Option<usize> {
    let tokens = tokens(text);
    let begin =
        tokens.windows(2).position(|pair| pair[0].text == "trait" && pair[1].text == name)?;
    let open = begin + tokens[begin..].iter().position(|token| token.text == "{")?;
    let end = after_closing(&tokens, open);
    let (mut methods, mut at) = (0, open + 1);
    while at < end {
        match tokens[at].text {
            "(" | "[" | "{" => at = after_closing(&tokens, at),
            text => {
                methods += usize::from(text == "fn");
                at += 1;
            }
        }
    }
    Some(methods)
}
