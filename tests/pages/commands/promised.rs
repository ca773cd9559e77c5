//! Compares a page's statements about a command with the result of the command.

use super::Ended;
use super::clone::Clone;
use crate::common::page::Command;
use crate::common::program;

/// The text at the beginning of lines that the page does not show in full.
const MORE: &str = "...";

/// Compares the exit code and the output with the page. Returns the difference.
pub fn check(command: &Command, ended: &Ended, clone: &Clone) -> Result<(), String> {
    let code = code(command)?;
    if ended.code != code {
        return Err(format!("exit code {}, and the page promises {code}", ended.code));
    }
    if command.comment.starts_with("finds nothing") && !ended.out.contains(" 0 findings; ") {
        return Err("the summary does not say that there are 0 findings".to_owned());
    }
    let shown = command.shown.as_deref().unwrap_or_default();
    shows(shown, &as_on_a_page(&ended.out, clone))
}

/// Returns the exit code that the page states.
fn code(command: &Command) -> Result<i32, String> {
    let shown = command.shown.iter().flatten();
    let is_a_finding = |line: &String| line.contains(" FAIL ") || line.contains(" reproduced ");
    match command.comment.strip_prefix("exit code ") {
        Some(code) => {
            let digits: String = code.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().map_err(|_| format!("'{}' is no exit code", command.comment))
        }
        None if command.comment.starts_with("finds nothing") => Ok(0),
        None if command.comment.starts_with("finds ") => Ok(1),
        None => Ok(i32::from(shown.into_iter().any(is_a_finding))),
    }
}

/// Returns the output with the names that a page uses: the program's, and a reader's home.
fn as_on_a_page(out: &str, clone: &Clone) -> Vec<String> {
    let out = out.replace(&clone.folder().display().to_string(), "/home/me/explode");
    let out = out.replace(&format!("{} ", program()), "explode ");
    out.lines().map(without_times).collect()
}

/// Replaces times, which depend on the machine: `[   3.4s]` and `0.3s` become `TIME`.
fn without_times(line: &str) -> String {
    let is_time = |word: &str| {
        word.strip_suffix('s')
            .is_some_and(|number| number.contains('.') && number.parse::<f64>().is_ok())
    };
    let word = |word: &str| {
        if is_time(word.trim_matches(['[', ']', ','])) {
            "TIME".to_owned()
        } else {
            word.to_owned()
        }
    };
    let indent = line.len() - line.trim_start().len();
    let words: Vec<String> =
        line.split_whitespace().filter(|part| *part != "[").map(word).collect();
    format!("{}{}", &line[..indent], words.join(" "))
}

/// Searches the output for the lines that the page shows, in order. A line `...` stands for any
/// number of lines, and `...` at a line's end for the rest of the line.
fn shows(shown: &[String], out: &[String]) -> Result<(), String> {
    let mut from = 0;
    for part in shown.split(|line| line.trim() == MORE) {
        let part: Vec<String> = part.iter().map(|line| without_times(line)).collect();
        let fits = |at: &usize| {
            part.iter().zip(&out[*at..]).filter(|(page, real)| same(page, real)).count()
                == part.len()
        };
        let at = (from..=out.len()).find(fits);
        let at = at.ok_or_else(|| format!("the output does not have:\n{}", part.join("\n")))?;
        from = at + part.len();
    }
    Ok(())
}

fn same(page: &str, real: &str) -> bool {
    match page.strip_suffix(MORE) {
        Some(begin) => real.starts_with(begin.trim_end()),
        None => page == real,
    }
}
