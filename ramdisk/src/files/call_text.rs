//! Readable text of a call: the name of the system call and its arguments.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A call in words. Two calls that differ only in their span can be merged into one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallText {
    /// The call and its path: `pwrite /db`.
    pub head: String,
    /// The offset and the number of bytes. `None` if the call has neither.
    pub span: Option<(u64, u64)>,
    /// Further arguments.
    pub tail: String,
}

impl CallText {
    /// Returns a text without a span and without further arguments.
    pub fn bare(head: &str) -> CallText {
        CallText { head: head.to_owned(), span: None, tail: String::new() }
    }

    /// Appends words to the further arguments.
    pub fn add(&mut self, words: &str) {
        if !self.tail.is_empty() {
            self.tail.push(' ');
        }
        self.tail.push_str(words);
    }
}

impl fmt::Display for CallText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if let Some((offset, bytes)) = self.span {
            write!(f, " {offset}+{bytes}")?;
        }
        match self.tail.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", self.tail),
        }
    }
}
