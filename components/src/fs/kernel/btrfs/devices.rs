//! Several devices of one btrfs.
//!
//! The kernel knows a file system of several devices by its UUID (fsid), and refuses a second one
//! with the same. `temp_fsid` is for one device only. So the file system has two UUIDs: one in its
//! blocks, which never changes (`METADATA_UUID`, `btrfstune -m`), and one in the superblocks, which
//! a crash stack changes before it mounts. Both are only names: the contents are the same.

use std::ffi::c_char;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use explode_runtime::devices::Side;

/// The UUID in the blocks, as mkfs.btrfs takes it.
pub(super) const UUID: &str = "12345678-1234-1234-1234-123456789abc";
/// The UUID in the superblocks of the live file system, and in those of crash stacks.
const LIVE: [u8; 16] = *b"explode live one";
const CRASH: [u8; 16] = *b"explode crashed!";

/// The first superblock (`struct btrfs_super_block` of the kernel's uapi/linux/btrfs_tree.h): its
/// place on the device, its length, and the places of its fields. The kernel mounts by this one.
const PLACE: u64 = 65536;
const LENGTH: usize = 4096;
const FSID: usize = 32;
const MAGIC: usize = 64;
const INCOMPATIBLE: usize = 188;
const CHECKSUM_TYPE: usize = 196;
const METADATA_UUID: usize = 571;
/// The bit of `INCOMPATIBLE` for a file system with two UUIDs.
const HAS_METADATA_UUID: u64 = 1 << 10;

nix::ioctl_write_ptr!(scan_device, 0x94, 4, VolumeArguments);
nix::ioctl_write_ptr!(forget_device, 0x94, 5, VolumeArguments);

/// `struct btrfs_ioctl_vol_args` of the kernel's uapi/linux/btrfs.h.
#[repr(C)]
pub struct VolumeArguments {
    fd: i64,
    name: [c_char; 4088],
}

/// Gives a new file system its second UUID.
///
/// # Errors
/// A device cannot be read or written, or has no valid superblock.
pub(super) fn give_second_uuid(nodes: &[PathBuf]) -> io::Result<()> {
    for node in nodes {
        let changed = change_superblock(node, |superblock| {
            superblock.copy_within(FSID..FSID + 16, METADATA_UUID);
            superblock[FSID..FSID + 16].copy_from_slice(&LIVE);
            let flags = &mut superblock[INCOMPATIBLE..INCOMPATIBLE + 8];
            let set = u64::from_le_bytes(flags.try_into().expect("8 bytes")) | HAS_METADATA_UUID;
            flags.copy_from_slice(&set.to_le_bytes());
        })?;
        if !changed {
            let text = format!("{}: mkfs.btrfs has made no superblock", node.display());
            return Err(io::Error::other(text));
        }
    }
    forget(nodes);
    Ok(())
}

/// Makes the devices known to the kernel, on a crash stack under another UUID than that of the live
/// file system. Returns the first device that has a file system.
///
/// # Errors
/// None of the devices has one.
pub(super) fn make_known(nodes: &[PathBuf], side: Side) -> io::Result<PathBuf> {
    let control = control()?;
    let mut first = None;
    let mut failed = io::Error::other("there is no device");
    for node in nodes {
        if side == Side::Crash {
            // A device that cannot be read or written is one that is missing.
            change_superblock(node, |superblock| {
                superblock[FSID..FSID + 16].copy_from_slice(&CRASH);
            })
            .ok();
        }
        let arguments = arguments(node)?;
        // SAFETY: the arguments are those of the request, and the kernel only reads them.
        match unsafe { scan_device(control.as_raw_fd(), &raw const arguments) } {
            Ok(_) => _ = first.get_or_insert_with(|| node.clone()),
            Err(errno) => failed = errno.into(),
        }
    }
    first.ok_or(failed)
}

/// Makes the kernel forget unmounted devices. Otherwise it refuses a device that comes back with
/// older contents, as those of the next crash disk may be.
pub(super) fn forget(nodes: &[PathBuf]) {
    let Ok(control) = control() else { return };
    for arguments in nodes.iter().filter_map(|node| arguments(node).ok()) {
        // SAFETY: as above. A device that is not known needs nothing.
        unsafe { forget_device(control.as_raw_fd(), &raw const arguments) }.ok();
    }
}

fn control() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/btrfs-control")?.into())
}

fn arguments(node: &Path) -> io::Result<VolumeArguments> {
    let bytes = node.as_os_str().as_bytes();
    let mut arguments = VolumeArguments { fd: 0, name: [0; 4088] };
    if bytes.len() >= arguments.name.len() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    for (to, from) in arguments.name.iter_mut().zip(bytes) {
        *to = *from as c_char;
    }
    Ok(arguments)
}

/// Changes a superblock that is valid, and its checksum. Returns false for one that is not, as a
/// crash may leave it.
fn change_superblock(node: &Path, change: impl FnOnce(&mut [u8])) -> io::Result<bool> {
    let device = File::options().read(true).write(true).open(node)?;
    let mut superblock = vec![0; LENGTH];
    device.read_exact_at(&mut superblock, PLACE)?;
    let checksum = |superblock: &[u8]| crc32c::crc32c(&superblock[FSID..]).to_le_bytes();
    let is_valid = superblock[MAGIC..MAGIC + 8] == *b"_BHRfS_M"
        && superblock[CHECKSUM_TYPE..CHECKSUM_TYPE + 2] == [0, 0]
        && superblock[..4] == checksum(&superblock);
    if is_valid {
        change(&mut superblock);
        let sum = checksum(&superblock);
        superblock[..4].copy_from_slice(&sum);
        device.write_all_at(&superblock, PLACE)?;
        device.sync_data()?;
    }
    Ok(is_valid)
}
