//! QEMU's command line: a machine that starts the same way each time.

use std::path::Path;
use std::process::Command;

use crate::base::{Result, VmError};
use crate::host;

use super::{Accelerator, clock};

const PROGRAM: &str = "qemu-system-x86_64";

/// What every guest's kernel is told: the console; no messages below "error", each costs time on an emulated serial port; a panic ends
/// the guest; addresses are the same in each boot; nothing waits for random numbers. And no check whether timer interrupts arrive in
/// time: on a busy machine they do not, and the kernel would give up ("IO-APIC + timer doesn't work!"). Nor does a work queue start its
/// next item beside one that has run for 10 ms: on a busy machine that is any.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr random.trust_cpu=on random.trust_bootloader=on \
     no_timer_check workqueue.cpu_intensive_thresh_us=0 rdinit=/init";

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
///
/// # Errors
/// [`VmError::Missing`] if there is none.
pub fn program() -> Result<std::path::PathBuf> {
    host::find_program(PROGRAM).ok_or_else(|| {
        VmError::missing(
            format!("{PROGRAM} is not there, and explode's guests run in it"),
            "run as root: apt-get install qemu-system-x86",
        )
    })
}

/// QEMU with this machine, and neither console nor stream.
pub(super) fn command(machine: &Machine<'_>) -> Result<Command> {
    let mut arguments = vec![KERNEL_ARGUMENTS.to_owned()];
    if machine.accelerator == Accelerator::Emulation {
        arguments.push(clock::kernel_arguments());
    }
    arguments.extend(machine.kernel_arguments.iter().cloned());
    let processor = match machine.accelerator {
        // Emulated string instructions go byte by byte: the kernel is to copy by words.
        Accelerator::Emulation => "max,-erms,-fsrm",
        Accelerator::Kvm => "max",
    };
    let mut qemu = Command::new(program()?);
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-M", "pc", "-cpu", processor, "-smp", "1"])
        .args(["-accel", machine.accelerator.name()])
        .args(["-m", &format!("{}M", machine.memory_mib)])
        // The same time at each boot (it stands still while the guest does), and the same numbers from the processor's generator.
        .args(["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"])
        .arg("-kernel")
        .arg(machine.kernel)
        .args(["-initrd", machine.initrd])
        .args(["-append", &arguments.join(" ")]);
    Ok(qemu)
}
