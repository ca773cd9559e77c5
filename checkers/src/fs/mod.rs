//! File systems.

pub mod atomic;
#[cfg(test)]
mod atomic_old;
pub mod basic;
mod endless;
pub mod failures;
mod model;
pub mod moved;
pub(crate) mod questions;
pub mod reasonable;
pub mod replaced;
#[cfg(test)]
mod side_by_side;
pub mod sync;
mod topology;
pub mod ways;
#[cfg(test)]
mod words;

use explode_runtime::stack::RESERVED;
