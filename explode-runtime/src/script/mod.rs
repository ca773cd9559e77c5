//! Scripts that show what a trace shows, without us: a stand-alone one for a shell, and a test in the style of the suite xfstests
//! (`docs/reporting.md`).
//!
//! A worker runs the trace's way with the calls of its checker written down ([`CallLog`]), stands still at the crash, and says what
//! was done, which disks there are, and what the check demands ([`Evidence`]). The rest is text. Invariants: the crash disk of a
//! script is the trace's, byte for byte, and the script makes sure of it; what a shell cannot show is refused ([`Refused`]), not
//! approximated; only the workload may be done by commands in place of the calls, since nothing is concluded from it. But for tests of
//! the suite that drop writes in place of a recorded disk: these are made where the drop left that very disk in the trace.

mod blocks;
mod case;
mod data;
mod demands;
mod listed;
mod notes;
mod recorded;
mod sh;
mod steps;
mod xfstests;

pub use case::{Case, Refused, gather};
pub use xfstests::Test;

use std::borrow::Cow;

use crate::report::escaped;

/// A word of the shell that is this text.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        printable(text).unwrap_or_else(|| format!("'{}'", text.replace('\'', r"'\''")))
    }
}

/// A word of the shell that is this text, with the characters that a terminal obeys as octal numbers; `None` if it has none of them.
/// Newlines at its end are lost.
fn printable(text: &str) -> Option<String> {
    if matches!(escaped(text), Cow::Borrowed(_)) {
        return None;
    }
    let mut word = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => word.push_str(r"\\"),
            '\'' => word.push_str(r"'\''"),
            letter if matches!(escaped(letter.encode_utf8(&mut [0; 4])), Cow::Owned(_)) => {
                let bytes = letter.to_string().into_bytes();
                word.extend(bytes.iter().map(|byte| format!("\\0{byte:03o}")));
            }
            letter => word.push(letter),
        }
    }
    Some(format!("\"$(printf %b '{word}')\""))
}

/// A path of the file system, as a word of the shell.
fn path(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%, ".contains(c);
    if path.chars().all(plain) { format!("\"$mnt{path}\"") } else { format!("\"$mnt\"{}", word(path)) }
}

/// Bytes as getfattr(1) writes them with `-e hex`, and setfattr(1) takes them.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_is_its_text_and_shows_no_control_characters() {
        for text in ["", "a", "it's", "a\x1b]0;b\x07'\\n\u{9b}%s", "\u{202e}x", "two\nlines\t", "\\033\x1b"] {
            let word = word(text);
            assert!(!word.contains(|c: char| c.is_control() && !"\n\t".contains(c)), "{word:?}");
            let command = format!("printf %s {word}");
            let ran = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), text, "{word}");
        }
    }
}
