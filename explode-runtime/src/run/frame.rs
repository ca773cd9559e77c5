//! Records as bytes: the length (4 bytes) and the xxh3 hash (8 bytes) of the body, both
//! little-endian, then the body in postcard's form.

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

/// The bytes of length and hash.
const HEAD_BYTES: usize = 12;

/// Returns a record in its written form.
pub(in crate::run) fn frame(record: &impl Serialize) -> Vec<u8> {
    let mut frame =
        postcard::to_extend(record, vec![0; HEAD_BYTES]).expect("a record is plain data");
    let (head, body) = frame.split_at_mut(HEAD_BYTES);
    head[..4].copy_from_slice(
        &u32::try_from(body.len()).expect("a unit is less than 4 GiB").to_le_bytes(),
    );
    head[4..].copy_from_slice(&xxh3_64(body).to_le_bytes());
    frame
}

/// Returns the first record and the bytes after it; `None` if the record is not whole and sound.
pub(in crate::run) fn unframe<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (hash, rest) = rest.split_first_chunk::<8>()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    if xxh3_64(body) != u64::from_le_bytes(*hash) {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, rest))
}
