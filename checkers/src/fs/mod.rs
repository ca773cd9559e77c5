//! File systems.

pub mod atomic;
pub mod basic;
mod endless;
pub mod failures;
mod model;
pub mod moved;
pub(crate) mod questions;
pub mod reasonable;
pub mod replaced;
pub mod sync;
mod topology;
pub mod ways;
#[cfg(test)]
mod words;

use explode_runtime::stack::RESERVED;
