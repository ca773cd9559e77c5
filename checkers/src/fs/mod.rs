//! File systems.

pub mod basic;
pub(crate) mod kernel;
pub mod sync;
pub mod toyfs;
