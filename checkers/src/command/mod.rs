//! Checkers made of shell commands.
//!
//! Their definitions are options ([`def`]): they stand in the plan and in every trace, so a replay
//! needs nothing else. What the commands mean is in `docs/reference/stack-files.md`.

mod checker;
mod steps;

pub use checker::{NAME, def};
pub use steps::{check_arguments, check_intervals};
