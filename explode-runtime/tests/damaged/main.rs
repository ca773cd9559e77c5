//! Readers of files that others write. Whatever the contents, they do not panic, and take memory
//! only in proportion to the input. A sound file is damaged in the way of disks, editors and
//! incomplete copies.

mod event_logs;
mod logwrites;
mod traces;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use proptest::prelude::*;
use proptest::sample::Index;

/// The bytes of address space of this program. A reader that trusts a large number in a small file
/// ends the program.
const MEMORY_BYTES: u64 = 2 << 30;

/// Limits the memory of this process to [`MEMORY_BYTES`] from here on.
fn limit_memory() {
    let (_, hard) = getrlimit(Resource::RLIMIT_AS).unwrap();
    setrlimit(Resource::RLIMIT_AS, MEMORY_BYTES, hard).unwrap();
}

/// A change that damages a file.
#[derive(Clone, Debug)]
enum Damage {
    /// Bits of a byte differ.
    Flip(Index, u8),
    /// The file ends early.
    End(Index),
    /// A part is missing.
    Cut(Index, Index),
    /// A part is there twice.
    Double(Index, Index),
    /// A number of eight bytes is written at a multiple of four.
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

/// Returns the `sound` file with one to four damages.
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

/// Returns any bytes.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..2000)
}

/// Prints failures and does not keep them in files.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}
