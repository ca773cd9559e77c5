//! How changes and contents are written as bytes, with a checksum before them.
//!
//! A *frame* is: length of the body (4 bytes), checksum (8), sequence number (8), body; all little
//! endian. The checksum is XXH3 of sequence number and body.

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use crate::engine::{Change, StoreContents};

/// Bytes before the body of a frame.
pub const HEAD: usize = 20;

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number in the order of commits.
    pub sequence: u64,
    /// What it says.
    pub body: &'a [u8],
    /// Is the checksum that of the rest?
    pub sound: bool,
    sum: u64,
}

impl<'a> Frame<'a> {
    /// The frame at the beginning of `bytes`, if one of its length fits there.
    pub fn read(bytes: &'a [u8]) -> Option<Frame<'a>> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
        let sum = u64::from_le_bytes(head[4..12].try_into().ok()?);
        let sequence = u64::from_le_bytes(head[12..].try_into().ok()?);
        let body = rest.get(..length).filter(|body| !body.is_empty())?;
        Some(Frame { sequence, body, sound: sum == checksum(sequence, body, 0..0), sum })
    }

    /// Is the checksum that of the rest, these bytes of the body left out?
    pub fn sound_without(&self, gap: Range<usize>) -> bool {
        self.sum == checksum(self.sequence, self.body, gap)
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        HEAD + self.body.len()
    }
}

/// A frame's bytes.
pub fn frame(sequence: u64, body: &[u8]) -> Vec<u8> {
    frame_without(sequence, body, 0..0)
}

/// A frame's bytes, with a checksum that leaves out these bytes of the body.
pub fn frame_without(sequence: u64, body: &[u8], gap: Range<usize>) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(checksum(sequence, body, gap).to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(body);
    bytes
}

fn checksum(sequence: u64, body: &[u8], gap: Range<usize>) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&sequence.to_le_bytes());
    hasher.update(&body[..gap.start.min(body.len())]);
    hasher.update(&body[gap.end.min(body.len())..]);
    hasher.digest()
}

/// Changes as bytes: 1 and the value's length or 0, the key's length, key, value.
pub fn encode(changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for change in changes {
        let (there, key, value) = match change {
            Change::Put(key, value) => (1, key, &value[..]),
            Change::Delete(key) => (0, key, &[][..]),
        };
        bytes.extend([there, key.len() as u8]);
        bytes.extend((value.len() as u16).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(value);
    }
    bytes
}

/// The changes that bytes stand for; none if they stand for nothing.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(4)?;
        let (key, rest) = rest.split_at_checked(head[1].into())?;
        let (value, rest) = rest.split_at_checked(u16::from_le_bytes([head[2], head[3]]).into())?;
        let key = String::from_utf8(key.to_vec()).ok()?;
        changes.push(match head[0] {
            0 => Change::Delete(key),
            1 => Change::Put(key, value.to_vec()),
            _ => return None,
        });
        bytes = rest;
    }
    Some(changes)
}

/// Contents as the changes that make them.
pub fn as_changes(contents: &StoreContents) -> Vec<Change> {
    contents.iter().map(|(key, value)| Change::Put(key.clone(), value.clone())).collect()
}
