//! Checkers made of shell commands.
//!
//! The definitions are options ([`def`]). They are part of the plan and of every trace, so a replay
//! needs nothing else. `docs/reference/stack-files.md` describes the commands.

mod checker;
mod steps;

pub use checker::{NAME, def};
pub use steps::{check_arguments, check_intervals};
