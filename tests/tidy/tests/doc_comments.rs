//! Doc comments that do not say what their item is are found.

use super::files;
use crate::doc_comments::problems;

fn found(text: &str) -> Vec<String> {
    problems(&files(&[("src/a.rs", text)]))
}

#[test]
fn question_words_pronouns_questions_and_single_words_are_found() {
    assert_eq!(
        found(
            "//! How a unit ends.\n\nstruct A {\n    /// None.\n    a: u8,\n    /// A disk. Is it \
             whole?\n    b: bool,\n    /// Zeroes.\n    c: u8,\n}\n"
        ),
        [
            "src/a.rs:1: begins with \"How\": begin with a noun, or a verb in the third person",
            "src/a.rs:4: begins with \"None.\": begin with a noun, or a verb in the third person",
            "src/a.rs:4: \"None.\" is one word: say what the item is or does",
            "src/a.rs:6: \"whole?\" ends a question: make a statement",
            "src/a.rs:8: \"Zeroes.\" is one word: say what the item is or does",
        ]
    );
}

#[test]
fn statements_code_and_plain_comments_are_free() {
    let text = "/// Returns the disk. What follows is an example.\n///\n/// ```\n/// What? None?\n\
                /// ```\nfn a() {\n    // What now?\n}\n\n/// [`b`]\nmod b {}\n//// Who?\n";
    assert_eq!(found(text), [""; 0]);
}
