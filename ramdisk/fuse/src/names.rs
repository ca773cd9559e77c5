//! Names of any bytes, as the text that simulated files keep.
//!
//! A byte that is not part of UTF-8 is a character from U+F780 to U+F7FF, which are for private
//! use. Bytes of these characters themselves are stored in the same way, so that different names
//! are different texts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// The character of a byte is this number plus the byte.
const ESCAPED: u32 = 0xf700;

/// Returns the text of a name.
pub(crate) fn text(name: &OsStr) -> String {
    let escape = |byte: &u8| char::from_u32(ESCAPED + u32::from(*byte)).expect("a character");
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for char in chunk.valid().chars() {
            if byte_of(char).is_some() {
                text.extend(char.encode_utf8(&mut [0; 4]).as_bytes().iter().map(escape));
            } else {
                text.push(char);
            }
        }
        text.extend(chunk.invalid().iter().map(escape));
    }
    text
}

/// Returns the name that [`text`] was made of.
pub(crate) fn name(text: &str) -> OsString {
    let mut bytes = Vec::new();
    for char in text.chars() {
        match byte_of(char) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

/// Returns the byte that a character stands for.
fn byte_of(char: char) -> Option<u8> {
    let byte = u32::from(char).checked_sub(ESCAPED)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_has_its_own_text() {
        let parts: [&[u8]; 8] = [
            b"a",
            b"\xff",
            b"\x80",
            "\u{e4}".as_bytes(),
            "\u{f7ff}".as_bytes(),
            b"\xef\x9f",
            "\u{f780}".as_bytes(),
            b"\xbf",
        ];
        let mut texts = HashSet::new();
        let mut names = HashSet::new();
        for first in parts {
            for second in parts {
                for third in parts {
                    let bytes = OsString::from_vec([first, second, third].concat());
                    let stored = text(&bytes);
                    assert_eq!(name(&stored), bytes);
                    texts.insert(stored);
                    names.insert(bytes);
                }
            }
        }
        assert_eq!(texts.len(), names.len());
        assert_eq!(text(OsStr::new("a\u{e4}")), "a\u{e4}");
    }
}
