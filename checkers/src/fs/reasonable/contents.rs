//! The possible contents of a file after a crash.
//!
//! A file that was not changed since it was forced holds all that was forced. A file that was
//! changed holds the parts that later calls have not touched, as in `fs-sync`, and is not longer
//! than it was at any time since. The other bytes are zeroes, or data written there at some time,
//! in any mixture. Some file systems document more (data=journal) or less
//! ([`UnwrittenBytes::Any`]).

use explode_runtime::verdict::{Verdict, Violation};

use crate::fs::model::WrittenFile;
use crate::fs::model::promise::{PromisedContents, PromisedPart};
use crate::fs::topology::BLOCK;

/// The possible values of unsynced bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwrittenBytes {
    /// Zeroes, or data that was written there.
    Own,
    /// Any bytes, because blocks are not cleared before they are used again.
    Any,
    /// Any bytes and any size, because a repair may use the blocks that it finds.
    NotPromised,
}

/// The promise that forced contents are there.
pub const FLUSHED: &str = "flushed-contents";
/// The promise that files hold only data that was written there.
pub const UNSYNCED: &str = "unsynced-contents";

/// Checks that a file may hold these bytes.
///
/// # Errors
/// Returns the violation as a text that follows the path.
pub fn judge(
    written: &WrittenFile,
    found: &[u8],
    garbage: UnwrittenBytes,
) -> Result<(), Violation> {
    judge_by(written, promised(written).as_ref(), found, garbage)
}

/// Returns a copy of the promised contents of a file. `None` if it was never forced.
pub fn promised(written: &WrittenFile) -> Option<PromisedContents> {
    written.forced.promised(true)
}

/// Checks that a file may hold these bytes, with the promised contents given.
///
/// # Errors
/// Returns the violation as a text that follows the path.
pub fn judge_by(
    written: &WrittenFile,
    promised: Option<&PromisedContents>,
    found: &[u8],
    garbage: UnwrittenBytes,
) -> Result<(), Violation> {
    let lost = |text: String| Err(Violation::new(Verdict::Lost, FLUSHED, text));
    let corrupt =
        |promise: &str, text: String| Err(Violation::new(Verdict::Corrupt, promise, text));
    let mut most = written.largest;
    if let Some(contents) = promised {
        let wanted = contents.least;
        if found.len() < wanted {
            return lost(format!("has {} bytes, not {wanted}", found.len()));
        }
        if contents.most.is_some_and(|most| found.len() > most) {
            return corrupt(FLUSHED, format!("has {} bytes, not {wanted}", found.len()));
        }
        for PromisedPart { at, bytes } in &contents.parts {
            let part = &found[*at..at + bytes.len()];
            if let Some(first) = difference(part, bytes) {
                let (has, was) = (part[first], bytes[first]);
                let text = format!("has byte {} at {}, and {was} was forced", has, at + first);
                return if has == 0 { lost(text) } else { corrupt(FLUSHED, text) };
            }
        }
        most = most.max(wanted);
    }
    if garbage == UnwrittenBytes::NotPromised {
        return Ok(());
    }
    if found.len() > most {
        return corrupt(
            UNSYNCED,
            format!("has {} bytes, and never had more than {most}", found.len()),
        );
    }
    if garbage == UnwrittenBytes::Any {
        return Ok(());
    }
    match strange(written, found) {
        Some(at) => corrupt(
            UNSYNCED,
            format!("has byte {} at {at}, which was never written there", found[at]),
        ),
        None => Ok(()),
    }
}

/// Returns the first index at which two slices of the same length differ. Compares them block by
/// block first.
fn difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let block = one.chunks(BLOCK).zip(other.chunks(BLOCK)).position(|(one, other)| one != other)?;
    (block * BLOCK..one.len()).find(|at| one[*at] != other[*at])
}

/// Returns the index of the first byte that is not zero and was never written there. Skips whole
/// blocks that are zeroes or as they were written, because most blocks of a file are.
fn strange(written: &WrittenFile, found: &[u8]) -> Option<usize> {
    let is_own = |at: usize| {
        written.writes.iter().any(|(from, bytes)| {
            at.checked_sub(*from).and_then(|index| bytes.get(index)) == Some(&found[at])
        })
    };
    (0..found.len()).step_by(BLOCK).find_map(|start| {
        let block = &found[start..found.len().min(start + BLOCK)];
        let is_whole = |(from, bytes): &(usize, Vec<u8>)| {
            let bytes = start.checked_sub(*from).and_then(|skipped| bytes.get(skipped..));
            bytes.is_some_and(|bytes| bytes.starts_with(block))
        };
        if *block == [0; BLOCK][..block.len()] || written.writes.iter().any(is_whole) {
            return None;
        }
        (start..start + block.len()).find(|at| found[*at] != 0 && !is_own(*at))
    })
}
