//! Code that decides by the text of a message. Messages are for people. Programs must decide by
//! typed values.
//!
//! The rule finds comparisons of values with the name of a message, searches in them, and searches
//! in a text that `to_string()` has just made.

use std::collections::BTreeSet;

use crate::production::production;
use crate::tokens::{Token, tokens};
use crate::workspace::{Files, Workspace};

/// The names of messages, also of fields and methods: those whose comparison is reported, and those
/// whose search is. The other names are typed values elsewhere.
const COMPARED: [&str; 5] = ["console", "message", "stderr", "stdout", "why"];
const SEARCHED: [&str; 13] = [
    "complaints",
    "console",
    "error",
    "message",
    "output",
    "reason",
    "said",
    "signature",
    "stderr",
    "stdout",
    "text",
    "what",
    "why",
];
/// The name in the report for a search in the result of `to_string()`.
const MADE: &str = "to_string";

/// The methods that search a text.
const LOOKS: [&str; 11] = [
    "contains",
    "ends_with",
    "eq",
    "find",
    "matches",
    "rsplit",
    "rsplit_once",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// The files that may search, each with the name that it may search.
const EXCEPTIONS: [(&str, &str); 17] = [
    // The library of another author has only texts.
    ("components/src/engine/fatfs/files.rs", MADE),
    // The output of programs, compilers and kernels, which otherwise give only an exit code.
    ("components/src/tool/mod.rs", "text"),
    ("src/guest/console.rs", "console"),
    ("vm-images/src/guest/probe.rs", "console"),
    ("vm-images/src/host/command.rs", "complaints"),
    // The files of traces and the lines of findings have the promise only in the signature. Each is
    // parsed there once.
    ("explode-runtime/src/report/message.rs", "signature"),
    ("explode-runtime/src/trace/format.rs", "signature"),
    // Texts that are not messages: user input that is parsed, and output that is laid out.
    ("checkers/src/command/steps.rs", "text"),
    ("components/src/vdisk/ramdisk.rs", "text"),
    ("explode-runtime/src/events/jsonl.rs", "text"),
    ("explode-runtime/src/explore/name.rs", "text"),
    ("explode-runtime/src/faults/kernel/sites.rs", "text"),
    ("explode-runtime/src/report/escape.rs", "text"),
    ("src/times.rs", "text"),
    ("src/commands/plan.rs", "text"),
    ("src/matrix/text.rs", "text"),
    ("vm-images/src/kernel/sources.rs", "text"),
];

/// Returns the places that decide by the text of a message, and the exceptions that are no longer
/// needed.
pub fn problems(files: &Files, workspace: &Workspace<'_>) -> Vec<String> {
    let sources: BTreeSet<&str> =
        workspace.modules.iter().map(|module| module.file.as_str()).collect();
    let mut problems = Vec::new();
    for file in sources {
        let tokens = production(&tokens(files.get(file).map_or("", String::as_str)));
        let mut needed = BTreeSet::new();
        for at in 0..tokens.len() {
            let Some(name) = decides(&tokens[at..]) else { continue };
            if EXCEPTIONS.contains(&(file, name)) {
                needed.insert(name);
            } else {
                let line = tokens[at].line;
                problems.push(format!(
                    "{file}:{line}: this decides by the text of a message: give it a type"
                ));
            }
        }
        for (_, name) in
            EXCEPTIONS.iter().filter(|(of, name)| *of == file && !needed.contains(name))
        {
            let advice = "delete it in tests/tidy/messages.rs";
            problems.push(format!("{file}: `{name}` is no exception any more: {advice}"));
        }
    }
    problems
}

/// Returns the name of the message if a decision begins at these tokens.
fn decides<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let texts: Vec<&'a str> = tokens.iter().take(9).map(|token| token.text).collect();
    let looks = |texts: &[&str]| match texts {
        [".", method, "(", ..] => LOOKS.contains(method),
        _ => false,
    };
    match texts[..] {
        [MADE, "(", ")", ref rest @ ..] => looks(rest).then_some(MADE),
        ["=" | "!", "=", ref rest @ ..] => compared(rest),
        [name, "(", ")", ref rest @ ..] | [name, ref rest @ ..] => {
            let is_compared = matches!(rest, ["=" | "!", "=", ..]);
            let is_one =
                SEARCHED.contains(&name) && looks(rest) || COMPARED.contains(&name) && is_compared;
            is_one.then_some(name)
        }
        _ => None,
    }
}

/// Returns the message at the end of this path, such as `&other.message`.
fn compared<'a>(texts: &[&'a str]) -> Option<&'a str> {
    let is_part =
        |text: &&&str| matches!(**text, "." | "&" | "*") || text.starts_with(char::is_alphabetic);
    let path = texts.iter().take_while(is_part).count();
    let is_whole = texts.get(path).is_some_and(|next| *next != "::");
    let last = *texts.get(path.checked_sub(1)?)?;
    (is_whole && COMPARED.contains(&last)).then_some(last)
}
