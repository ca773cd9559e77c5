//! Strategies: the order and the guarantee of each, on toys with known numbers of states.

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
