//! Subsets of the calls (swarm testing: Groce, Zhang, Eide, Chen, Regehr: *Swarm Testing*, ISSTA
//! 2012).
//!
//! A long random workload of all calls rarely repeats one of them, and one call can hide the effect
//! of another. With a subset of the calls each, some workloads consist of few kinds of calls.

use explode_ramdisk::files::{Fallocate, FsCall, WriteMethod};
use xxhash_rust::xxh3::xxh3_64;

use crate::fs::topology::TopologyCall;

/// The number of subsets from which a workload draws.
pub const SUBSETS: u32 = 256;

/// The kinds of calls and of forcing that a workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subset(u64);

impl Subset {
    /// All kinds.
    pub const ALL: Subset = Subset(u64::MAX);

    /// Returns one of the [`SUBSETS`]: all kinds for 0, and about half of them for other numbers.
    pub fn numbered(number: u32) -> Subset {
        if number == 0 { Subset::ALL } else { Subset(xxh3_64(&number.to_le_bytes())) }
    }

    /// Returns the calls of the subset. Returns all if the subset has none of them.
    pub fn of_calls(self, calls: Vec<TopologyCall>) -> Vec<TopologyCall> {
        self.of(calls, kind_of_call)
    }

    /// Returns the ways of forcing of the subset. Returns all if the subset has none of them.
    pub fn of_forcings(self, forcings: Vec<Option<FsCall>>) -> Vec<Option<FsCall>> {
        self.of(forcings, |forcing| forcing.as_ref().map_or(NO_FORCING, kind_of_sync))
    }

    fn of<T: Clone>(self, all: Vec<T>, kind: impl Fn(&T) -> u32) -> Vec<T> {
        let has = |one: &&T| self.0 & 1 << kind(one) != 0;
        let some: Vec<T> = all.iter().filter(has).cloned().collect();
        if some.is_empty() { all } else { some }
    }
}

const NO_FORCING: u32 = 32;

/// Returns the bit of a way of forcing.
fn kind_of_sync(call: &FsCall) -> u32 {
    match call {
        FsCall::Fsync { .. } => 33,
        FsCall::FsyncDir { .. } => 34,
        FsCall::Fdatasync { .. } => 35,
        _ => 36,
    }
}

/// Returns the bit of a kind of calls, below [`NO_FORCING`].
fn kind_of_call(call: &TopologyCall) -> u32 {
    match call {
        TopologyCall::Tmpfile { .. } => 0,
        TopologyCall::UnlinkHeld { .. } => 1,
        TopologyCall::Clone { .. } => 2,
        TopologyCall::One(call) => match call {
            FsCall::Open { flags, .. } if flags.truncate => 27,
            FsCall::Open { .. } => 3,
            FsCall::Mkdir { .. } => 4,
            FsCall::Rmdir { .. } => 5,
            FsCall::Link { .. } => 6,
            FsCall::Symlink { .. } => 7,
            FsCall::Unlink { .. } => 8,
            FsCall::Rename { .. } => 9,
            FsCall::RenameNoReplace { .. } => 10,
            FsCall::Exchange { .. } => 11,
            FsCall::Pwrite { method: WriteMethod::Mapped, .. } => 12,
            FsCall::Pwrite { method: WriteMethod::Appended, .. } => 28,
            FsCall::Pwrite { method: WriteMethod::Direct, .. } => 29,
            FsCall::Pwrite { method: WriteMethod::Synced | WriteMethod::DataSynced, .. } => 30,
            FsCall::CopyRange { .. } => 31,
            FsCall::Pwrite { offset: 0, .. } => 13,
            FsCall::Pwrite { .. } => 14,
            FsCall::Ftruncate { size: 0, .. } => 15,
            FsCall::Ftruncate { .. } => 16,
            FsCall::Chmod { .. } => 17,
            FsCall::Setxattr { .. } => 18,
            FsCall::Removexattr { .. } => 19,
            FsCall::Fallocate { mode: Fallocate::Allocate, .. } => 20,
            FsCall::Fallocate { mode: Fallocate::KeepSize, .. } => 21,
            FsCall::Fallocate { mode: Fallocate::PunchHole, .. } => 22,
            FsCall::Fallocate { mode: Fallocate::ZeroRange, .. } => 23,
            FsCall::Fallocate { mode: Fallocate::CollapseRange, .. } => 24,
            FsCall::Fallocate { mode: Fallocate::InsertRange, .. } => 25,
            _ => 26,
        },
    }
}
