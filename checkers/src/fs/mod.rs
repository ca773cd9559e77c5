//! File systems.

pub mod basic;
