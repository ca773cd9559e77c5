//! The event log: the same events from every backend, and the files that hold them.

mod call_log;
mod call_text;
mod host_event;
mod jsonl;
mod limits;
mod logged_call;
mod logwrites;
mod placed_calls;
mod read_error;
mod summary;

pub use call_log::{CallLog, FailedCommand};
pub use explode_ramdisk::{Event, Flags, Payload};
pub use host_event::{HostEvent, ToldStory};
pub use jsonl::{read_jsonl, read_jsonl_within, write_jsonl};
pub use limits::LogLimits;
pub use logged_call::{LoggedAction, LoggedCall};
pub use logwrites::{LOG_WRITES_MAGIC, read_logwrites, read_logwrites_within, write_logwrites};
pub use placed_calls::PlacedCall;
pub use read_error::ReadError;
pub use summary::EventSummary;
pub(crate) use summary::{DescribeSector, describe, event_lines, summarise, summary_line};

use xxhash_rust::xxh3::Xxh3;

/// Feeds an event to a hash, in an encoding that does not depend on the compiler or the version.
pub(crate) fn hash_event(event: &Event, hash: &mut Xxh3) {
    let mut words = |tag: u8, words: &[u64]| {
        hash.update(&[tag]);
        words.iter().for_each(|word| hash.update(&word.to_le_bytes()));
    };
    match event {
        Event::Dirty { dev, sector, data } => {
            words(0, &[u64::from(*dev), *sector, data.len() as u64]);
            hash.update(data);
        }
        Event::Clean { dev, sector, len } => words(1, &[u64::from(*dev), *sector, *len]),
        Event::Lock { dev, sector, len } => words(2, &[u64::from(*dev), *sector, *len]),
        Event::Unlock { dev, sector, len } => words(3, &[u64::from(*dev), *sector, *len]),
        Event::Submit { id, dev, sector, payload, flags } => {
            let flags = u64::from(flags.fua) | u64::from(flags.preflush) << 1;
            let (kind, data) = match payload {
                Payload::Data(data) => (0, Some(data)),
                Payload::Zeroes(_) => (1, None),
                Payload::Discard(_) => (2, None),
            };
            words(4, &[*id, u64::from(*dev), *sector, kind, payload.len(), flags]);
            data.iter().for_each(|data| hash.update(data));
        }
        Event::Complete { id, error } => words(5, &[*id, u64::from(*error)]),
        Event::Flush { id, dev } => words(6, &[*id, u64::from(*dev)]),
        Event::Mark { name } => {
            words(7, &[name.len() as u64]);
            hash.update(name.as_bytes());
        }
        Event::Append { dev, sector, data } => {
            words(8, &[u64::from(*dev), *sector, data.len() as u64]);
            hash.update(data);
        }
    }
}

/// The prefix of the marks that request crash checks.
const REQUEST: &str = "asked ";

/// Returns the name of the mark of a request for crash checks that the checker did not make itself
/// (EX-66).
pub fn request_mark(name: &str) -> String {
    format!("{REQUEST}{name}")
}

/// Returns the name of the request that this event makes. `None` if it makes none.
pub fn requested_name(event: &Event) -> Option<&str> {
    match event {
        Event::Mark { name } => name.strip_prefix(REQUEST),
        _ => None,
    }
}
