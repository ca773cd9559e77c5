//! File systems.

mod attributes;
pub mod kernel;
pub mod mounted;

pub use explode_runtime::stack::simfiles;
