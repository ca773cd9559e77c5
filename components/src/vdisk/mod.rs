//! Block devices.

pub mod ramdisk;
