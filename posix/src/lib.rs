//! Runs Rust code that uses `std::fs` on simulated files, in process.

mod canary;
mod crash_test;
mod descriptors;
mod folder;
mod locks;
mod mirror;
mod mount;
mod owner;
mod refusal;
mod settle;
mod symbols;
mod walk;

pub use crash_test::crash_test;
pub use explode_runtime::crash_test::{CrashTest, REPLAY, Result, Step};
