//! NTFS by the kernel's driver ntfs3. It refuses what was not unmounted until ntfsfix has been there, which is no fsck: it "only repairs
//! some fundamental NTFS inconsistencies, resets the NTFS journal file and schedules an NTFS consistency check for the first boot
//! into Windows" (ntfsfix(8)). Debian has no more.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, FSCK, Failures, KernelFs, MODES, MOST_FAILURES, Repair, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "ntfs3",
    about: "NTFS by the driver ntfs3; ntfsfix makes it mountable",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[FSCK, FAIL, MOST_FAILURES],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let repair = || Repair { tool: Tool::new("ntfsfix", "-d").still(), repaired: &[] };
    Ok(KernelFs::component(System {
        driver: DEF.name,
        options: String::new(),
        make: Box::new(|| Tool::new("mkntfs", "-q -Q -F").still()),
        made: None,
        repair: options.bool("fsck", true)?.then(repair),
        strict: None,
        settles: false,
        promises: posix_promises,
        lacks: Some("Debian 12 has no fsck for it, only ntfsfix"),
        hides: None,
        failures: Failures::of(options)?,
    }))
}
