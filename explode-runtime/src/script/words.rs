//! Texts, paths and bytes as words of the shell.

use std::borrow::Cow;

use crate::report::escaped;

/// Returns a shell word for this text.
pub(super) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        printable(text).unwrap_or_else(|| format!("'{}'", text.replace('\'', r"'\''")))
    }
}

/// Returns a shell word for this text in which control characters are octal numbers. `None` if
/// there are none. Newlines at its end are lost.
pub(super) fn printable(text: &str) -> Option<String> {
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

/// Returns a shell word for a path of the file system.
pub(super) fn path(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%, ".contains(c);
    if path.chars().all(plain) {
        format!("\"$mnt{path}\"")
    } else {
        format!("\"$mnt\"{}", word(path))
    }
}

/// Returns bytes in the format that getfattr(1) writes with `-e hex` and setfattr(1) accepts.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// Returns a command of the trace for a script. A command with control characters is written as
/// printable text.
pub(super) fn runnable(text: &str) -> String {
    printable(text).map_or_else(|| text.to_owned(), |word| format!("eval {word}"))
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_is_its_text_and_shows_no_control_characters() {
        for text in
            ["", "a", "it's", "a\x1b]0;b\x07'\\n\u{9b}%s", "\u{202e}x", "two\nlines\t", "\\033\x1b"]
        {
            let word = word(text);
            assert!(!word.contains(|c: char| c.is_control() && !"\n\t".contains(c)), "{word:?}");
            let command = format!("printf %s {word}");
            let ran = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), text, "{word}");
        }
    }
}
