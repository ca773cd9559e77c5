//! Memory that a guest shares with the host: a file in memory on the host, the memory of a PCI
//! device in the guest (QEMU's `ivshmem-plain`). A store of one side costs the other nothing. A
//! message on the agent's port costs the guest an interrupt.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::memory::MemoryFile;
use crate::base::{ErrorContext, Result};

/// The folder of the PCI devices in the guest.
const DEVICES: &str = "/sys/bus/pci/devices";
/// The vendor and the device number of `ivshmem-plain` (QEMU, docs/specs/ivshmem-spec.txt).
const NUMBERS: [(&str, &str); 2] = [("vendor", "0x1af4"), ("device", "0x1110")];
/// The file of the device's memory, its second base address.
const MEMORY: &str = "resource2";

/// Makes a file of this size and gives it to QEMU as the memory of a device.
pub(super) fn add(qemu: &mut Command, bytes: u64) -> Result<MemoryFile> {
    let memory = MemoryFile::new("explode-shared").doing("make a file in memory")?;
    memory.writer().set_len(bytes).doing("size the memory shared with the guest")?;
    memory.give(qemu);
    let path = memory.path();
    qemu.args([
        "-object",
        &format!("memory-backend-file,id=shared,share=on,mem-path={path},size={bytes}"),
    ])
    // Its contents are part of a snapshot.
    .args(["-device", "ivshmem-plain,memdev=shared,master=on"]);
    Ok(memory)
}

/// Opens the memory that this guest shares with its host. Called in the guest.
///
/// # Errors
/// There is no such memory, or it cannot be opened.
pub fn open_shared() -> io::Result<File> {
    let device = device(Path::new(DEVICES))?.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "the guest has no memory shared with the host")
    })?;
    // The firmware has done this, unless it is one that leaves devices to the system.
    fs::write(device.join("enable"), "1")?;
    File::options().read(true).write(true).open(device.join(MEMORY))
}

/// Returns the folder of the device whose memory is shared.
fn device(devices: &Path) -> io::Result<Option<PathBuf>> {
    for device in fs::read_dir(devices)? {
        let device = device?.path();
        let has = |(name, number): (&str, &str)| {
            fs::read_to_string(device.join(name)).is_ok_and(|text| text.trim() == number)
        };
        if NUMBERS.into_iter().all(has) {
            return Ok(Some(device));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_found_by_its_numbers() {
        let devices = tempfile::tempdir().expect("a temporary folder");
        let add = |name: &str, vendor: &str, number: &str| {
            let folder = devices.path().join(name);
            fs::create_dir(&folder).expect("a new folder");
            fs::write(folder.join("vendor"), vendor).expect("a new file");
            fs::write(folder.join("device"), number).expect("a new file");
            folder
        };
        add("0000:00:00.0", "0x8086\n", "0x1237\n");
        add("0000:00:02.0", "0x1af4\n", "0x1003\n");
        assert_eq!(device(devices.path()).expect("a folder"), None);
        let shared = add("0000:00:03.0", "0x1af4\n", "0x1110\n");
        assert_eq!(device(devices.path()).expect("a folder"), Some(shared));
    }
}
