//! Which event of a log contradicts the ones before it.

use super::LogError;

/// An event that contradicts the log before it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("event {index}: {error}")]
pub struct EventError {
    /// Its index in the log, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub error: LogError,
}
