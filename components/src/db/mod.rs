//! Databases.

pub mod sqlite;
