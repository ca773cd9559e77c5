//! Checkers of databases.

mod contents;
pub mod transactions;
