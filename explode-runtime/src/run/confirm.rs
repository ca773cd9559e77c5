//! What a replay in a fresh process says of a finding.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// What a fresh process says of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confirmation {
    /// The finding is reproduced.
    Reproduced,
    /// It is not; this is what differed.
    Not(String),
}

/// Replays a trace, in as fresh a process as the caller has.
pub type ReplayCheck<'a> = &'a mut dyn FnMut(&Path) -> Confirmation;
