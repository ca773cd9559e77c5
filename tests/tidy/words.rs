//! Words that the project does not use, because they hide the subject or the verb.

use crate::workspace::Files;

/// Each word, and its replacement.
pub const WORDS: [(&str, &str); 17] = [
    ("nobody", "name who does not, or use the passive"),
    ("whoever", "name the user, the caller, the task"),
    ("somebody", "name the user, the caller, the task"),
    ("as ever", "delete it"),
    ("likewise", "repeat the verb"),
    ("is told", "receives, gets"),
    ("are told", "receive, get"),
    ("was told", "received, got"),
    ("says so", "repeat the verb"),
    ("so many", "write \"N\", or the name of the number"),
    ("all the same", "delete it"),
    ("comes to", "use \"results in\" or \"reaches\""),
    ("goes by", "uses"),
    ("came of", "use \"the result of\""),
    (", too.", "delete it, or write \"also\" before the verb"),
    (", too,", "delete it, or write \"also\" before the verb"),
    (", too;", "delete it, or write \"also\" before the verb"),
];

/// The lines that have one of them as a name or a quotation, by path.
const QUOTED: [(&str, &str); 3] = [
    ("checkers/src/fs/reasonable/subsets.rs", "\"nobody\".to_owned()"),
    ("components/src/fs/kernel/profiles/logs.rs", "files likewise \\\"nobarrier\\\""),
    ("explode-runtime/src/base/panics.rs", "this one is told"),
];

/// Returns a line of text for each use in a source or on a page.
pub fn problems(files: &Files) -> Vec<String> {
    files.iter().flat_map(|(path, text)| in_file(path, text)).collect()
}

fn in_file(path: &str, text: &str) -> Vec<String> {
    let is_quoted = |line: &str| {
        QUOTED.iter().any(|(file, quote)| path.starts_with(file) && line.contains(quote))
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !is_quoted(line));
    let found = lines.flat_map(|(number, line)| {
        let used = WORDS.iter().filter(|(word, _)| has_word(line, word));
        used.map(move |(word, advice)| format!("{path}:{number}: \"{word}\": {advice}"))
    });
    found.collect()
}

/// Returns true if a line has these words whole, in any case.
fn has_word(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(at, _)| {
        let continues = word.starts_with(is_letter) && line[..at].ends_with(is_letter);
        !continues && !line[at + word.len()..].starts_with(is_letter)
    })
}
