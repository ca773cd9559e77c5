//! The designs of the file system, and the bugs that fit them.

use crate::broken::page_journal;

/// How metadata reaches the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metadata {
    Journal,
    Versions,
    InPlace,
}

/// How it is made, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    pub metadata: Metadata,
    pub bug: ToyFsBug,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToyFsBug {
    None,
    /// A block that was given back is used again at once.
    EarlyReuse,
    /// A block that was given back is used again as soon as that is committed, though the journal
    /// still holds what it was.
    NoRevoke,
    /// Contents are written after the commit of the transaction that makes them reachable.
    DataAfterCommit,
    /// fsync writes a file's inode in place, past the journal, which holds an older one.
    FsyncInPlace,
    /// The journal's commit block does not flush what was written before it.
    NoPreflush,
    /// A directory that is moved into another one is entered there as that one, which then contains
    /// itself.
    RenameLoop,
    /// The versions of an inode begin anew when its number is used again: the journal's older inode
    /// is taken for the newer one.
    InodeReuse,
    /// A block that was given back is used again at once, while the inode on disk that had it still
    /// claims it.
    BlockReuse,
}

impl ToyFsBug {
    /// Only one design can have some.
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
