//! QEMU's command line: a machine that starts the same way each time.

use std::process::Command;

use super::accelerator::Accelerator;
use super::clock;
use super::memory::MemoryFile;
use super::spec::GuestSpec;
use crate::base::{Result, VmError};
use crate::host;

const PROGRAM: &str = "qemu-system-x86_64";

/// The arguments of every guest's kernel: the console; no messages below "error", each costs time
/// on an emulated serial port; a panic ends the guest; addresses are the same in each boot; nothing
/// waits for random numbers. And no check whether timer interrupts arrive in time: on a busy
/// machine they do not, and the kernel would give up ("IO-APIC + timer doesn't work!"). Nor does a
/// work queue start its next item beside one that has run for 10 ms: on a busy machine that is any.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr \
                                random.trust_cpu=on random.trust_bootloader=on \
     no_timer_check workqueue.cpu_intensive_thresh_us=0 rdinit=/init";

/// Memory that the kernel hands out is zeroed: file systems write bytes to the disk that they have
/// never set (inodes in the log of btrfs). Those that every kernel has built in were not seen to.
const ZEROED: &str = "init_on_alloc=1";

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

/// QEMU with the machine of a guest, and neither console nor stream.
pub(super) fn command(spec: &GuestSpec, initrd: &MemoryFile) -> Result<Command> {
    let mut arguments = vec![KERNEL_ARGUMENTS.to_owned()];
    if spec.accelerator == Accelerator::Emulation {
        arguments.push(clock::kernel_arguments());
    }
    arguments.extend(spec.kernel_arguments.iter().cloned());
    arguments.extend((!spec.drivers.is_empty()).then(|| ZEROED.to_owned()));
    let processor = match spec.accelerator {
        // Emulated string instructions go byte by byte: the kernel is to copy by words.
        Accelerator::Emulation => "max,-erms,-fsrm",
        Accelerator::Kvm => "max",
    };
    let mut qemu = Command::new(program()?);
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-M", "pc", "-cpu", processor, "-smp", "1"])
        .args(["-accel", spec.accelerator.name()])
        .args(["-m", &format!("{}M", spec.memory_mib)])
        // The same time at each boot (it stands still while the guest does), and the same numbers
        // from the processor's generator.
        .args(["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"])
        .arg("-kernel")
        .arg(spec.kernel.boot_image())
        .args(["-initrd", &initrd.path()])
        .args(["-append", &arguments.join(" ")]);
    initrd.give(&mut qemu);
    Ok(qemu)
}
