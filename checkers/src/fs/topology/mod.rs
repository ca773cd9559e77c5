//! The generic core of the file-system checkers (EX-95 to EX-99): from an empty file system (or
//! what [`begin`] finds), call by call, to every topology of files and directories up to a number
//! of each.
//!
//! | | |
//! | --- | --- |
//! | [`Abstract`] | the abstract file system: what the calls have made, which the real one must equal |
//! | [`TopologyCall`] | the system calls on each node of it; the same tree has the same ones, in the same order |
//! | [`Groups`] | which ones there are; [`probe`] leaves out what a file system does not have |
//! | [`signature`] | its canonical form: two that differ in names only have the same |
//! | [`is_as_expected`] | compares a real one with it |

mod call;
mod canonical;
mod found;
mod limits;
mod possible;
mod probe;
#[cfg(test)]
mod tests;

use explode_ramdisk::files::Files;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::fs::model::{Abstract, Groups};

pub use call::TopologyCall;
pub use canonical::signature;
pub use found::{FoundTopology, UnreadableTopology};
pub use limits::{BLOCK, DIRS, FAR, FILES, Limits};
pub use possible::first_letter;
pub use probe::probe;

/// The tree that a stack's files begin with, without an empty `lost+found`. Empty if the first
/// start left no files.
pub fn begin(stack: &Stack, calls: Groups) -> Result<Abstract, StepError> {
    if !stack.starts_populated() {
        return Ok(Abstract::new());
    }
    let found = FoundTopology::of(stack.files()?.as_ref(), calls);
    found
        .map(FoundTopology::into_abstract)
        .map_err(|unreadable| StepError::new(unreadable).blame(Blame::Tool))
}

/// Is a file system like the abstract one (EX-98), when a call has just succeeded? If not, that is
/// a broken promise, `call-has-its-effect`.
pub fn is_as_expected(
    files: &dyn Files,
    fs: &Abstract,
    call: &TopologyCall,
    calls: Groups,
) -> Result<(), CheckError> {
    let difference = match FoundTopology::of(files, calls) {
        Ok(found) => found.difference(&FoundTopology::expected(fs, calls)),
        Err(unreadable) => Some(unreadable.to_string()),
    };
    difference.map_or(Ok(()), |difference| {
        let message = format!("{} succeeded, and {difference}", call.name());
        Err(Violation::new(Verdict::Corrupt, "call-has-its-effect", message).into())
    })
}
