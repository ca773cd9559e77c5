//! ext4 with its journal, which mounting replays; and ext3, which the same driver mounts.

use explode_runtime::check::Promise;
use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

use super::common::options;
use super::ext2::{BLOCK_SIZE, E2FSCK, SAME, block_size, e2fsck};
use super::profiles::{ext3_ordered, ext4_ordered, journalled_data, writeback};
use super::tool::Tool;
use super::{BETWEEN, Between, KernelFs, MODES, MOST_BETWEEN, Own, STRICT, System};

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
        STRICT,
        BETWEEN,
        MOST_BETWEEN,
    ],
    build: |options| {
        let hides = "file data that has no block yet (delayed allocation), and buffers that the journal owns";
        journalled("ext4", hides, ext4_ordered, options)
    },
};

/// What users have who have made it as ext3: its format, and its way to allocate blocks, by ext4's driver.
pub const EXT3: ComponentDef = ComponentDef {
    name: "ext3",
    about: "ext3 with its journal, by ext4's driver; mounting replays the journal",
    build: |options| journalled("ext3", "buffers that the journal owns", ext3_ordered, options),
    ..DEF
};

/// The inode of their journals.
const JOURNAL: u32 = 8;

/// The two differ in their names, and in what they promise by default.
fn journalled(
    kind: &'static str,
    hides: &'static str,
    ordered: fn() -> Vec<Promise>,
    options: &Options,
) -> Result<Box<dyn Component>, UsageError> {
    let data = options
        .one_of("data", &[("ordered", "ordered"), ("journal", "journal"), ("writeback", "writeback")])?;
    let bytes = block_size(options)?;
    let make =
        move || Tool::new("mke2fs", format!("-t {kind} -b {bytes} -J size={} {SAME}", bytes.div_ceil(1024)));
    let promises = match data {
        "journal" => journalled_data,
        "writeback" => writeback,
        _ => ordered,
    };
    Ok(KernelFs::component(System {
        // No commit that nobody asked for.
        options: format!("data={data},commit=100000,noinit_itable"),
        repair: e2fsck(options, false)?,
        strict: options.bool("strict", false)?.then(|| Tool::new("e2fsck", "-f -n")),
        hides: Some(hides),
        between: Between::of(options, &[Own::Writeback, Own::File, Own::Commit, Own::Reclaim])?,
        threads: |device| vec![format!("jbd2/{device}-{JOURNAL}")],
        ..System::new(kind, promises, options, make)?
    }))
}
