//! The checkers of small trees with the calls beyond the eight, on simulated files and on such that
//! lose what one group of these calls has done.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::{reasonable, ways};

pub(crate) fn targets() -> Vec<Target> {
    let files = || StackSpec::default().plug("simfiles", Options::none());
    let target = |name, about, checker: &'static str, options: Options, depth, expect| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack: files(),
        checker: Cow::Borrowed(checker),
        // Simulated files have no indirect blocks.
        checker_options: options.with("far", 16_384_u64),
        bounds: Bounds { depth, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded: expect != "clean",
        expect: Cow::Borrowed(expect),
    };
    let calls = |words: &str| Options::none().with("calls", words);
    let lying = |name, about, lie: &str, way: &str, words: &str, depth, expect| {
        let found = target(name, about, ways::NAME, calls(words).with("way", way), depth, expect);
        Target { stack: files().plug("lying-sync", Options::none().with("lies", lie)), ..found }
    };
    let reasonable = |name, about, stack, words, expect| {
        let depth = if expect == "clean" { 2 } else { 3 };
        Target { stack, ..target(name, about, reasonable::NAME, calls(words), depth, expect) }
    };
    vec![
        target(
            "simfiles-more",
            "what sync makes durable is there, with every call, on simulated files",
            ways::NAME,
            calls("more").with("way", "sync"),
            2,
            "clean",
        ),
        reasonable(
            "fs-reasonable-more",
            "what a crash leaves is reasonable, with every call, on simulated files",
            files(),
            "more",
            "clean",
        ),
        lying(
            "simfiles-more+fsync-forgets-attributes",
            "files whose fsync does what fdatasync does: no mode and no extended attribute",
            "attributes",
            "fsync",
            "chmod,xattr",
            2,
            "lost",
        ),
        lying(
            "simfiles-more+modes-lost",
            "files whose modes never reach the disk",
            "modes",
            "sync",
            "chmod",
            2,
            "lost",
        ),
        lying(
            "simfiles-more+xattrs-lost",
            "files whose extended attributes never reach the disk",
            "xattrs",
            "sync",
            "xattr",
            2,
            "lost",
        ),
        lying(
            "simfiles-more+targets-lost",
            "files whose sync leaves out what symbolic links hold",
            "targets",
            "sync",
            "symlink",
            1,
            "lost",
        ),
        lying(
            "simfiles-more+half-an-exchange",
            "files whose sync leaves out the second directory of an exchange",
            "exchanged",
            "sync",
            "exchange",
            3,
            "corrupt",
        ),
        lying(
            "simfiles-more+removed-while-open",
            "files whose sync leaves out the name of a file that was open when it was removed",
            "held",
            "sync",
            "held",
            2,
            "resurrected",
        ),
        lying(
            "simfiles-more+holes-lost",
            "files whose fsync does nothing once a hole was punched",
            "holes",
            "fsync",
            "contents,punch",
            3,
            "corrupt",
        ),
        lying(
            "simfiles-more+shifts-lost",
            "files whose fsync does nothing once a range was put in or taken out",
            "shifted",
            "fsync",
            "contents,shift",
            3,
            "corrupt",
        ),
        lying(
            "simfiles-more+unnamed-lost",
            "files whose fsync does nothing if they were made without a name",
            "unnamed",
            "fsync",
            "tmpfile",
            1,
            "lost",
        ),
        lying(
            "simfiles-more+clones-lost",
            "files whose fsync does nothing if they are clones",
            "clones",
            "fsync",
            "contents,reflink",
            4,
            "lost",
        ),
        reasonable(
            "simfiles-more+msync-lies",
            "files whose msync does nothing",
            files().plug("lying-sync", Options::none().with("lies", "msync")),
            "contents,mmap",
            "lost",
        ),
    ]
}
