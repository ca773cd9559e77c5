//! Unused words are found as whole words, in comments, strings and pages.

use crate::words::problems;
use crate::workspace::Files;

fn found(path: &str, text: &str) -> Vec<String> {
    problems(&Files::from([(path.to_owned(), text.to_owned())]))
}

#[test]
fn a_word_is_found_in_any_case() {
    let text = "/// Nobody waits.\nlet why = \"whoever asks\";\n/// The busybody nobodys wait.\n";
    assert_eq!(
        found("src/a.rs", text),
        [
            "src/a.rs:1: \"nobody\": name who does not, or use the passive",
            "src/a.rs:2: \"whoever\": name the user, the caller, the task",
        ]
    );
    assert_eq!(found("docs/a.md", "The log says so.\n").len(), 1);
}

#[test]
fn a_quotation_is_free_in_its_file_only() {
    let text = "files likewise \\\"nobarrier\\\" mount option\n";
    assert_eq!(found("components/src/fs/kernel/profiles/logs.rs", text), [""; 0]);
    assert_eq!(found("src/a.rs", text).len(), 1);
}
