//! The settings of a database.

/// The settings with which a database is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RedbSettings {
    /// True if commits with [`Durability::Synced`](crate::engine::Durability::Synced) are durable.
    /// All other commits are not.
    pub(super) durable: bool,
    pub(super) two_phase_commit: bool,
    pub(super) quick_repair: bool,
    pub(super) cache_bytes: usize,
}
