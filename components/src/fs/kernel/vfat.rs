//! FAT: with long names as VFAT, without as MSDOS.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

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
    options: options![
        OptionDef { name: "fat", about: "bits of an entry: auto (by its size), 12, 16, 32", default: "auto" },
        OptionDef {
            name: "cluster",
            about: "sectors of a cluster, a power of two up to 128; 0: by the size of the disk",
            default: "0",
        },
        OptionDef { name: "flush", about: "mount with -o flush: true, false", default: "false" },
        FSCK,
        STRICT,
        BETWEEN,
        MOST_BETWEEN,
    ],
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
    let bits =
        options.one_of("fat", &[("auto", ""), ("12", " -F 12"), ("16", " -F 16"), ("32", " -F 32")])?;
    let sectors = match options.int("cluster", 0)? {
        0 => String::new(),
        sectors if sectors.is_power_of_two() && sectors <= 128 => format!(" -s {sectors}"),
        other => {
            return Err(UsageError(format!(
                "a cluster of {other} sectors; use 1, 2, 4 and so on, up to 128"
            )));
        }
    };
    let make = move || Tool::new("mkfs.fat", format!("--invariant{bits}{sectors}"));
    let flush = if options.bool("flush", false)? { ",flush" } else { "" };
    // 1: recoverable errors, which -a has repaired (fsck.fat(8)).
    let repair = || Repair { tool: Tool::new("fsck.fat", "-a"), repaired: &[1] };
    Ok(KernelFs::component(System {
        options: format!("{mount}{flush}"),
        repair: options.bool("fsck", true)?.then(repair),
        unrepaired: !options.bool("fsck", true)?,
        // Ends with 1 if it would change something, if only the mark of what was not unmounted.
        strict: options.bool("strict", false)?.then(|| Tool::new("fsck.fat", "-n").without(PROGRESS)),
        between: Between::of(options, OWN)?,
        ..System::new(driver, profiles::fat, options, make)?
    }))
}
