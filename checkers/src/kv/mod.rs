//! Checkers of key-value stores.

pub mod commits;
