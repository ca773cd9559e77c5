//! The entries of the map's log: calls as bytes, and what they do to a map.

use std::collections::BTreeMap;

use crate::client::{MapCall, MapReply};
use crate::node::CallId;

/// Returns an entry's data: the call's number, and the call.
pub fn encoded(call: CallId, what: MapCall) -> Vec<u8> {
    let (kind, key, value) = match what {
        MapCall::Get(key) => (0, key, 0),
        MapCall::Put(key, value) => (1, key, value),
        MapCall::Remove(key) => (2, key, 0),
    };
    [u64::from(call.0), kind, key, value].map(u64::to_le_bytes).concat()
}

/// Returns the call of an entry. `None` for an entry without data.
pub fn decoded(data: &[u8]) -> Option<(CallId, MapCall)> {
    let word = |at: usize| Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?));
    let (call, kind, key, value) = (word(0)?, word(8)?, word(16)?, word(24)?);
    let what = match kind {
        0 => MapCall::Get(key),
        1 => MapCall::Put(key, value),
        _ => MapCall::Remove(key),
    };
    Some((CallId(call as u32), what))
}

/// Applies a call to a map. Returns the reply.
pub fn applied(map: &mut BTreeMap<u64, u64>, what: MapCall) -> MapReply {
    match what {
        MapCall::Get(key) => return MapReply::Value(map.get(&key).copied()),
        MapCall::Put(key, value) => map.insert(key, value),
        MapCall::Remove(key) => map.remove(&key),
    };
    MapReply::Done
}
