//! ext4 with its journal, which mounting replays.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

use super::common::{Common, options};
use super::ext2::{BLOCK_SIZE, E2FSCK, SAME, block_size, e2fsck};
use super::tool::Tool;
use super::{BETWEEN, Between, KernelFs, MODES, MOST_BETWEEN, Own, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "ext4",
    about: "ext4 with its journal, which mounting replays",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![
        OptionDef {
            name: "data",
            about: "how data is journalled: ordered, journal, writeback",
            default: "ordered",
        },
        BLOCK_SIZE,
        OptionDef {
            name: "fsck",
            about: "repair with e2fsck before each mount after a crash: true, false",
            default: "false",
        },
        E2FSCK,
        BETWEEN,
        MOST_BETWEEN,
    ],
    build,
};

/// The inode of its journal.
const JOURNAL: u32 = 8;

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let data = options
        .one_of("data", &[("ordered", "ordered"), ("journal", "journal"), ("writeback", "writeback")])?;
    let bytes = block_size(options)?;
    Ok(KernelFs::component(System {
        driver: "ext4",
        // No commit that nobody asked for.
        options: format!("data={data},commit=100000,noinit_itable"),
        make: Box::new(move || {
            Tool::new("mke2fs", format!("-t ext4 -b {bytes} -J size={} {SAME}", bytes.div_ceil(1024)))
        }),
        made: None,
        repair: e2fsck(options, false)?,
        strict: None,
        settle: None,
        promises: posix_promises,
        hides: Some(
            "file data that has no block yet (delayed allocation), and buffers that the journal owns",
        ),
        common: Common::of(options)?,
        between: Between::of(options, &[Own::Writeback, Own::File, Own::Commit, Own::Reclaim])?,
        threads: |device| vec![format!("jbd2/{device}-{JOURNAL}")],
    }))
}
