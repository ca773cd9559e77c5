//! The build machine: its programs and headers, and commands with their output.

pub(crate) mod command;
mod complaints;
mod programs;

pub(crate) use programs::{check, compiler, find_program};
