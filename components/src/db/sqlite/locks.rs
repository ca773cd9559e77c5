//! The locks of one database file, like `unixInodeInfo` and `unixLock` in `os_unix.c`.
//!
//! All connections of a stack are in one process, so the POSIX locks below unix's own bookkeeping
//! never decide anything, and only the bookkeeping is here. Each connection has its own level.
//! [`FileLocks`] has the highest of them.
//!
//! Invariants: at most one connection holds more than `Shared`, and it holds the highest. `shared`
//! counts the connections that hold anything.

/// The level of a lock, lowest first. The numbers are SQLite's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// The file is not locked.
    #[default]
    None = 0,
    /// The connection reads. Any number of connections may.
    Shared = 1,
    /// The connection is going to write. Others may still begin to read.
    Reserved = 2,
    /// The connection waits for readers to leave. No other connection begins to read.
    Pending = 3,
    /// The connection writes. No other connection reads.
    Exclusive = 4,
}

impl Level {
    /// Returns the level of SQLite's number.
    pub fn from_number(number: i32) -> Option<Level> {
        Some(match number {
            0 => Level::None,
            1 => Level::Shared,
            2 => Level::Reserved,
            3 => Level::Pending,
            4 => Level::Exclusive,
            _ => return None,
        })
    }
}

/// The error if the lock of another connection is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy;

/// The locks that the connections of one stack hold on one file.
#[derive(Debug, Default)]
pub(super) struct FileLocks {
    highest: Level,
    shared: u32,
}

impl FileLocks {
    /// Raises a connection from `held` to `wanted` (`unixLock`). On the way to `Exclusive` it may
    /// stop at `Pending`.
    pub fn raise(&mut self, held: &mut Level, wanted: Level) -> Result<(), Busy> {
        if *held >= wanted {
            return Ok(());
        }
        if *held != self.highest && (self.highest >= Level::Pending || wanted > Level::Shared) {
            return Err(Busy);
        }
        if wanted == Level::Shared {
            self.shared += 1;
            self.highest = self.highest.max(Level::Shared);
            *held = Level::Shared;
            return Ok(());
        }
        if wanted == Level::Exclusive {
            if *held == Level::Reserved {
                self.highest = Level::Pending;
                *held = Level::Pending;
            }
            if self.shared > 1 {
                return Err(Busy);
            }
        }
        self.highest = wanted;
        *held = wanted;
        Ok(())
    }

    /// Lowers a connection from `held` to `wanted`, which is `Shared` or `None` (`posixUnlock`).
    pub fn lower(&mut self, held: &mut Level, wanted: Level) {
        if *held <= wanted {
            return;
        }
        if *held > Level::Shared {
            self.highest = Level::Shared;
        }
        if wanted == Level::None {
            self.shared -= 1;
            if self.shared == 0 {
                self.highest = Level::None;
            }
        }
        *held = wanted;
    }

    /// Returns true if any connection holds `Reserved` or more (`unixCheckReservedLock`).
    pub fn is_reserved(&self) -> bool {
        self.highest > Level::Shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_one_writer_waits_for_them() {
        let mut locks = FileLocks::default();
        let (mut writer, mut reader, mut late) = (Level::None, Level::None, Level::None);
        locks.raise(&mut writer, Level::Shared).unwrap();
        locks.raise(&mut reader, Level::Shared).unwrap();
        assert!(!locks.is_reserved());
        locks.raise(&mut writer, Level::Reserved).unwrap();
        assert!(locks.is_reserved());
        assert_eq!(locks.raise(&mut reader, Level::Reserved), Err(Busy));
        assert_eq!(locks.raise(&mut writer, Level::Exclusive), Err(Busy));
        assert_eq!(writer, Level::Pending);
        assert_eq!(locks.raise(&mut late, Level::Shared), Err(Busy));
        locks.lower(&mut reader, Level::None);
        locks.raise(&mut writer, Level::Exclusive).unwrap();
        locks.lower(&mut writer, Level::Shared);
        locks.raise(&mut late, Level::Shared).unwrap();
        locks.lower(&mut late, Level::None);
        locks.lower(&mut writer, Level::None);
        assert_eq!((locks.highest, locks.shared), (Level::None, 0));
    }

    #[test]
    fn recovery_goes_from_shared_to_exclusive_and_never_waits_as_pending() {
        let mut locks = FileLocks::default();
        let (mut one, mut other) = (Level::None, Level::None);
        locks.raise(&mut one, Level::Shared).unwrap();
        locks.raise(&mut other, Level::Shared).unwrap();
        assert_eq!(locks.raise(&mut one, Level::Exclusive), Err(Busy));
        assert_eq!(one, Level::Shared);
        locks.lower(&mut other, Level::None);
        locks.raise(&mut one, Level::Exclusive).unwrap();
    }
}
