//! Sizes: the width of lines and the length of functions and files, in the sources of crates and
//! kernel modules. Tests and examples are not measured.

use crate::tokens::{Token, after_closing, tokens};
use crate::workspace::Files;

/// The most columns of a line. Tables in comments, addresses and raw strings may be wider.
pub const COLUMNS: usize = 100;

/// The most lines of a function, from its `fn` to its closing brace.
pub const FUNCTION_LINES: usize = 70;

/// The most lines of a file.
pub const FILE_LINES: usize = 600;

/// Returns a line of text for each size that is exceeded.
pub fn problems(files: &Files) -> Vec<String> {
    let sources = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    sources.flat_map(|(path, text)| of_file(path, text)).collect()
}

fn of_file(path: &str, text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut problems = wide_lines(path, text, &tokens);
    problems.extend(long_functions(path, &tokens));
    let lines = text.lines().count();
    if lines > FILE_LINES {
        problems.push(format!(
            "{path}: {lines} lines: split the file, it may have {FILE_LINES} at most"
        ));
    }
    problems
}

fn wide_lines(path: &str, text: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let raw: Vec<(usize, usize)> = tokens
        .iter()
        .filter(|token| {
            ["r\"", "r#", "br\"", "br#"].iter().any(|begin| token.text.starts_with(begin))
        })
        .map(|token| (token.line, token.line + token.text.matches('\n').count()))
        .collect();
    let in_raw = |line: usize| raw.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let is_free = |text: &str| {
        let text = text.trim_start();
        let is_table = text.starts_with("//! |") || text.starts_with("/// |");
        is_table || text.contains("https://")
    };
    (1..)
        .zip(text.lines())
        .map(|(line, text)| (line, text, text.chars().count()))
        .filter(|(line, text, columns)| *columns > COLUMNS && !is_free(text) && !in_raw(*line))
        .map(|(line, _, columns)| {
            format!("{path}:{line}: {columns} columns: break the line, it may have {COLUMNS}")
        })
        .collect()
}

fn long_functions(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if pair[0].text != "fn" || !pair[1].is_name() {
            continue;
        }
        // The body, or the semicolon of a declaration. Neither is within the arguments.
        let arguments = (at..tokens.len()).find(|at| tokens[*at].text == "(");
        let Some(arguments) = arguments.map(|open| after_closing(tokens, open)) else { continue };
        let body = (arguments..tokens.len()).find(|at| matches!(tokens[*at].text, "{" | ";"));
        let Some(body) = body.filter(|body| tokens[*body].text == "{") else { continue };
        let end = after_closing(tokens, body);
        let lines = tokens[end - 1].line - pair[0].line + 1;
        if lines > FUNCTION_LINES {
            let (line, name) = (pair[0].line, pair[1].text);
            problems.push(format!(
                "{path}:{line}: {name} has {lines} lines: split it, it may have {FUNCTION_LINES}"
            ));
        }
    }
    problems
}
