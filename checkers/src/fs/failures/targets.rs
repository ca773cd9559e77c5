//! The checker on file systems of the kernel, and on files whose rename has two steps.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::NAME;

pub(crate) fn targets() -> Vec<Target> {
    let target = |name, about, stack, seeded, expect| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack,
        checker: Cow::Borrowed(NAME),
        checker_options: Options::none(),
        bounds: Bounds { depth: 1, limit: 10, samples: 4, crash_depth: 0 },
        seeded,
        expect: Cow::Borrowed(expect),
    };
    let on_disk = |component: &str| {
        let failing = Options::none().with("fail", "slab");
        StackSpec::default().plug("ramdisk", Options::none()).plug(component, failing)
    };
    vec![
        target(
            "fs-failures-ext4",
            "a call that fails has no effect, on ext4",
            on_disk("ext4"),
            false,
            "corrupt",
        ),
        target(
            "fs-failures-ext2",
            "the same on ext2, by its own driver",
            on_disk("ext2"),
            false,
            "clean",
        ),
        target("fs-failures-xfs", "the same on XFS", on_disk("xfs"), false, "clean"),
        target(
            "ext2+rename-in-steps",
            "ext2 under files whose rename takes steps",
            on_disk("ext2").plug("rename-in-steps", Options::none().with("steps", true)),
            true,
            "corrupt",
        ),
    ]
}
