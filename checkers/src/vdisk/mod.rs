//! Block devices.

pub mod blocks;
pub mod targets;
