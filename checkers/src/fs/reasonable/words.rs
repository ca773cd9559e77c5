//! The words of the promises in the module's table.

use crate::fs::model::{FLUSHED_ATTRIBUTES, UNSYNCED_ATTRIBUTES};

use super::contents;

pub const FLUSHED_NAME: &str = "flushed-name";
pub const DELETED_NAME: &str = "deleted-name";
pub const CREATED_NAME: &str = "created-name";
pub const KIND: &str = "kind";
pub const ONE_SEQUENCE: &str = "one-sequence";
pub const LINK_COUNT: &str = "link-count";
pub const READABLE: &str = "readable";

/// The promises about modes and extended attributes.
pub const OF_ATTRIBUTES: [&str; 2] = [FLUSHED_ATTRIBUTES, UNSYNCED_ATTRIBUTES];
/// The promises about everything else.
pub const WORDS: [&str; 9] = [
    FLUSHED_NAME,
    DELETED_NAME,
    CREATED_NAME,
    contents::FLUSHED,
    contents::UNSYNCED,
    KIND,
    ONE_SEQUENCE,
    LINK_COUNT,
    READABLE,
];

/// Returns all promises.
pub fn all() -> impl Iterator<Item = &'static str> {
    WORDS.into_iter().chain(OF_ATTRIBUTES)
}

/// The promises that a profile may exclude by themselves. The exclusion hides no other violation,
/// because the tree is judged again without these promises.
pub const EXCLUDABLE: [&str; 2] = [contents::UNSYNCED, UNSYNCED_ATTRIBUTES];
/// The promises about the structure, which a profile may exclude as a whole, together with
/// [`EXCLUDABLE`]. Then forced data is checked name by name.
#[cfg(test)]
pub const STRUCTURE: [&str; 5] = [READABLE, KIND, CREATED_NAME, ONE_SEQUENCE, LINK_COUNT];
