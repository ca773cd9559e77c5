//! Key-value stores.

pub mod commits;
pub mod targets;
