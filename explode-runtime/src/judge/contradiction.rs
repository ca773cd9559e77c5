//! What is wrong with a log, as a fault of the tool.

use crate::base::{Blame, StepError};
use crate::writeset::LogContradiction;

/// The fault of a log that contradicts itself, or of which too much is pending.
pub(super) fn contradiction(error: LogContradiction) -> StepError {
    if error.error.is_limit() {
        return tool(format!(
            "too much is pending: {error}; use a larger --block, or --atom request"
        ));
    }
    tool(format!("the event log contradicts itself: {error}"))
}

/// A fault of the tool.
pub(super) fn tool(message: String) -> StepError {
    StepError::new(message).blame(Blame::Tool)
}
