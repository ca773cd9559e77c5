//! The canonical form of all that a file may hold: the write that each sector comes from, and not
//! its data. Writes that several files share, because of a clone, have numbers that are given. The
//! others are numbered as they come.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::SECTOR_BYTES;
use xxhash_rust::xxh3::xxh3_64;

use crate::fs::model::WrittenFile;
use crate::fs::model::file::Since;
use crate::fs::model::pattern::{self, CELL};

/// The contents of a file, prepared for their form.
#[derive(Debug)]
pub struct SignedContents {
    now: Vec<Run>,
    cut: bool,
    since: Option<Since>,
    /// The promised parts, each with its offset and its bytes.
    parts: Vec<(usize, Vec<Run>)>,
    /// All writes to the file, ordered by their offset.
    writes: BTreeSet<(usize, Vec<Run>)>,
    largest: usize,
}

/// A run of `len` bytes of one origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    from: From,
    len: usize,
}

/// The origin of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    /// No write: the bytes are zeroes.
    Zeroes,
    /// The write of this version, and the distance in sectors between the place of the bytes and
    /// their place in the write.
    Write(u32, i64),
    /// An unknown origin, with a hash of the bytes.
    Other(u64),
}

impl SignedContents {
    pub fn of(written: &WrittenFile) -> SignedContents {
        let file = &written.forced;
        let (cut, since) = file.since();
        let parts = file.promised(true).map(|contents| contents.parts).unwrap_or_default();
        // Zeroes are possible in any case.
        let writes = written.writes.iter().map(|(at, bytes)| (*at, runs(*at, bytes)));
        let writes = writes.filter(|(_, runs)| runs.iter().any(|run| run.from != From::Zeroes));
        SignedContents {
            now: runs(0, file.bytes()),
            cut,
            since,
            parts: parts.iter().map(|part| (part.at, runs(part.at, &part.bytes))).collect(),
            writes: writes.collect(),
            largest: written.largest,
        }
    }

    /// Returns the versions of the writes of which the file may hold data.
    pub fn versions(&self) -> BTreeSet<u32> {
        let others = self.parts.iter().chain(&self.writes).flat_map(|(_, runs)| runs);
        let versions = self.now.iter().chain(others).filter_map(|run| match run.from {
            From::Write(version, _) => Some(version),
            From::Zeroes | From::Other(_) => None,
        });
        versions.collect()
    }

    /// Returns a text that is equal for two files only if they can hold the same contents, except
    /// for the data of the writes. `shared` returns the number of a write that other files have as
    /// well.
    pub fn form(&self, shared: &dyn Fn(u32) -> Option<String>) -> String {
        let mut own: BTreeMap<u32, usize> = BTreeMap::new();
        let mut text = format!("{}.", text_of(&self.now, shared, &mut own));
        for (at, runs) in &self.parts {
            text += &format!("p{at}{}.", text_of(runs, shared, &mut own));
        }
        if let Some(Since { changed, written, least, most }) = &self.since {
            text += &format!("s{}{written:?},{least},{most:?}.", if *changed { "c" } else { "" });
        }
        // A write that occurs in the text above has its number there. The others are distinguished
        // by the rest of their text.
        let seen = |version: u32| {
            own.get(&version).map_or_else(|| "?".to_owned(), |number| format!("s{number}"))
        };
        let sort_key = |runs: &[Run]| {
            let number = |version| shared(version).or_else(|| Some(seen(version)));
            text_of(runs, &number, &mut BTreeMap::new())
        };
        let mut writes: Vec<_> = self.writes.iter().collect();
        writes.sort_by_cached_key(|(at, runs)| (*at, sort_key(runs)));
        for (at, runs) in writes {
            text += &format!("w{at}{}.", text_of(runs, shared, &mut own));
        }
        format!("{text}{}{}", if self.cut { "-" } else { "" }, self.largest)
    }
}

fn text_of(
    runs: &[Run],
    shared: &dyn Fn(u32) -> Option<String>,
    own: &mut BTreeMap<u32, usize>,
) -> String {
    let mut text = String::new();
    for Run { from, len } in runs {
        text += &match from {
            From::Zeroes => format!(",z{len}"),
            From::Other(hash) => format!(",o{hash:x}:{len}"),
            From::Write(version, before) => {
                let number = shared(*version).unwrap_or_else(|| {
                    let next = own.len();
                    own.entry(*version).or_insert(next).to_string()
                });
                format!(",v{number}^{before}:{len}")
            }
        };
    }
    text
}

/// Splits the bytes from `at` on into runs by their origin, sector by sector.
fn runs(at: usize, bytes: &[u8]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut add = |from: From, len: usize| match runs.last_mut() {
        _ if len == 0 => {}
        Some(last) if last.from == from => last.len += len,
        _ => runs.push(Run { from, len }),
    };
    let mut done = 0;
    while done < bytes.len() {
        let position = at + done;
        let rest = &bytes[done..bytes.len().min(done + SECTOR_BYTES - position % SECTOR_BYTES)];
        let written = rest.len() - rest.iter().rev().take_while(|byte| **byte == 0).count();
        let (chunk, zeroes) = rest.split_at(written);
        add(origin(position, chunk), chunk.len());
        add(From::Zeroes, zeroes.len());
        done += rest.len();
    }
    runs
}

/// Returns the origin of bytes of one sector, the last of which is not zero.
fn origin(at: usize, chunk: &[u8]) -> From {
    let other = || From::Other(xxh3_64(chunk));
    let repeats = chunk.chunks(CELL).all(|cell| chunk.starts_with(cell));
    match pattern::origin(chunk) {
        Some((version, sector)) if repeats && at.is_multiple_of(CELL) => {
            From::Write(version, (at / SECTOR_BYTES) as i64 - sector as i64)
        }
        _ => other(),
    }
}
