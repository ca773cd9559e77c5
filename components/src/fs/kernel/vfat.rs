//! FAT: with long names as VFAT, without as MSDOS.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::common::options;
use super::profiles;
use super::tool::Tool;
use super::{BETWEEN, Between, FSCK, KernelFs, MODES, MOST_BETWEEN, OWN, Repair, STRICT, System};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "vfat",
    about: "FAT with long names; fsck.fat repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![FSCK, STRICT, BETWEEN, MOST_BETWEEN],
    build,
};

/// What fsck.fat says of what it has looked at, and not of what it has found; the last begins with the device.
const PROGRESS: &[&str] = &["fsck.fat ", "Leaving filesystem unchanged", "/dev/"];

/// The same without long names.
pub const MSDOS: ComponentDef = ComponentDef {
    name: "msdos",
    about: "FAT with names of 8 and 3 characters; fsck.fat repairs it",
    build: |options| fat("msdos", "codepage=437,tz=UTC", options),
    ..DEF
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    fat("vfat", "codepage=437,iocharset=iso8859-1,tz=UTC", options)
}

fn fat(driver: &'static str, mount: &str, options: &Options) -> Result<Box<dyn Component>, UsageError> {
    // 1: recoverable errors, which -a has repaired (fsck.fat(8)).
    let repair = || Repair { tool: Tool::new("fsck.fat", "-a"), repaired: &[1] };
    Ok(KernelFs::component(System {
        options: mount.to_owned(),
        repair: options.bool("fsck", true)?.then(repair),
        unrepaired: !options.bool("fsck", true)?,
        // Ends with 1 if it would change something, if only the mark of what was not unmounted.
        strict: options.bool("strict", false)?.then(|| Tool::new("fsck.fat", "-n").without(PROGRESS)),
        between: Between::of(options, OWN)?,
        ..System::new(driver, profiles::fat, options, || Tool::new("mkfs.fat", "--invariant"))?
    }))
}
