//! Event logs as JSON lines, written by hand.

use std::path::Path;

use serde_json::{Value, json};

use super::{Ran, explode, file};

/// The number of bytes of a sector.
pub const SECTOR: usize = 512;

/// Returns a change in a cache: `sectors` sectors full of a letter.
pub fn dirty(dev: u32, sector: u64, sectors: usize, letter: char) -> Value {
    json!({"e": "dirty", "dev": dev, "sector": sector, "data": base64(&full(sectors, letter))})
}

/// Returns a write request.
pub fn submit(id: u64, dev: u32, sector: u64, sectors: usize, letter: char) -> Value {
    json!({"e": "submit", "id": id, "dev": dev, "sector": sector,
        "data": base64(&full(sectors, letter))})
}

/// Returns a write request with flags.
pub fn submit_with(
    flags: &[&str],
    id: u64,
    dev: u32,
    sector: u64,
    sectors: usize,
    letter: char,
) -> Value {
    let mut event = submit(id, dev, sector, sectors, letter);
    event["flags"] = json!(flags);
    event
}

/// Returns the end of a request or a flush.
pub fn complete(id: u64) -> Value {
    json!({"e": "complete", "id": id})
}

/// Returns a flush.
pub fn flush(id: u64, dev: u32) -> Value {
    json!({"e": "flush", "id": id, "dev": dev})
}

/// Returns an event by which a cache drops its changes of a range.
pub fn clean(dev: u32, sector: u64, sectors: usize) -> Value {
    json!({"e": "clean", "dev": dev, "sector": sector, "len": sectors * SECTOR})
}

/// Returns a mark with a name.
pub fn mark(name: &str) -> Value {
    json!({"e": "mark", "name": name})
}

/// Returns sectors full of a letter. `.` stands for zeroes.
pub fn full(sectors: usize, letter: char) -> Vec<u8> {
    vec![if letter == '.' { 0 } else { letter as u8 }; sectors * SECTOR]
}

/// Returns the text of a log.
pub fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// Runs `explode crash-disks --format jsonl` on a log, with more arguments separated by spaces.
pub fn crash_disks(folder: &Path, events: &[Value], args: &str) -> Ran {
    crash_disks_of(&file(folder, "log.jsonl", lines(events)), args)
}

/// Runs `explode crash-disks --format jsonl` on an existing log.
pub fn crash_disks_of(log: &Path, args: &str) -> Ran {
    let log = log.to_str().unwrap();
    explode(["crash-disks", log, "--format", "jsonl"].into_iter().chain(args.split_whitespace()))
}

/// Returns an image as one character per sector. Each sector must be one repeated byte. `.` stands
/// for zeroes.
pub fn draw(image: &[u8]) -> String {
    let sector = |sector: &[u8]| {
        assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is one byte, repeated");
        if sector[0] == 0 { '.' } else { char::from(sector[0]) }
    };
    image.chunks(SECTOR).map(sector).collect()
}

/// Encodes as RFC 4648 says, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |chunk: &[u8]| {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0)) << (16 - 8 * i);
        let word = at(0) | at(1) | at(2);
        let digit = |i: usize| {
            if i <= chunk.len() { DIGITS[(word >> (18 - 6 * i)) as usize % 64] } else { b'=' }
        };
        [0, 1, 2, 3].map(|i| char::from(digit(i)))
    };
    bytes.chunks(3).flat_map(digits).collect()
}
