//! The options that all file systems of the kernel have: the flags of the mount, and the failures.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::faults::kernel::{FAILURE_OPTIONS, KernelFaults};
use nix::mount::MsFlags;

/// The option to make every change durable at once.
pub const SYNC: OptionDef =
    OptionDef { name: "sync", about: "mount with -o sync: true, false", default: "false" };
pub const FAIL: OptionDef = FAILURE_OPTIONS[0];
pub const MOST_FAILURES: OptionDef = FAILURE_OPTIONS[1];
pub const PROBE: OptionDef = FAILURE_OPTIONS[2];

/// The options of a file system: its own, and those of all file systems.
macro_rules! options {
    ($($own:expr),* $(,)?) => {
        [
            $($own,)*
            $crate::fs::kernel::common::SYNC,
            $crate::fs::kernel::common::FAIL,
            $crate::fs::kernel::common::MOST_FAILURES,
            $crate::fs::kernel::common::PROBE,
        ]
    };
}
pub(super) use options;

/// The values of the common options.
pub struct Common {
    /// Further flags of the mount.
    pub flags: MsFlags,
    /// The failures that may be injected in a mutate.
    pub failures: KernelFaults,
}

impl Common {
    /// Reads the options.
    pub fn of(options: &Options) -> Result<Common, UsageError> {
        let sync = options.bool(SYNC.name, false)?;
        let flags = if sync { MsFlags::MS_SYNCHRONOUS } else { MsFlags::empty() };
        Ok(Common { flags, failures: KernelFaults::of(options)? })
    }
}
