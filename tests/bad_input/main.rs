//! Damaged input and wrong usage: exit code 2, and a message that names the file, the place in it
//! and the valid input. A guest that cannot start or is lost: exit codes 3 and 4.

#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod builds;
mod dm_log_writes;
mod driver;
mod endless;
mod guest;
mod kernel_tree;
mod logs;
mod numbers;
mod traces;
