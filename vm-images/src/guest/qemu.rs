//! QEMU's command line, which starts the same machine each time.

use std::process::Command;

use super::accelerator::Accelerator;
use super::clock;
use super::memory::MemoryFile;
use super::spec::GuestSpec;
use crate::base::{Result, VmError};
use crate::host;

const PROGRAM: &str = "qemu-system-x86_64";

/// The arguments of every guest's kernel. The console is the serial port. Messages below "error"
/// are off, because each costs time on an emulated serial port. A panic ends the guest. Addresses
/// are the same in each boot. Nothing waits for random numbers. The check of timer interrupts is
/// off, because on a busy machine they arrive late and the kernel would give up ("IO-APIC + timer
/// doesn't work!"). A work queue does not start its next item beside one that has run for 10 ms,
/// because on a busy machine every item may.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr \
                                random.trust_cpu=on random.trust_bootloader=on \
     no_timer_check workqueue.cpu_intensive_thresh_us=0 rdinit=/init";

/// Makes the C library of the guest copy and compare without AVX, which is slow under emulation.
/// The kernel passes this word to its first process as an environment variable.
const WITHOUT_AVX: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX_Fast_Unaligned_Load";

/// Makes the kernel zero the memory that it hands out, because file systems write bytes to the disk
/// that they have never set (inodes in the log of btrfs). No built-in file system was seen to do
/// that.
const ZEROED: &str = "init_on_alloc=1";

/// Returns the path of the installed QEMU.
///
/// # Errors
/// [`VmError::Missing`] if QEMU is not installed.
pub fn program() -> Result<std::path::PathBuf> {
    host::find_program(PROGRAM).ok_or_else(|| {
        VmError::missing(
            format!("{PROGRAM} is not there, and explode's guests run in it"),
            "run as root: apt-get install qemu-system-x86",
        )
    })
}

/// Returns the QEMU command for a guest's machine, without console and stream. A machine that does
/// not boot needs no first file system.
pub(super) fn command(spec: &GuestSpec, initrd: Option<&MemoryFile>) -> Result<Command> {
    let mut arguments = vec![KERNEL_ARGUMENTS.to_owned()];
    if spec.accelerator == Accelerator::Emulation {
        arguments.extend([clock::kernel_arguments(), WITHOUT_AVX.to_owned()]);
    }
    arguments.extend(spec.kernel_arguments.iter().cloned());
    arguments.extend((!spec.drivers.is_empty()).then(|| ZEROED.to_owned()));
    let processor = match spec.accelerator {
        // Emulated string instructions copy byte by byte. Without these flags the kernel copies by
        // words.
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
        .args(["-append", &arguments.join(" ")]);
    if let Some(initrd) = initrd {
        qemu.args(["-initrd", &initrd.path()]);
        initrd.give(&mut qemu);
    }
    Ok(qemu)
}
