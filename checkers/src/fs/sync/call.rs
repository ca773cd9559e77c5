//! The calls that make something durable, and the words of what they make so.

use explode_runtime::verdict::Excluded;

/// A call that makes something durable; the stronger one is greater. Those of `fs-ways` are no
/// steps here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::fs) enum Call {
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

impl Call {
    pub(in crate::fs) const ALL: [Call; 10] = [
        Call::FsyncOfDirectory,
        Call::Fdatasync,
        Call::Msync,
        Call::ODsync,
        Call::Fsync,
        Call::OSync,
        Call::MetadataByMount,
        Call::WriteByMount,
        Call::Syncfs,
        Call::Sync,
    ];

    /// The calls of which the steps here are made.
    pub(super) const OURS: [Call; 4] =
        [Call::Sync, Call::Fsync, Call::Fdatasync, Call::FsyncOfDirectory];

    /// Does nothing follow from one of them, by a profile?
    pub(in crate::fs) fn is_any_in(excluded: &Excluded) -> bool {
        Call::ALL.iter().any(|call| excluded.contains(call.synced()))
    }

    /// The word for what it has made durable.
    pub(in crate::fs) fn synced(self) -> &'static str {
        match self {
            Call::Sync => "synced-by-sync",
            Call::Syncfs => "synced-by-syncfs",
            Call::Fsync => "synced-by-fsync",
            Call::Fdatasync => "synced-by-fdatasync",
            Call::OSync => "synced-by-o-sync",
            Call::ODsync => "synced-by-o-dsync",
            Call::Msync => "synced-by-msync",
            Call::WriteByMount => "synced-by-mount-sync",
            Call::MetadataByMount => "metadata-synced-by-mount-sync",
            Call::FsyncOfDirectory => "synced-directory",
        }
    }

    /// The word for what it has made durable of a file that is not wholly so.
    pub(super) fn partly_synced(self) -> &'static str {
        match self {
            Call::Sync => "partly-synced-by-sync",
            Call::Syncfs => "partly-synced-by-syncfs",
            Call::Fsync => "partly-synced-by-fsync",
            Call::Fdatasync => "partly-synced-by-fdatasync",
            Call::OSync => "partly-synced-by-o-sync",
            Call::ODsync => "partly-synced-by-o-dsync",
            Call::Msync => "partly-synced-by-msync",
            Call::WriteByMount => "partly-synced-by-mount-sync",
            Call::MetadataByMount => "partly-metadata-synced-by-mount-sync",
            Call::FsyncOfDirectory => "partly-synced-directory",
        }
    }

    /// The words of these, for what is wholly or in part durable.
    pub(in crate::fs) fn words(calls: &[Call]) -> Vec<&'static str> {
        calls.iter().flat_map(|call| [call.synced(), call.partly_synced()]).collect()
    }

    /// Does it make durable only what is needed to read the contents? That a file is longer than it
    /// should be is no obstacle.
    pub(super) fn is_of_data(self) -> bool {
        matches!(self, Call::Fdatasync | Call::ODsync | Call::Msync)
    }
}
