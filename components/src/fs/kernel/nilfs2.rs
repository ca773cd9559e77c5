//! NILFS2, which mounting recovers: it takes the last log that was written whole. Debian has no fsck for it. The cleaner, a program
//! that mount(8) starts, is not started.

use std::io;
use std::path::Path;

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, Failures, KernelFs, MODES, MOST_FAILURES, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "nilfs2",
    about: "NILFS2, whose logs mounting recovers; its disk has 160 MiB or more",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[FAIL, MOST_FAILURES],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(KernelFs::component(System {
        driver: DEF.name,
        options: String::new(),
        make: Box::new(|| Tool::new("mkfs.nilfs2", "-q -f -K").still()),
        made: Some(never_by_time),
        repair: None,
        strict: None,
        settles: true,
        promises: posix_promises,
        lacks: Some("Debian 12 has no fsck for it"),
        hides: Some("file data and metadata that were not submitted"),
        failures: Failures::of(options)?,
    }))
}

/// No log is written because time has passed.
fn never_by_time(node: &Path) -> io::Result<()> {
    let tool = Tool::new("nilfs-tune", "-f -i 1000000").still();
    match tool.run(node) {
        Ok((0, _)) => Ok(()),
        Ok((code, said)) => Err(io::Error::other(format!("{tool} ended with {code}: {said}"))),
        Err(fault) => Err(io::Error::other(fault.to_string())),
    }
}
