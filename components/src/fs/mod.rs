//! The file systems that are components.

pub mod kernel;

pub use explode_runtime::stack::simfiles;
