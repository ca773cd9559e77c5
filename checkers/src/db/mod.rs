//! Databases.

mod contents;
pub mod transactions;
