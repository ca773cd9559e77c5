//! The log of what a checked system does to its storage.
//!
//! An [`Event`] is a fact about a buffer or a request. It does not describe the possible results of
//! a crash. The JSON form of events, one object a line, is the event log of
//! `docs/reference/event-log.md`. `docs/model/fault-model.md` defines the meaning of each event.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::SECTOR_BYTES;

/// One event of the log.
///
/// `dev` is the number of a device. `sector` is the first sector of the range, in units of 512
/// bytes. `len` is the length of the range in bytes. Both `data` and `len` are whole sectors. `id`
/// connects a request with its completion. `error` is true if the device failed the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Line", into = "Line")]
#[expect(missing_docs, reason = "the fields mean the same in each event, and are explained above")]
pub enum Event {
    /// A cached buffer now holds `data` (the kernel's `mark_buffer_dirty`; EX-68).
    Dirty { dev: u32, sector: u64, data: Bytes },
    /// Cached changes of the range are forgotten before they are written (`clear_buffer_dirty`,
    /// `__bforget`; EX-69).
    Clean { dev: u32, sector: u64, len: u64 },
    /// The device has held `data` since it was written, at a place that nothing refers to yet. So
    /// no possible disk is lost. A simulated file system appends the records of its journal.
    Append { dev: u32, sector: u64, data: Bytes },
    /// The buffers of the range are locked and are not written back (`lock_buffer`; EX-69).
    Lock { dev: u32, sector: u64, len: u64 },
    /// The buffers of the range are no longer locked.
    Unlock { dev: u32, sector: u64, len: u64 },
    /// A request is submitted to the device (`submit_bio`). PREFLUSH with no data is a flush.
    Submit { id: u64, dev: u32, sector: u64, payload: Payload, flags: Flags },
    /// The device has completed a request or a flush.
    Complete { id: u64, error: bool },
    /// A cache flush is submitted to the device.
    Flush { id: u64, dev: u32 },
    /// A name for this place in the log. The storage does not change.
    Mark { name: String },
}

/// The contents of a write request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The bytes to write.
    Data(Bytes),
    /// A number of zero bytes.
    Zeroes(u64),
    /// A number of bytes to discard. The range reads as zeroes afterwards and is treated as zeroes
    /// written.
    Discard(u64),
}

impl Payload {
    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Payload::Data(data) => data.len() as u64,
            Payload::Zeroes(len) | Payload::Discard(len) => *len,
        }
    }

    /// Returns true if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The flags of a request (`REQ_FUA`, `REQ_PREFLUSH`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// The data is durable when the request completes.
    pub fua: bool,
    /// The device's cache is flushed before the data is written.
    pub preflush: bool,
}

impl Flags {
    /// Neither FUA nor PREFLUSH.
    pub const NONE: Flags = Flags { fua: false, preflush: false };
    /// FUA alone.
    pub const FUA: Flags = Flags { fua: true, preflush: false };
    /// PREFLUSH alone.
    pub const PREFLUSH: Flags = Flags { fua: false, preflush: true };
    /// PREFLUSH and FUA, the flags of a journal's commit block.
    pub const PREFLUSH_FUA: Flags = Flags { fua: true, preflush: true };
}

/// The error for a JSON object that is not an event although its keys are valid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the event")]
pub enum DecodeError {
    /// `data` is not base64.
    #[error("\"data\" is not base64: {0}")]
    Base64(base64::DecodeError),
    /// A length in bytes that is not whole sectors.
    #[error("{len} bytes are not whole sectors of {SECTOR_BYTES} bytes")]
    NotWholeSectors { len: u64 },
    /// The range does not fit into 64 bits of bytes.
    #[error("sector {sector} and {len} bytes reach beyond the largest possible device")]
    TooFar { sector: u64, len: u64 },
    /// A submit has neither `data` nor both `len` and `op`, or it has more than these.
    #[error("a submit has either \"data\", or \"len\" and \"op\"")]
    NoPayload,
}

/// The JSON form of an event, with the fields of one line.
#[derive(Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    Dirty {
        dev: u32,
        sector: u64,
        data: String,
    },
    Clean {
        dev: u32,
        sector: u64,
        len: u64,
    },
    Append {
        dev: u32,
        sector: u64,
        data: String,
    },
    Lock {
        dev: u32,
        sector: u64,
        len: u64,
    },
    Unlock {
        dev: u32,
        sector: u64,
        len: u64,
    },
    Submit {
        id: u64,
        dev: u32,
        sector: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        len: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        op: Option<Op>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<Flag>,
    },
    Complete {
        id: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        error: bool,
    },
    Flush {
        id: u64,
        dev: u32,
    },
    Mark {
        name: String,
    },
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Flag {
    Fua,
    Preflush,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Zeroes,
    Discard,
}

impl From<Event> for Line {
    fn from(event: Event) -> Line {
        let encode = |data: &Bytes| BASE64.encode(data);
        match event {
            Event::Dirty { dev, sector, data } => Line::Dirty { dev, sector, data: encode(&data) },
            Event::Clean { dev, sector, len } => Line::Clean { dev, sector, len },
            Event::Append { dev, sector, data } => {
                Line::Append { dev, sector, data: encode(&data) }
            }
            Event::Lock { dev, sector, len } => Line::Lock { dev, sector, len },
            Event::Unlock { dev, sector, len } => Line::Unlock { dev, sector, len },
            Event::Submit { id, dev, sector, payload, flags } => {
                let (data, len, op) = match payload {
                    Payload::Data(data) => (Some(encode(&data)), None, None),
                    Payload::Zeroes(len) => (None, Some(len), Some(Op::Zeroes)),
                    Payload::Discard(len) => (None, Some(len), Some(Op::Discard)),
                };
                let named = [(flags.fua, Flag::Fua), (flags.preflush, Flag::Preflush)];
                let flags =
                    named.into_iter().filter_map(|(set, flag)| set.then_some(flag)).collect();
                Line::Submit { id, dev, sector, data, len, op, flags }
            }
            Event::Complete { id, error } => Line::Complete { id, error },
            Event::Flush { id, dev } => Line::Flush { id, dev },
            Event::Mark { name } => Line::Mark { name },
        }
    }
}

impl TryFrom<Line> for Event {
    type Error = DecodeError;

    fn try_from(line: Line) -> Result<Event, DecodeError> {
        Ok(match line {
            Line::Dirty { dev, sector, data } => {
                Event::Dirty { dev, sector, data: decode(sector, &data)? }
            }
            Line::Clean { dev, sector, len } => {
                Event::Clean { dev, sector, len: whole(sector, len)? }
            }
            Line::Append { dev, sector, data } => {
                Event::Append { dev, sector, data: decode(sector, &data)? }
            }
            Line::Lock { dev, sector, len } => {
                Event::Lock { dev, sector, len: whole(sector, len)? }
            }
            Line::Unlock { dev, sector, len } => {
                Event::Unlock { dev, sector, len: whole(sector, len)? }
            }
            Line::Submit { id, dev, sector, data, len, op, flags } => {
                let payload = match (data, len, op) {
                    (Some(data), None, None) => Payload::Data(decode(sector, &data)?),
                    (None, Some(len), Some(Op::Zeroes)) => Payload::Zeroes(whole(sector, len)?),
                    (None, Some(len), Some(Op::Discard)) => Payload::Discard(whole(sector, len)?),
                    _ => return Err(DecodeError::NoPayload),
                };
                let flags = Flags {
                    fua: flags.contains(&Flag::Fua),
                    preflush: flags.contains(&Flag::Preflush),
                };
                Event::Submit { id, dev, sector, payload, flags }
            }
            Line::Complete { id, error } => Event::Complete { id, error },
            Line::Flush { id, dev } => Event::Flush { id, dev },
            Line::Mark { name } => Event::Mark { name },
        })
    }
}

fn decode(sector: u64, data: &str) -> Result<Bytes, DecodeError> {
    let data = BASE64.decode(data).map_err(DecodeError::Base64)?;
    whole(sector, data.len() as u64)?;
    Ok(data.into())
}

/// Checks that `len` is whole sectors and that the range from `sector` on fits into 64 bits of
/// bytes. Returns `len`.
fn whole(sector: u64, len: u64) -> Result<u64, DecodeError> {
    if !len.is_multiple_of(SECTOR_BYTES as u64) {
        return Err(DecodeError::NotWholeSectors { len });
    }
    let start = sector.checked_mul(SECTOR_BYTES as u64);
    start.and_then(|start| start.checked_add(len)).ok_or(DecodeError::TooFar { sector, len })?;
    Ok(len)
}
