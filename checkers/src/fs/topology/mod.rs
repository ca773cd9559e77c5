//! The generic core of the file-system checkers (EX-95 to EX-99). From an empty file system, or
//! from the tree that [`begin`] finds, it leads call by call to every topology of files and
//! directories up to a number of each.
//!
//! | | |
//! | --- | --- |
//! | [`Abstract`] | the abstract file system: the result of the calls, which the real one must equal |
//! | [`TopologyCall`] | the system calls on each of its nodes; equal trees have the same calls in the same order |
//! | [`Groups`] | the available calls; [`probe()`] leaves out those that a file system does not support |
//! | [`signature`] | its canonical form, which is the same for two file systems that differ only in names |
//! | [`is_as_expected`] | compares a real file system with it |

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

/// Returns the tree that a stack's files begin with, without an empty `lost+found`. Empty if the
/// first start left no files.
pub fn begin(stack: &Stack, calls: Groups) -> Result<Abstract, StepError> {
    if !stack.starts_populated() {
        return Ok(Abstract::new());
    }
    let found = FoundTopology::of(stack.files()?.as_ref(), calls);
    found
        .map(FoundTopology::into_abstract)
        .map_err(|unreadable| StepError::new(unreadable).blame(Blame::Tool))
}

/// Checks that a file system equals the abstract one (EX-98) after a call has succeeded. A
/// difference breaks the promise `call-has-its-effect`.
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
