//! Table 2 of the paper (EXPLODE, OSDI 2006): the ways to sync that failed on each file system of
//! Linux 2.6.11.

use super::grid::Grid;

/// The four ways, by the names of explode's checks.
pub const METHODS: [&str; 4] = ["sync", "mount-sync", "fsync", "o-sync"];

/// Whether each way failed, by the names of explode's systems.
const FAILED: [(&str, [bool; 4]); 10] = [
    ("ext2", [false, true, true, true]),
    ("ext3", [false, false, false, true]),
    ("reiserfs", [false, true, false, true]),
    ("reiser4", [false, false, false, true]),
    ("jfs", [false, true, true, true]),
    ("xfs", [false, true, false, true]),
    ("msdos", [true, true, false, true]),
    ("vfat", [true, true, false, true]),
    ("hfs", [true, true, true, true]),
    ("hfsplus", [true, true, true, true]),
];

/// Returns true if the way failed on the system in 2006. `None` if the paper does not say.
pub fn failed(system: &str, method: &str) -> Option<bool> {
    let method = METHODS.iter().position(|name| *name == method)?;
    FAILED.iter().find(|(name, _)| *name == system).map(|(_, failed)| failed[method])
}

/// Returns the lines for the systems of a grid that the paper also covers. Empty if the grid has
/// none of its ways.
pub fn lines(grid: &Grid) -> Vec<String> {
    if !grid.checks.iter().any(|check| METHODS.contains(&check.name.as_str())) {
        return Vec::new();
    }
    let line = |system: &str| {
        let of = |want: bool| {
            METHODS.into_iter().filter(move |method| failed(system, method) == Some(want))
        };
        let (failed, held): (Vec<&str>, Vec<&str>) = (of(true).collect(), of(false).collect());
        let any = !failed.is_empty() || !held.is_empty();
        let words = |methods: Vec<&str>| {
            if methods.is_empty() { "none".to_owned() } else { methods.join(", ") }
        };
        any.then(|| format!("{system}: safe {}; not {}", words(held), words(failed)))
    };
    grid.systems.iter().filter_map(|row| line(&row.name)).collect()
}
