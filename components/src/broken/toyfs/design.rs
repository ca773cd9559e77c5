//! The designs of the file system, and the bugs that fit them.

use crate::broken::page_journal;

/// The way of metadata to the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metadata {
    Journal,
    Versions,
    InPlace,
}

/// A design of the file system, and its bug.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    pub metadata: Metadata,
    pub bug: ToyFsBug,
}

/// A bug of the file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToyFsBug {
    None,
    /// A freed block is reused at once.
    EarlyReuse,
    /// A freed block is reused as soon as the transaction that freed it is committed, although the
    /// journal still holds its old contents.
    NoRevoke,
    /// Contents are written after the transaction that makes them reachable is committed.
    DataAfterCommit,
    /// fsync writes a file's inode in place, past the journal, which holds an older version.
    FsyncInPlace,
    /// The journal's commit block does not flush the writes before it.
    NoPreflush,
    /// A directory that is moved into another one is entered there with that one's inode, so that
    /// the target contains itself.
    RenameLoop,
    /// The version of an inode starts again when its number is reused, so that replay takes the
    /// journal's older inode for the newer one.
    InodeReuse,
    /// A freed block is reused at once, while the inode on disk that had it still claims it.
    BlockReuse,
}

impl ToyFsBug {
    /// Returns true if the design can have this bug.
    pub fn fits(self, metadata: Metadata) -> bool {
        match self {
            ToyFsBug::None => true,
            ToyFsBug::InodeReuse => metadata == Metadata::Versions,
            ToyFsBug::BlockReuse => metadata == Metadata::InPlace,
            _ => metadata == Metadata::Journal,
        }
    }

    pub fn of_journal(self) -> page_journal::PageJournalBug {
        if self == ToyFsBug::NoPreflush {
            page_journal::PageJournalBug::NoPreflush
        } else {
            page_journal::PageJournalBug::None
        }
    }
}
