//! Databases.

mod contents;
pub mod targets;
pub mod transactions;
