//! ReiserFS, whose journal mounting replays. Linux 6.12 is the last series but one of its driver: 6.13 has it no more.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::common::options;
use super::profiles;
use super::tool::Tool;
use super::{KernelFs, MODES, STRICT, System};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "reiserfs",
    about: "ReiserFS, whose journal mounting replays; its disk has 64 MiB or more",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![STRICT],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let make = || Tool::new("mkreiserfs", "-q -f -f -u 12345678-1234-1234-1234-123456789abc").still();
    Ok(KernelFs::component(System {
        // No commit that nobody asked for.
        options: "commit=100000".to_owned(),
        strict: options.bool("strict", false)?.then(|| Tool::new("reiserfsck", "--check -q -y")),
        hides: Some("buffers that the journal owns"),
        ..System::new(DEF.name, profiles::reiserfs, options, make)?
    }))
}
