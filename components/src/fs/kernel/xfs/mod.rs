//! XFS, which mounting recovers by replaying the log. xfs_repair refuses a log that was not
//! replayed (xfs_repair(8), -L), so it is not a part of the recovery. With `strict` it checks the
//! recovered file system and must find nothing.

mod inactivation;
mod times;

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::devices::NOW;
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, STRICT, SecondDevice, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "xfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "XFS, whose log mounting replays", build)
        .modes(MODES)
        .on("ramdisk")
        .options(options![
            OptionDef {
                name: "block_size",
                about: "block size in bytes: 1024, 2048, 4096",
                default: "4096"
            },
            STRICT,
        ])
}

/// The options of mkfs.xfs. Without `--unsupported` it refuses disks of less than 300 MiB. `-K`
/// discards nothing.
const MAKE: &str = "-f -K -q --unsupported -m uuid=12345678-1234-1234-1234-123456789abc";

/// The options of the strict check, which changes nothing and ends with 1 if it has found something
/// (xfs_repair(8)). A single allocation group has no second superblock to compare with, which
/// `force_geometry` allows.
const CHECK: &str = "-n -o force_geometry";
/// The beginnings of the lines that report progress.
const PROGRESS: &[&str] = &["Phase ", "- ", "No modify flag set"];

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let bytes = options.one_of("block_size", &[("4096", 4096), ("1024", 1024), ("2048", 2048)])?;
    Ok(KernelFs::maker(KernelFsSpec {
        // Stacks on crash disks are mounted beside the live one, with its UUID.
        options: "nouuid".to_owned(),
        made: Some(|node| times::hold(node, NOW)),
        strict: options
            .bool("strict", false)?
            .then(|| Tool::new("xfs_repair", CHECK).without(PROGRESS)),
        settle: Some(inactivation::finish),
        // The log.
        second: Some(SecondDevice {
            prepare: None,
            of_make: "-l logdev=",
            of_check: Some("-l "),
            of_mount: Some("logdev="),
            is_stored: false,
        }),
        unobserved: Some(
            "file data that has no block yet (delayed allocation) or was not submitted, and what \
             its log and its own buffers hold",
        ),
        // The thread of XFS runs by its own timers (docs/model/scheduling.md), so no choice makes
        // background work happen between two calls.
        ..KernelFsSpec::new(NAME, profiles::xfs, options, move || {
            Tool::new("mkfs.xfs", format!("-b size={bytes} {MAKE}"))
        })?
    }))
}
