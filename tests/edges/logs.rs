//! Logs with contradictions outside the interval.

use tempfile::tempdir;

use crate::common::log::{complete, crash_disks, dirty, mark};

/// A log is refused as a whole, including the part after the mark of `--to`.
#[test]
fn an_unknown_id_behind_the_end_is_refused() {
    let folder = tempdir().unwrap();
    let log = [dirty(0, 0, 8, 'A'), mark("end"), complete(7)];
    for to in ["", " --to end"] {
        crash_disks(folder.path(), &log, &format!("--size 4096{to}")).refused(&["line 3", "7"]);
    }
    crash_disks(folder.path(), &log[..2], "--size 4096 --to end").expect(0);
}
