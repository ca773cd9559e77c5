//! Checkers of file systems.

pub mod atomic;
pub mod basic;
mod endless;
pub mod failures;
mod from_tree;
pub(crate) mod matrix_columns;
mod model;
pub mod moved;
pub mod reasonable;
pub mod replaced;
mod start;
mod started;
pub mod sync;
pub mod sync_methods;
mod topology;
#[cfg(test)]
mod words;
pub mod workloads;

use explode_runtime::stack::RESERVED;
