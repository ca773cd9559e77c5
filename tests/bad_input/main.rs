//! Damaged input and wrong usage: exit code 2, and a message that names the file, the place in it, and what is wanted.

#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod dm_log_writes;
mod logs;
mod traces;
