//! UDF on a hard disk. Debian has no fsck for it: it is mounted as a crash has left it.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, Failures, KernelFs, MODES, MOST_FAILURES, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "udf",
    about: "UDF on a hard disk; there is no fsck",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[FAIL, MOST_FAILURES],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(KernelFs::component(System {
        driver: DEF.name,
        options: String::new(),
        make: Box::new(|| Tool::new("mkudffs", "--media-type=hd").still()),
        made: None,
        repair: None,
        strict: None,
        settles: false,
        promises: posix_promises,
        lacks: Some("Debian 12 has no fsck for it"),
        hides: None,
        failures: Failures::of(options)?,
    }))
}
