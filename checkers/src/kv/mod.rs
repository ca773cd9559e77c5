//! Key-value stores.

pub mod commits;
