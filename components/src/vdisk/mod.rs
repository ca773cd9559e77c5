//! The block devices that are components.

pub mod ramdisk;
