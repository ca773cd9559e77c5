//! What a file may hold after a crash.
//!
//! All of it, if nothing was done to it since it was forced. Else what later calls have left alone, as `fs-sync` has it; its size is
//! at most the largest that it has had since. The other bytes are zeroes, or what was written there at some time, in any mixture: who
//! says more (data=journal), or less ([`Garbage::Any`]), says it in a manual of its own.

use explode_runtime::check::{Verdict, Violation};

use super::history::Written;
use crate::fs::sync::promise::Part;

/// What unsynced bytes may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// Zeroes, or something that was written there.
    Own,
    /// Anything: blocks are not cleared before they are used again.
    Any,
    /// Anything, and as long as it likes: a repair may go by the blocks that it finds.
    NotPromised,
}

/// Something that was forced is not there.
pub const FLUSHED: &str = "flushed-contents";
/// Something is there that nobody has written.
pub const UNSYNCED: &str = "unsynced-contents";

/// Can a file hold this?
///
/// # Errors
/// Why not, without the file's name.
pub fn judge(written: &Written, found: &[u8], garbage: Garbage) -> Result<(), Violation> {
    let lost = |text: String| Err(Violation::new(Verdict::Lost, FLUSHED, text));
    let corrupt = |promise: &str, text: String| Err(Violation::new(Verdict::Corrupt, promise, text));
    let promised = written.forced.promised(true);
    let mut most = written.largest;
    if let Some(contents) = promised {
        let wanted = contents.least;
        if found.len() < wanted {
            return lost(format!("has {} bytes, not {wanted}", found.len()));
        }
        if contents.most.is_some_and(|most| found.len() > most) {
            return corrupt(FLUSHED, format!("has {} bytes, not {wanted}", found.len()));
        }
        for Part { at, bytes } in contents.parts {
            if let Some(first) = (0..bytes.len()).find(|index| found[at + index] != bytes[*index]) {
                let (has, was) = (found[at + first], bytes[first]);
                let text = format!("has byte {} at {}, and {was} was forced", has, at + first);
                return if has == 0 { lost(text) } else { corrupt(FLUSHED, text) };
            }
        }
        most = most.max(wanted);
    }
    if garbage == Garbage::NotPromised {
        return Ok(());
    }
    if found.len() > most {
        return corrupt(UNSYNCED, format!("has {} bytes, and never had more than {most}", found.len()));
    }
    if garbage == Garbage::Any {
        return Ok(());
    }
    let mut own = vec![false; found.len()];
    for (at, bytes) in &written.writes {
        for (index, byte) in bytes.iter().enumerate().take(found.len().saturating_sub(*at)) {
            own[at + index] |= found[at + index] == *byte;
        }
    }
    match (0..found.len()).find(|at| found[*at] != 0 && !own[*at]) {
        Some(at) => {
            corrupt(UNSYNCED, format!("has byte {} at {at}, which was never written there", found[at]))
        }
        None => Ok(()),
    }
}
