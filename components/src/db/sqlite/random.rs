//! The source of SQLite's random numbers: nonces of journals, salts of WALs, names of
//! super-journals, row ids.
//!
//! SQLite seeds its own generator from `xRandomness` of the *default* VFS, on first use and after
//! [`forget_state`]. The default VFS is replaced (see `vfs`), so each turn draws a new seed, if it
//! needs one, from a generator that is seeded with:
//!
//! * the database's seed: the caller's seed, the number of databases that its stack had opened
//!   before, and the heads of the three files at that time. Contents are included so that a
//!   recovery of a crash disk with the same seed does not get the salts that the crashed system
//!   used. Otherwise stale frames would look valid, which a real random generator would never
//!   cause;
//! * the number of the turn, so that two operations never get the same numbers.

use std::cell::{Cell, RefCell};

use explode_ramdisk::Files;
use explode_ramdisk::files::OpenFlags;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use xxhash_rust::xxh3::Xxh3Default;

/// The size of a database's head, which contains its change counter. A journal's head with its
/// nonce (28 bytes) and a WAL's with its salts (32) are shorter.
const HEAD_BYTES: usize = 100;

/// The random generator of one database, seeded again for each turn.
pub(super) struct Random {
    seed: u128,
    turn: Cell<u64>,
    generator: RefCell<Option<Pcg64Mcg>>,
}

impl Random {
    /// Makes the generator of a database at `path`, opened after `ordinal` others of its stack.
    pub fn new(files: &dyn Files, path: &str, ordinal: u64, seed: u64) -> Random {
        let mut hash = Xxh3Default::new();
        hash.update(&seed.to_le_bytes());
        hash.update(&ordinal.to_le_bytes());
        for suffix in ["", "-journal", "-wal"] {
            let mut head = [0; HEAD_BYTES];
            // A file that cannot be read gets a length that no file has, to differ from an empty
            // one.
            let length =
                read_head(files, &format!("{path}{suffix}"), &mut head).unwrap_or(u64::MAX);
            hash.update(&length.to_le_bytes());
            hash.update(&head);
        }
        Random { seed: hash.digest128(), turn: Cell::new(0), generator: RefCell::new(None) }
    }

    /// Begins a turn, which draws other numbers.
    pub fn next_turn(&self) {
        self.turn.set(self.turn.get() + 1);
        self.generator.replace(None);
    }

    /// Fills `bytes` with this turn's next numbers.
    pub fn fill(&self, bytes: &mut [u8]) {
        let mut generator = self.generator.borrow_mut();
        generator
            .get_or_insert_with(|| {
                let mut hash = Xxh3Default::new();
                hash.update(&self.seed.to_le_bytes());
                hash.update(&self.turn.get().to_le_bytes());
                Pcg64Mcg::new(hash.digest128())
            })
            .fill_bytes(bytes);
    }
}

/// Reads the beginning of a file and returns its size.
fn read_head(files: &dyn Files, path: &str, head: &mut [u8]) -> Option<u64> {
    let fd = files.open(path, OpenFlags::EXISTING).ok()?;
    let read = files.fstat(fd).and_then(|stat| files.pread(fd, 0, head).map(|_| stat.size));
    let closed = files.close(fd);
    closed.and(read).ok()
}

/// Makes SQLite request a new seed from the default VFS before its next random number.
pub(super) fn forget_state() {
    // SAFETY: this is the documented way to reset the generator; no bytes are requested, so the
    // null pointer is not written through.
    unsafe { rusqlite::ffi::sqlite3_randomness(0, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(random: &Random) -> [u8; 8] {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        bytes
    }

    fn random(seed: u128) -> Random {
        Random { seed, turn: Cell::new(0), generator: RefCell::new(None) }
    }

    #[test]
    fn numbers_depend_on_the_seed_and_on_the_turn_alone() {
        let (one, same, other) = (random(1), random(1), random(2));
        let first = draw(&one);
        assert_ne!(draw(&one), first);
        one.next_turn();
        same.next_turn();
        let second = draw(&one);
        assert_ne!(second, first);
        assert_eq!(draw(&same), second);
        assert_ne!(draw(&other), first);
    }
}
