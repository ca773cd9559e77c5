//! Chooses hardware or emulation by booting a guest. A readable /dev/kvm proves nothing: in nested
//! virtual machines it may fail at the first instruction that it cannot emulate.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::accelerator::Accelerator;
use super::running::Guest;
use super::spec::GuestSpec;
use super::{identity, qemu};
use crate::base::{CacheKey, Result};
use crate::build::Build;
use crate::cache::write_whole;
use crate::kernel::BuiltKernel;

/// The time that a guest may take to reach its first process on the hardware.
const DEADLINE: Duration = Duration::from_secs(10);

/// The line that the image's /init prints if [`ARGUMENT`] requests it.
const ANSWER: &str = "explode: the guest is up";
const ARGUMENT: &str = "explode.probe";

/// Boots a guest of this kernel to choose, and stores the result.
pub(crate) fn get(build: &Build<'_>, kernel: &BuiltKernel, image: &Path) -> Result<Accelerator> {
    if let Some(known) = remembered(build, kernel) {
        return Ok(known);
    }
    let answer = if can_open() && boots(build, kernel, image)? {
        Accelerator::Kvm
    } else {
        Accelerator::Emulation
    };
    write_whole(&memory(build, kernel), answer.name().as_bytes())?;
    Ok(answer)
}

/// Returns the result of an earlier probe on this machine. The permission to open /dev/kvm is
/// checked each time. `None` if there was no probe.
pub(crate) fn remembered(build: &Build<'_>, kernel: &BuiltKernel) -> Option<Accelerator> {
    if !can_open() {
        return Some(Accelerator::Emulation);
    }
    match fs::read_to_string(memory(build, kernel)).ok()?.as_str() {
        "kvm" => Some(Accelerator::Kvm),
        "tcg" => Some(Accelerator::Emulation),
        _ => None,
    }
}

pub(crate) fn can_open() -> bool {
    File::options().read(true).write(true).open("/dev/kvm").is_ok()
}

fn boots(build: &Build<'_>, kernel: &BuiltKernel, image: &Path) -> Result<bool> {
    build.progress.step("finding out whether /dev/kvm runs a guest");
    let mut spec = GuestSpec::new(kernel, image);
    spec.accelerator = Accelerator::Kvm;
    spec.kernel_arguments.push(ARGUMENT.into());
    let mut guest = Guest::start(&spec)?;
    let ended = guest.wait(DEADLINE)?;
    Ok(ended.is_some() && guest.console().contains(ANSWER))
}

/// Returns the file with the result for this kernel and this QEMU on this machine.
fn memory(build: &Build<'_>, kernel: &BuiltKernel) -> PathBuf {
    let key =
        CacheKey::new(3).with("kernel", kernel.key()).with("machine", identity::of_machine()).with(
            "QEMU",
            qemu::program()
                .map_or_else(|_| "none".to_owned(), |program| identity::of_file(&program)),
        );
    build.cache.root().join("kvm").join(key.hash())
}
