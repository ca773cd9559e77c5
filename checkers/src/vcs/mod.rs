//! Checkers of programs that keep versions of files.

pub mod merge;
