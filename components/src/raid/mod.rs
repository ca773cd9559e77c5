//! Arrays of disks of the kernel, which are block devices over several others.

pub mod md;
mod sysfs;

pub use md::{drivers, has_array};
