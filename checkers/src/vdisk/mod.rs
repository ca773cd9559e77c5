//! Block devices.

pub mod blocks;
