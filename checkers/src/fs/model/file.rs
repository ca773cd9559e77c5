//! A file of the model: its current contents, and the part that a sync has made durable.

use std::ops::Range;

use itertools::Itertools as _;

use super::promise::{PromisedContents, PromisedPart};
use super::sync_call::SyncCall;

/// The largest unit in which file systems allocate, in bytes. A write into a hole may also change
/// the other bytes of the hole within the same unit.
const CLUSTER: usize = 64 << 10;

/// A regular file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct File {
    bytes: Vec<u8>,
    synced: Option<SyncedState>,
    /// True if the file was truncated, and its size was not made durable since
    /// ([`SyncCall::is_of_data`]).
    cut: bool,
}

/// The contents that a sync has made durable, and the changes since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SyncedState {
    by: SyncCall,
    bytes: Vec<u8>,
    /// True if the file was changed in any way since.
    changed: bool,
    written: Vec<Range<usize>>,
    /// The smallest size since the sync.
    least: usize,
    /// The largest size that a crash may leave. `None` if there is no bound.
    most: Option<usize>,
}

/// The changes of a file since it was synced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Since {
    pub changed: bool,
    /// The written ranges, in order. No two of them touch.
    pub written: Vec<Range<usize>>,
    pub least: usize,
    pub most: Option<usize>,
}

impl File {
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        let grows = end > self.bytes.len();
        if grows {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(bytes);
        if let Some(synced) = &mut self.synced {
            synced.changed = true;
            synced.written.push(at..end);
            synced.most = synced.most.filter(|_| !grows);
        }
    }

    pub fn truncate(&mut self, size: usize) {
        if size == self.bytes.len() {
            return;
        }
        self.cut |= size < self.bytes.len();
        self.bytes.resize(size, 0);
        if let Some(synced) = &mut self.synced {
            synced.changed = true;
            synced.least = synced.least.min(size);
            synced.most = None;
        }
    }

    /// Makes the contents durable. If they were durable already, the stronger of the two calls is
    /// responsible for the promise.
    pub fn sync(&mut self, by: SyncCall) {
        let before = self.synced.as_ref().filter(|synced| !synced.changed).map(|synced| synced.by);
        let by = before.map_or(by, |before| by.max(before));
        self.cut &= by.is_of_data();
        let (bytes, least) = (self.bytes.clone(), self.bytes.len());
        let most = (!self.cut).then_some(least);
        self.synced =
            Some(SyncedState { by, bytes, changed: false, written: Vec::new(), least, most });
    }

    /// Makes a range of the contents durable, and as much of the size as is needed to read the
    /// range.
    pub fn sync_range(&mut self, by: SyncCall, range: Range<usize>) {
        let Some(before) = self.synced.take() else {
            // Nothing else of the file was ever promised.
            let written = std::iter::once(0..range.start).filter(|left| !left.is_empty()).collect();
            let (bytes, least, changed) = (self.bytes.clone(), range.end, true);
            self.synced = Some(SyncedState { by, bytes, changed, written, least, most: None });
            return;
        };
        let mut written = Vec::new();
        for left in before.written.iter().cloned().chain(std::iter::once(before.least..range.start))
        {
            written.extend([
                left.start..left.end.min(range.start),
                left.start.max(range.end)..left.end,
            ]);
        }
        written.retain(|left| !left.is_empty());
        let size = self.bytes.len();
        let least = before.least.min(size).max(range.end);
        let changed = !written.is_empty() || least != size || self.cut;
        let most = before.most.filter(|most| *most <= size).map(|_| size).filter(|_| !changed);
        let by = if before.changed { by } else { by.max(before.by) };
        self.synced =
            Some(SyncedState { by, bytes: self.bytes.clone(), changed, written, least, most });
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns all that [`promised`](File::promised) and [`sync_range`](File::sync_range) depend
    /// on, except the promised bytes: whether the file was truncated, and its changes since it was
    /// synced. `None` if it was never synced.
    pub fn since(&self) -> (bool, Option<Since>) {
        let since = self.synced.as_ref().map(|synced| {
            let mut written: Vec<Range<usize>> = Vec::new();
            let mut sorted = synced.written.clone();
            sorted.sort_by_key(|range| range.start);
            for range in sorted {
                match written.last_mut().filter(|last| range.start <= last.end) {
                    Some(last) => last.end = last.end.max(range.end),
                    None => written.push(range),
                }
            }
            Since { changed: synced.changed, written, least: synced.least, most: synced.most }
        });
        (self.cut, since)
    }

    pub fn is_synced(&self) -> bool {
        self.synced.as_ref().is_some_and(|synced| !synced.changed)
    }

    /// Returns the contents that a crash must leave. `None` if the file was never synced.
    pub fn promised(&self, name_is_synced: bool) -> Option<PromisedContents> {
        let synced = self.synced.as_ref()?;
        let whole = name_is_synced && !synced.changed;
        let promise = if whole { synced.by.synced() } else { synced.by.partly_synced() };
        Some(PromisedContents {
            promise,
            whole,
            least: synced.least,
            most: synced.most,
            parts: synced.parts(),
        })
    }
}

impl SyncedState {
    /// Returns the bytes that nothing has touched since the sync. Written bytes are touched, and so
    /// are zeroes in the same cluster, because a hole there may have become a block.
    fn parts(&self) -> Vec<PromisedPart> {
        let ranges = self.written.iter().flat_map(|range| [range.clone(), clusters(range)]);
        let ends = ranges.flat_map(|range| [range.start, range.end]).map(|end| end.min(self.least));
        let ends: Vec<usize> = ends.chain([0, self.least]).sorted_unstable().dedup().collect();
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut add =
            |part: Range<usize>| match parts.last_mut().filter(|last| last.end == part.start) {
                Some(last) => last.end = part.end,
                None => parts.push(part),
            };
        // Between two neighbouring ends either all bytes were written or none, and either all are
        // in the cluster of a write or none.
        for (start, end) in ends.iter().zip(&ends[1..]).map(|(start, end)| (*start, *end)) {
            if self.written.iter().any(|range| range.contains(&start)) {
                continue;
            }
            if !self.written.iter().any(|range| clusters(range).contains(&start)) {
                add(start..end);
                continue;
            }
            let mut at = start;
            for run in self.bytes[start..end].chunk_by(|one, next| (*one == 0) == (*next == 0)) {
                if run[0] != 0 {
                    add(at..at + run.len());
                }
                at += run.len();
            }
        }
        let part = |range: Range<usize>| PromisedPart {
            at: range.start,
            bytes: self.bytes[range].to_vec(),
        };
        parts.into_iter().map(part).collect()
    }

    /// Returns true if a byte was written since, or is in a hole in the cluster of a write.
    #[cfg(test)]
    fn is_touched(&self, at: usize) -> bool {
        let hole = self.bytes[at] == 0;
        self.written
            .iter()
            .any(|range| range.contains(&at) || hole && clusters(range).contains(&at))
    }
}

/// Returns a range extended to whole clusters.
fn clusters(range: &Range<usize>) -> Range<usize> {
    range.start / CLUSTER * CLUSTER..range.end.div_ceil(CLUSTER) * CLUSTER
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of blocks written before a sync and after it, the size to truncate to (0 for no
    /// truncation), and the expected numbers of parts and of bytes in them.
    type Case<'a> = (&'a [usize], &'a [usize], usize, (usize, usize));

    /// The parts contain exactly the bytes that are untouched one by one.
    #[test]
    fn parts_are_the_bytes_that_nothing_has_touched() {
        const BLOCK: usize = 4096;
        let far = CLUSTER + 3 * BLOCK;
        let cases: [Case<'_>; 6] = [
            (&[0], &[], 0, (1, BLOCK)),
            (&[0, far], &[], 0, (1, far + BLOCK)),
            (&[0, far], &[0], 0, (1, far + BLOCK - CLUSTER)),
            (&[0, far], &[2 * BLOCK], 0, (2, BLOCK + far + BLOCK - CLUSTER)),
            (&[0, far], &[2 * BLOCK, far], 0, (1, BLOCK)),
            (&[0, 3 * BLOCK, far], &[BLOCK], far - 1000, (3, 2 * BLOCK + 3 * BLOCK - 1000)),
        ];
        for (before, after, least, expected) in cases {
            let mut file = File::default();
            before.iter().for_each(|at| file.write(*at, &[1; BLOCK]));
            file.sync(SyncCall::Fsync);
            after.iter().for_each(|at| file.write(*at, &[2; BLOCK]));
            if least > 0 {
                file.truncate(least);
            }
            let synced = file.synced.as_ref().unwrap();
            let parts = synced.parts();
            let bytes: Vec<(usize, u8)> =
                parts.iter().flat_map(|part| (part.at..).zip(part.bytes.iter().copied())).collect();
            let untouched = (0..synced.least).filter(|at| !synced.is_touched(*at));
            let untouched: Vec<(usize, u8)> = untouched.map(|at| (at, synced.bytes[at])).collect();
            assert!(bytes == untouched, "{before:?}, then {after:?}");
            assert!(
                parts.iter().zip(&parts[1..]).all(|(one, next)| one.at + one.bytes.len() < next.at)
            );
            assert_eq!((parts.len(), bytes.len()), expected, "{before:?}, then {after:?}");
        }
    }
}
