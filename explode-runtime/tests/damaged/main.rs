//! Readers of files that others write: whatever stands in them, they neither panic nor take more
//! memory than what has come is worth. A sound file is damaged as disks, editors and copies that
//! were cut short do it.

mod event_logs;
mod logwrites;
mod traces;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use proptest::prelude::*;
use proptest::sample::Index;

/// Bytes of address space for this program: a reader that believes a large number in a small file
/// ends it.
const MEMORY_BYTES: u64 = 2 << 30;

/// From here on this process has no more than [`MEMORY_BYTES`].
fn limit_memory() {
    let (_, hard) = getrlimit(Resource::RLIMIT_AS).unwrap();
    setrlimit(Resource::RLIMIT_AS, MEMORY_BYTES, hard).unwrap();
}

/// Something that happens to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// A byte has other bits.
    Flip(Index, u8),
    /// It ends early.
    End(Index),
    /// A piece is missing.
    Cut(Index, Index),
    /// A piece stands there twice.
    Double(Index, Index),
    /// A number of eight bytes, at a multiple of four.
    Number(Index, u64),
}

impl Damage {
    fn to(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let range = |one: &Index, other: &Index| {
            let (one, other) = (one.index(bytes.len()), other.index(bytes.len()));
            one.min(other)..one.max(other)
        };
        match self {
            Damage::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Damage::End(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Cut(from, to) => drop(bytes.drain(range(from, to))),
            Damage::Double(from, to) => {
                let range = range(from, to);
                let piece = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, piece);
            }
            Damage::Number(at, number) => {
                let at = at.index(bytes.len()) & !3;
                let number = number.to_le_bytes();
                bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
            }
        }
    }
}

/// A file that was `sound`, after one to four of them.
fn damaged(sound: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let numbers =
        prop_oneof![any::<u64>(), (0_u32..64).prop_map(|bit| 1 << bit), Just(0), Just(u64::MAX)];
    let damage = prop_oneof![
        any::<(Index, u8)>().prop_map(|(at, bits)| Damage::Flip(at, bits)),
        any::<Index>().prop_map(Damage::End),
        any::<(Index, Index)>().prop_map(|(from, to)| Damage::Cut(from, to)),
        any::<(Index, Index)>().prop_map(|(from, to)| Damage::Double(from, to)),
        (any::<Index>(), numbers).prop_map(|(at, number)| Damage::Number(at, number)),
    ];
    prop::collection::vec(damage, 1..5).prop_map(move |damages| {
        let mut bytes = sound.clone();
        damages.iter().for_each(|damage| damage.to(&mut bytes));
        bytes
    })
}

/// Any bytes at all.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..2000)
}

/// Failures are printed, not kept in files.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}
