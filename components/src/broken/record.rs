//! The encoding of changes and contents as bytes with a checksum.
//!
//! A *frame* is the length of the body (4 bytes), the checksum (8), the sequence number (8) and the
//! body. All numbers are little endian. The checksum is XXH3 of sequence number and body.

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use crate::engine::{Change, StoreContents};

/// The number of bytes before the body of a frame.
pub const HEAD: usize = 20;

/// A frame read from bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sequence number of its commit.
    pub sequence: u64,
    /// The bytes after the head.
    pub body: &'a [u8],
    /// True if the checksum matches.
    pub sound: bool,
    sum: u64,
}

impl<'a> Frame<'a> {
    /// Returns the frame at the beginning of `bytes`. `None` if the bytes are too few or the body
    /// is empty.
    pub fn read(bytes: &'a [u8]) -> Option<Frame<'a>> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
        let sum = u64::from_le_bytes(head[4..12].try_into().ok()?);
        let sequence = u64::from_le_bytes(head[12..].try_into().ok()?);
        let body = rest.get(..length).filter(|body| !body.is_empty())?;
        Some(Frame { sequence, body, sound: sum == checksum(sequence, body, 0..0), sum })
    }

    /// Returns true if the checksum matches when these bytes of the body are omitted.
    pub fn sound_without(&self, gap: Range<usize>) -> bool {
        self.sum == checksum(self.sequence, self.body, gap)
    }

    /// Returns the size of the frame in bytes, head included.
    pub fn bytes(&self) -> usize {
        HEAD + self.body.len()
    }
}

/// Encodes a frame.
pub fn frame(sequence: u64, body: &[u8]) -> Vec<u8> {
    frame_without(sequence, body, 0..0)
}

/// Encodes a frame with a checksum that omits these bytes of the body.
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

/// Encodes changes, each as a byte (1 to put, 0 to delete), the lengths of key and value, key and
/// value.
pub fn encode(changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for change in changes {
        let (put, key, value) = match change {
            Change::Put(key, value) => (1, key, &value[..]),
            Change::Delete(key) => (0, key, &[][..]),
        };
        bytes.extend([put, key.len() as u8]);
        bytes.extend((value.len() as u16).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(value);
    }
    bytes
}

/// Decodes changes. `None` if the bytes are not an encoding.
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

/// Returns the changes that make these contents from empty ones.
pub fn as_changes(contents: &StoreContents) -> Vec<Change> {
    contents.iter().map(|(key, value)| Change::Put(key.clone(), value.clone())).collect()
}
