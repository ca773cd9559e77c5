//! The confirmation of a finding by a replay in a fresh process.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The result of the replay of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confirmation {
    /// The finding is reproduced.
    Reproduced,
    /// The finding is not reproduced, for this reason.
    Not(String),
}

/// Replays a trace, in as fresh a process as the caller has.
pub type ReplayCheck<'a> = &'a mut dyn FnMut(&Path) -> Confirmation;
