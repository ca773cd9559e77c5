//! The calls that make something durable, and the words of their promises.

use explode_ramdisk::files::{FsCall, WriteMethod};
use explode_runtime::verdict::ExcludedPromises;

/// A call that makes something durable. A stronger call is greater. The steps of `fs-sync` use
/// [`OURS`](SyncCall::OURS).
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
    /// A write, on a file system that is mounted with `-o sync`.
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

    /// The calls that the steps of `fs-sync` use.
    pub const OURS: [SyncCall; 4] =
        [SyncCall::Sync, SyncCall::Fsync, SyncCall::Fdatasync, SyncCall::FsyncOfDirectory];

    /// Returns the kind of sync that a call on files makes. `None` if the call syncs nothing.
    pub fn of(call: &FsCall) -> Option<SyncCall> {
        match call {
            FsCall::Fsync { .. } => Some(SyncCall::Fsync),
            FsCall::Fdatasync { .. } => Some(SyncCall::Fdatasync),
            FsCall::FsyncDir { .. } => Some(SyncCall::FsyncOfDirectory),
            FsCall::Syncfs | FsCall::Sync => Some(SyncCall::Sync),
            _ => None,
        }
    }

    /// Returns the kind of sync that a write includes. `None` if it includes none.
    pub fn of_write(call: &FsCall) -> Option<SyncCall> {
        let FsCall::Pwrite { method, .. } = call else { return None };
        match method {
            WriteMethod::Mapped => Some(SyncCall::Msync),
            WriteMethod::DataSynced => Some(SyncCall::ODsync),
            WriteMethod::Synced => Some(SyncCall::OSync),
            WriteMethod::Plain | WriteMethod::Appended | WriteMethod::Direct => None,
        }
    }

    /// Returns true if a profile excludes the promise of one of the calls.
    pub fn is_any_in(excluded: &ExcludedPromises) -> bool {
        SyncCall::ALL.iter().any(|call| excluded.contains(call.synced()))
    }

    /// Returns the word for what the call has made durable.
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

    /// Returns the word for what the call has made durable of a file that is not wholly durable.
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

    /// Returns the words of these calls, for files that are wholly or partly durable.
    pub fn words(calls: &[SyncCall]) -> Vec<&'static str> {
        calls.iter().flat_map(|call| [call.synced(), call.partly_synced()]).collect()
    }

    /// Returns true if the call makes durable only what is needed to read the contents. A file may
    /// then be longer than it should be.
    pub fn is_of_data(self) -> bool {
        matches!(self, SyncCall::Fdatasync | SyncCall::ODsync | SyncCall::Msync)
    }
}
