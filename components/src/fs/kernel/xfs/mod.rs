//! XFS, which mounting recovers: it replays the log. xfs_repair refuses a log that was not replayed (xfs_repair(8), -L), so it is no
//! part of a recovery; the option `strict` runs it after the mount, to look.

mod times;

use explode_runtime::devices::NOW;
use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, Failures, KernelFs, MODES, MOST_FAILURES, STRICT, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "xfs",
    about: "XFS, whose log mounting replays",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[STRICT, FAIL, MOST_FAILURES],
    build,
};

/// Disks of less than 300 MiB are for tests; discards nothing.
const MAKE: &str = "-f -K -q --unsupported -m uuid=12345678-1234-1234-1234-123456789abc";

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(KernelFs::component(System {
        driver: DEF.name,
        // Stacks on crash disks are mounted beside the live one, with its UUID.
        options: "nouuid".to_owned(),
        make: Box::new(|| Tool::new("mkfs.xfs", MAKE)),
        made: Some(|node| times::hold(node, NOW)),
        repair: None,
        strict: options.bool("strict", false)?.then(|| Tool::new("xfs_repair", "-n")),
        settles: false,
        promises: posix_promises,
        lacks: None,
        hides: Some(
            "file data that has no block yet (delayed allocation) or was not submitted, and what its log and its own buffers hold",
        ),
        failures: Failures::of(options)?,
    }))
}
