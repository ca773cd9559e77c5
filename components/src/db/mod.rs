//! The databases that run in process.

pub mod sqlite;
