//! File systems.

pub mod simfiles;
