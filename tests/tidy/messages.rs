//! Code that decides by the text of a message. A message is for people: what programs decide by is typed.
//!
//! Found are comparisons of what is called like a message, searches in it, and searches in a text that
//! `to_string()` has just made.

use std::collections::BTreeSet;

use crate::production::production;
use crate::tokens::{Token, tokens};
use crate::workspace::{Files, Workspace};

/// Names of messages, also of fields and methods: those that are compared, and those that are searched.
/// Elsewhere the others name what has a type.
const COMPARED: [&str; 2] = ["message", "why"];
const SEARCHED: [&str; 5] = ["message", "why", "what", "said", "reason"];

/// Methods that look into a text.
const LOOKS: [&str; 9] = [
    "contains",
    "ends_with",
    "eq",
    "find",
    "matches",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Files that must look: the library of another author has nothing but words.
const EXCEPTIONS: [&str; 1] = ["components/src/engine/fatfs/files.rs"];

/// Returns the places that decide by the text of a message, and the exceptions that are not needed any more.
pub fn problems(files: &Files, workspace: &Workspace<'_>) -> Vec<String> {
    let sources: BTreeSet<&str> = workspace.modules.iter().map(|module| module.file.as_str()).collect();
    let mut problems = Vec::new();
    for file in sources {
        let tokens = production(&tokens(files.get(file).map_or("", String::as_str)));
        let mut found = (0..tokens.len()).filter(|at| decides(&tokens[*at..])).peekable();
        if !EXCEPTIONS.contains(&file) {
            problems.extend(found.map(|at| {
                let line = tokens[at].line;
                format!("{file}:{line}: this decides by the text of a message: give it a type")
            }));
        } else if found.peek().is_none() {
            problems
                .push(format!("{file}: it is no exception any more: delete it in tests/tidy/messages.rs"));
        }
    }
    problems
}

/// Does a decision begin here?
fn decides(tokens: &[Token<'_>]) -> bool {
    let texts: Vec<&str> = tokens.iter().take(9).map(|token| token.text).collect();
    let looks = |texts: &[&str]| match texts {
        [".", method, "(", ..] => LOOKS.contains(method),
        _ => false,
    };
    match texts[..] {
        ["to_string", "(", ")", ref rest @ ..] => looks(rest),
        ["=" | "!", "=", ref rest @ ..] => is_message(rest),
        [name, "(", ")", ref rest @ ..] | [name, ref rest @ ..] => {
            let is_compared = matches!(rest, ["=" | "!", "=", ..]);
            SEARCHED.contains(&name) && looks(rest) || COMPARED.contains(&name) && is_compared
        }
        _ => false,
    }
}

/// Is this a path that ends with a message, such as `&other.message`?
fn is_message(texts: &[&str]) -> bool {
    let is_part = |text: &&&str| matches!(**text, "." | "&" | "*") || text.starts_with(char::is_alphabetic);
    let path = texts.iter().take_while(is_part).count();
    let is_whole = texts.get(path).is_some_and(|next| *next != "::");
    path > 0 && is_whole && COMPARED.contains(&texts[path - 1])
}
