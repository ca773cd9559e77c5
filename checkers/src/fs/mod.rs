//! File systems.

pub mod atomic;
pub mod basic;
pub mod failures;
pub(crate) mod kernel;
pub(crate) mod more;
pub(crate) mod questions;
pub mod reasonable;
pub mod replaced;
pub mod sync;
mod topology;
pub mod toyfs;
pub mod ways;
