//! QEMU's command line: a machine that starts the same way each time.

use std::path::Path;
use std::process::Command;

use crate::error::{Result, VmError};
use crate::guest::Accelerator;
use crate::host;

const PROGRAM: &str = "qemu-system-x86_64";

/// What every guest's kernel is told.
///
/// Messages below "error" are not printed: each costs time on an emulated serial port. A panic ends the guest. Addresses, and the seed
/// of the kernel's random numbers (from the emulated processor's, see `-seed`), are the same in each boot.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr random.trust_cpu=on random.trust_bootloader=on rdinit=/init";

/// Where the parts of the machine come from.
pub(super) struct Machine<'a> {
    pub kernel: &'a Path,
    /// A path that QEMU can open.
    pub initrd: &'a str,
    pub memory_mib: u32,
    pub accelerator: Accelerator,
    /// Added to the kernel's command line.
    pub kernel_arguments: &'a [String],
}

/// The QEMU that is installed.
pub(crate) fn program() -> Result<std::path::PathBuf> {
    host::find_program(PROGRAM).ok_or_else(|| {
        VmError::missing(
            format!("{PROGRAM} is not there, and explode's guests run in it"),
            "run as root: apt-get install qemu-system-x86",
        )
    })
}

/// QEMU with this machine, and neither console nor stream.
pub(super) fn command(machine: &Machine<'_>) -> Result<Command> {
    let mut arguments = vec![KERNEL_ARGUMENTS];
    arguments.extend(machine.kernel_arguments.iter().map(String::as_str));
    let mut qemu = Command::new(program()?);
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-M", "pc", "-cpu", "max", "-smp", "1"])
        .args(["-accel", machine.accelerator.name()])
        .args(["-m", &format!("{}M", machine.memory_mib)])
        // The same time and the same random numbers in each boot; the clock goes with the guest's own time.
        .args(["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"])
        .arg("-kernel")
        .arg(machine.kernel)
        .args(["-initrd", machine.initrd])
        .args(["-append", &arguments.join(" ")]);
    Ok(qemu)
}
