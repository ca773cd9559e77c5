//! Checkers of block devices.

pub mod blocks;
mod disk;
