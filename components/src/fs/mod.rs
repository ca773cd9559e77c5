//! File systems.

pub mod kernel;
pub mod mounted;
pub mod simfiles;
