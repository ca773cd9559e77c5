//! The calls that make something durable, and the words of what they make so.

use explode_ramdisk::files::FsCall;
use explode_runtime::verdict::ExcludedPromises;

/// A call that makes something durable; the stronger one is greater. Steps of
/// `fs-sync` are [`OURS`](SyncCall::OURS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncCall {
    FsyncOfDirectory,
    Fdatasync,
    Msync,
    ODsync,
    Fsync,
    OSync,
    /// A change of names or of a size, on a file system that is mounted with `-o sync`.
    MetadataByMount,
    /// A write there.
    WriteByMount,
    Syncfs,
    Sync,
}

impl SyncCall {
    pub const ALL: [SyncCall; 10] = [
        SyncCall::FsyncOfDirectory,
        SyncCall::Fdatasync,
        SyncCall::Msync,
        SyncCall::ODsync,
        SyncCall::Fsync,
        SyncCall::OSync,
        SyncCall::MetadataByMount,
        SyncCall::WriteByMount,
        SyncCall::Syncfs,
        SyncCall::Sync,
    ];

    /// The calls of which the steps of `fs-sync` are made.
    pub const OURS: [SyncCall; 4] =
        [SyncCall::Sync, SyncCall::Fsync, SyncCall::Fdatasync, SyncCall::FsyncOfDirectory];

    /// That of a call on files; none if the call syncs nothing.
    pub fn of(call: &FsCall) -> Option<SyncCall> {
        match call {
            FsCall::Fsync { .. } => Some(SyncCall::Fsync),
            FsCall::Fdatasync { .. } => Some(SyncCall::Fdatasync),
            FsCall::FsyncDir { .. } => Some(SyncCall::FsyncOfDirectory),
            FsCall::Syncfs | FsCall::Sync => Some(SyncCall::Sync),
            _ => None,
        }
    }

    /// Does nothing follow from one of them, by a profile?
    pub fn is_any_in(excluded: &ExcludedPromises) -> bool {
        SyncCall::ALL.iter().any(|call| excluded.contains(call.synced()))
    }

    /// The word for what it has made durable.
    pub fn synced(self) -> &'static str {
        match self {
            SyncCall::Sync => "synced-by-sync",
            SyncCall::Syncfs => "synced-by-syncfs",
            SyncCall::Fsync => "synced-by-fsync",
            SyncCall::Fdatasync => "synced-by-fdatasync",
            SyncCall::OSync => "synced-by-o-sync",
            SyncCall::ODsync => "synced-by-o-dsync",
            SyncCall::Msync => "synced-by-msync",
            SyncCall::WriteByMount => "synced-by-mount-sync",
            SyncCall::MetadataByMount => "metadata-synced-by-mount-sync",
            SyncCall::FsyncOfDirectory => "synced-directory",
        }
    }

    /// The word for what it has made durable of a file that is not wholly so.
    pub fn partly_synced(self) -> &'static str {
        match self {
            SyncCall::Sync => "partly-synced-by-sync",
            SyncCall::Syncfs => "partly-synced-by-syncfs",
            SyncCall::Fsync => "partly-synced-by-fsync",
            SyncCall::Fdatasync => "partly-synced-by-fdatasync",
            SyncCall::OSync => "partly-synced-by-o-sync",
            SyncCall::ODsync => "partly-synced-by-o-dsync",
            SyncCall::Msync => "partly-synced-by-msync",
            SyncCall::WriteByMount => "partly-synced-by-mount-sync",
            SyncCall::MetadataByMount => "partly-metadata-synced-by-mount-sync",
            SyncCall::FsyncOfDirectory => "partly-synced-directory",
        }
    }

    /// The words of these, for what is wholly or in part durable.
    pub fn words(calls: &[SyncCall]) -> Vec<&'static str> {
        calls.iter().flat_map(|call| [call.synced(), call.partly_synced()]).collect()
    }

    /// Does it make durable only what is needed to read the contents? That a file is longer than it
    /// should be is no obstacle.
    pub fn is_of_data(self) -> bool {
        matches!(self, SyncCall::Fdatasync | SyncCall::ODsync | SyncCall::Msync)
    }
}
