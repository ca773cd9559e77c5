//! The words for what is broken, as the module's table has them.

use crate::fs::model::{FLUSHED_ATTRIBUTES, UNSYNCED_ATTRIBUTES};

use super::contents;

pub const FLUSHED_NAME: &str = "flushed-name";
pub const DELETED_NAME: &str = "deleted-name";
pub const CREATED_NAME: &str = "created-name";
pub const KIND: &str = "kind";
pub const ONE_SEQUENCE: &str = "one-sequence";
pub const LINK_COUNT: &str = "link-count";
pub const READABLE: &str = "readable";

/// Those of modes and extended attributes.
pub const OF_ATTRIBUTES: [&str; 2] = [FLUSHED_ATTRIBUTES, UNSYNCED_ATTRIBUTES];
/// Those of everything else.
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

/// Both.
pub fn all() -> impl Iterator<Item = &'static str> {
    WORDS.into_iter().chain(OF_ATTRIBUTES)
}

/// What a profile may exclude by itself. Nothing else that is wrong is hidden then: it is looked
/// for without these.
pub const EXCLUDABLE: [&str; 2] = [contents::UNSYNCED, UNSYNCED_ATTRIBUTES];
/// The structure, which a profile may exclude as a whole, together with those. Then what was forced
/// is looked for name by name.
#[cfg(test)]
pub const STRUCTURE: [&str; 5] = [READABLE, KIND, CREATED_NAME, ONE_SEQUENCE, LINK_COUNT];
