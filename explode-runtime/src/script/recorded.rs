//! The recorded disks of a script: the new file system, the crash disk, and the disk that has lost
//! nothing.

use super::blocks::{self, Checksum, UNPACK};
use super::embedded::EmbeddedData;
use super::pending_notes::{PendingNotes, sectors};
use super::reproduction::Reproduction;
use super::sh::function;
use crate::worker::ChangedBlock;

/// The parts of a script for its recorded disks.
pub(super) struct RecordedDisk {
    /// The settings: the numbers of kept and lost writes, and the cksum(1) checksums of the disks.
    pub settings: Vec<String>,
    /// The functions that build the disks.
    pub functions: Vec<String>,
    /// The additional programs that the functions need.
    pub programs: &'static [&'static str],
}

impl Reproduction {
    /// Returns the parts for the disks. Blocks that are part of `data` are copied from there.
    pub(super) fn recorded(&self, data: &EmbeddedData) -> RecordedDisk {
        let Reproduction { moments, bytes, disks, .. } = self;
        let notes = PendingNotes { moments };
        let (kept, lost) = notes.counts();
        let other = disks.other.as_deref().filter(|blocks| !blocks.is_empty());
        let other_sum =
            other.map_or(0, |other| sum(*bytes, &[&disks.pristine, &disks.crash, other]));
        let settings = vec![
            format!("kept_writes={kept} lost_writes={lost}"),
            format!("crash_sum={}", sum(*bytes, &[&disks.pristine, &disks.crash])),
            format!("other_sum={other_sum}"),
        ];
        let mut functions = vec!["# The new file system, as it was.".to_owned()];
        functions.extend(function("pristine_disk", blocks::lines(&disks.pristine, &|_| None)));
        functions.push(String::new());
        functions.push("# What the crash disk has, and the new file system does not.".to_owned());
        let before = |number: u64| find(&disks.pristine, number);
        let crash = noted(&disks.crash, &|block| notes.of_crash(block), &before, data);
        let unshown: Vec<String> = notes.lost_elsewhere(&disks.crash, other.unwrap_or_default());
        let unshown = unshown.into_iter().map(|text| format!("# {text}"));
        functions.extend(function("crash_disk", crash.into_iter().chain(unshown).collect()));
        functions.push(String::new());
        functions.push("# What it would have besides if no write was lost.".to_owned());
        let at_crash =
            |number: u64| find(&disks.crash, number).or_else(|| find(&disks.pristine, number));
        let missing = other.unwrap_or_default();
        let missing = noted(missing, &|_| "what the crash has lost".to_owned(), &at_crash, data);
        functions.extend(function("other_disk", missing));
        let packed = functions.iter().any(|line| line.trim_start().starts_with(UNPACK));
        RecordedDisk { settings, functions, programs: if packed { &["gzip"] } else { &[] } }
    }
}

/// Returns lines that write blocks, with a comment for each. Consecutive blocks with the same
/// comment are written together. Blocks that are part of `data` are copied from there. `before`
/// returns the bytes of a block at that point.
fn noted(
    blocks: &[ChangedBlock],
    note: &dyn Fn(&ChangedBlock) -> String,
    before: &dyn Fn(u64) -> Option<Vec<u8>>,
    data: &EmbeddedData,
) -> Vec<String> {
    let notes: Vec<(String, Option<(String, usize)>)> =
        blocks.iter().map(|block| (note(block), data.find(&block.1))).collect();
    let mut lines = Vec::new();
    let mut begin = 0;
    while begin < blocks.len() {
        let (note, copied) = &notes[begin];
        let first = blocks[begin].0;
        let alike = (begin + 1..blocks.len()).take_while(|next| {
            let follows = blocks[*next].0 == first + (next - begin) as u64;
            follows && copied.is_none() && notes[*next] == notes[begin]
        });
        let end = begin + 1 + alike.count();
        lines.push(format!("# {}: {note}", sectors(first, (end - begin) as u64)));
        match copied {
            Some((name, at)) => {
                lines.push(format!("copy \"$work/{name}\" {} {}:8", at / 512, first * 8))
            }
            None => lines.extend(blocks::lines(&blocks[begin..end], before)),
        }
        begin = end;
    }
    lines
}

fn find(blocks: &[ChangedBlock], number: u64) -> Option<Vec<u8>> {
    blocks.iter().find(|block| block.0 == number).map(|block| block.1.clone())
}

/// Returns the checksum of a disk after these writes in order.
fn sum(bytes: u64, written: &[&[ChangedBlock]]) -> u32 {
    let mut blocks = std::collections::BTreeMap::new();
    for block in written.iter().copied().flatten() {
        blocks.insert(block.0, &block.1);
    }
    let zeroes = vec![0; 4096];
    let mut sum = Checksum::new();
    for number in 0..bytes / 4096 {
        sum.add(blocks.get(&number).copied().unwrap_or(&zeroes));
    }
    sum.end()
}
