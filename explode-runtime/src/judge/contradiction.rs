//! Errors of the event log, as errors of the tool.

use crate::base::{Blame, StepError};
use crate::writeset::LogContradiction;

/// Returns the error for a log that contradicts itself or has too many pending pieces.
pub(super) fn contradiction(error: LogContradiction) -> StepError {
    if error.error.is_limit() {
        return tool(format!(
            "too much is pending: {error}; use a larger --block, or --atom request"
        ));
    }
    tool(format!("the event log contradicts itself: {error}"))
}

/// Returns an error of the tool.
pub(super) fn tool(message: String) -> StepError {
    StepError::new(message).blame(Blame::Tool)
}
