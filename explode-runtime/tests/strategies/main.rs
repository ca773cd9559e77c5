//! Strategies: each one's order and guarantee on toys whose states are known by number.

#[path = "../common/mod.rs"]
mod common;

mod different;
mod jobs;
mod memory;
mod orders;
mod own;
mod pct;
mod prefix;
mod weighted;
