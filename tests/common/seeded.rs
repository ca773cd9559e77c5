//! The seeded bugs that the test program `seeded_bugs` covers.

/// The systems; each bug is a target `<system>+<bug>`.
pub const SYSTEMS: [&str; 10] = [
    "wal-kv",
    "rename-kv",
    "journal-kv",
    "toyfs",
    "toyfs-versions",
    "toyfs-in-place",
    "mirror",
    "parity",
    "parity-journal",
    "simfiles-more",
];

/// Returns true if `seeded_bugs` finds the bug of this target.
pub fn is_covered(target: &str) -> bool {
    target.split_once('+').is_some_and(|(system, _)| SYSTEMS.contains(&system))
}
