//! The settings of a database.

/// How a database is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RedbSettings {
    /// Of commits that shall be synced; all others have none.
    pub(super) durable: bool,
    pub(super) two_phase_commit: bool,
    pub(super) quick_repair: bool,
    pub(super) cache_bytes: usize,
}
