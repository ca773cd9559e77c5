//! What a recovery leaves is looked at by the file system's own program: XFS with `strict`.

use explode_runtime::check::Verdict;

use crate::cases::Cx;
use crate::directed::{Seen, go_on};
use crate::report::Report;

/// The last of the eight blocks of inodes that mkfs.xfs makes: nobody uses these inodes, and nothing but xfs_repair reads them.
const UNUSED_INODES: &str = "ramdisk block 1391 garbage";

/// Every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let go = |strict: bool, fault: &str| -> Seen {
        let mut plan = cx.plan("fs-sync-xfs");
        let [disk, xfs] = &mut plan.stack.0[..] else { panic!("two layers") };
        disk.options = disk.options.clone().with("faults", "garbage");
        xfs.options = xfs.options.clone().with("strict", strict);
        go_on(cx.registry, &plan, cx.lab, &[fault, "write /a; fsync /a, /"], 1)
    };
    report.case("xfs, strict: what nobody reads is found to be spoilt, and only then", |_| {
        let strict = go(true, UNUSED_INODES);
        let found = strict.errors.iter().filter(|(error, _)| {
            error.verdict == Verdict::RecoverFailed
                && error.message.contains("after the recovery xfs_repair ended with 1")
        });
        assert!(strict.checked > 0 && found.count() as u64 == strict.checked, "{:?}", strict.errors);
        for silent in [go(false, UNUSED_INODES), go(true, "none")] {
            assert!(silent.checked > 0 && silent.errors.is_empty(), "{:?}", silent.errors);
        }
    });
}
