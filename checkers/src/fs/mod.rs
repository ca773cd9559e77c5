//! File systems.

pub mod atomic;
pub mod basic;
mod endless;
pub mod failures;
pub(crate) mod kernel;
pub(crate) mod more;
pub mod moved;
pub(crate) mod questions;
pub mod reasonable;
pub mod replaced;
pub mod sync;
mod topology;
pub mod toyfs;
pub mod ways;
#[cfg(test)]
mod words;

/// What a file system keeps in its root for itself, as its mkfs has made it: e2fsck and fsck.minix put into `lost+found` what they
/// find, and `nilfs_cleanerd` holds on to `.nilfs`. Of no interest to a checker while it is as it was, empty.
const RESERVED: [&str; 2] = ["/lost+found", "/.nilfs"];
