//! The file systems that are components.

mod attributes;
pub mod kernel;
pub mod mounted;

pub use explode_runtime::stack::simfiles;
