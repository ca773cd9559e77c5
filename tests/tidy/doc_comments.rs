//! Doc comments: each says what its item is or does. None begins with a question word or a pronoun,
//! asks a question, or is a single word.

use crate::workspace::Files;

/// First words that leave the item without a name.
const OPENERS: [&str; 14] = [
    "What", "Who", "Whose", "How", "Where", "Which", "It", "It's", "They", "Them", "These",
    "Those", "None", "Nothing",
];

/// Returns a line of text for each doc comment that breaks a rule.
pub fn problems(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
        for comment in comments(text) {
            let at = format!("{path}:{}", comment.line);
            problems.extend(comment.problems().map(|problem| format!("{at}: {problem}")));
        }
    }
    problems
}

/// A doc comment without its markers, and without examples of code.
struct Comment {
    /// The line on which it begins, from 1.
    line: usize,
    /// Its words.
    words: Vec<String>,
}

impl Comment {
    fn problems(&self) -> impl Iterator<Item = String> {
        let first = self.words.first().map_or("", String::as_str);
        let opener = OPENERS.contains(&first.trim_end_matches(['.', ',', ':', ';'])).then(|| {
            format!("begins with \"{first}\": begin with a noun, or a verb in the third person")
        });
        let question =
            self.words.iter().find(|word| word.trim_end_matches([')', '"']).ends_with('?'));
        let question = question.map(|word| format!("\"{word}\" ends a question: make a statement"));
        let alone = (self.words.len() == 1 && !first.starts_with(['`', '[']))
            .then(|| format!("\"{first}\" is one word: say what the item is or does"));
        [opener, question, alone].into_iter().flatten()
    }
}

/// Returns the doc comments of a file.
fn comments(text: &str) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let (mut marker_before, mut is_code) = (None, false);
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim_start();
        let marker = ["///", "//!"].into_iter().find(|marker| text.starts_with(marker));
        let Some(marker) = marker.filter(|_| !text.starts_with("////")) else {
            marker_before = None;
            continue;
        };
        if marker_before != Some(marker) {
            comments.push(Comment { line, words: Vec::new() });
            is_code = false;
        }
        marker_before = Some(marker);
        let said = text[marker.len()..].trim();
        if said.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && let Some(comment) = comments.last_mut() {
            comment.words.extend(said.split_whitespace().map(str::to_owned));
        }
    }
    comments
}
