//! Escapes text of others for a terminal. Names, messages, labels and the output of commands may
//! hold control characters for a terminal.

use std::borrow::Cow;

/// Replaces every character that controls a terminal by its escape, such as `\u001b` for ESC,
/// except newlines and tabs.
///
/// The characters are the control characters C0 and C1, DEL, and the characters that change the
/// direction of text or end a line. The escape is that of JSON, so JSON text keeps its value.
pub fn escaped(text: &str) -> Cow<'_, str> {
    replaced(text, |letter| letter != '\n' && letter != '\t' && is_obeyed(letter))
}

/// Replaces the characters of [`escaped`], and newlines and tabs by `\n` and `\t`. The result is
/// one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, is_obeyed)
}

fn replaced(text: &str, hide: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hide) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            letter if !hide(letter) => safe.push(letter),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            letter => safe.push_str(&format!("\\u{:04x}", u32::from(letter))),
        }
    }
    Cow::Owned(safe)
}

/// Returns true for a character that changes the display of the text after it.
fn is_obeyed(letter: char) -> bool {
    let directs = matches!(letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || directs || matches!(letter, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_for_a_terminal() {
        assert_eq!(escaped("\x1b]0;evil\x07\r\n\tok"), "\\u001b]0;evil\\u0007\\u000d\n\tok");
        assert_eq!(one_line("a\n\tb\u{7f}\u{9b}31m"), "a\\n\\tb\\u007f\\u009b31m");
        assert_eq!(one_line("\u{202e}cba\u{2069}\u{2028}"), "\\u202ecba\\u2069\\u2028");
        assert!(matches!(escaped("ext4 – größer\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "message": "a\u{9b}b\u{202e}\x1b\n" });
        let text = value.to_string();
        let safe = escaped(&text);
        assert!(!safe.chars().any(is_obeyed), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
