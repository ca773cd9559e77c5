//! Files that are not plain: FIFOs, devices, sockets, and files of other users.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Uid, mkfifo};

use super::unsupported::unsupported;

/// A user and a group that no other file of a test has.
pub const OTHER: u32 = 12_345;

/// The numbers of character devices that every Linux has.
pub const NULL: (u64, u64) = (1, 3);
pub const FULL: (u64, u64) = (1, 7);
/// A loop device that is not set up. Tests only look at it.
pub const BLOCK: (u64, u64) = (7, 200);

/// Makes a FIFO.
pub fn fifo(path: &Path) {
    mkfifo(path, Mode::from_bits_truncate(0o644)).unwrap();
}

/// Makes the node of a character device. Returns false and prints a message if this process may not
/// make it, or the node cannot be used.
pub fn character_device(path: &Path, number: (u64, u64)) -> bool {
    // On a file system that is mounted with nodev no node can be opened.
    device(path, SFlag::S_IFCHR, number) && {
        let opened = fs::File::options().write(true).open(path);
        if let Err(error) = &opened {
            unsupported(&format!("a device node in {}: {error}", path.display()));
        }
        opened.is_ok()
    }
}

/// Returns the path of a device without space, which a test may name as an output file. Root gets a
/// node in this folder, so that a mistake cannot change the machine's device.
pub fn full(folder: &Path) -> Option<PathBuf> {
    if !Uid::effective().is_root() {
        return Some("/dev/full".into());
    }
    let path = folder.join("full");
    character_device(&path, FULL).then_some(path)
}

/// Makes the node of a block device. Returns false and prints a message if this process may not
/// make it.
pub fn block_device(path: &Path) -> bool {
    device(path, SFlag::S_IFBLK, BLOCK)
}

fn device(path: &Path, kind: SFlag, (major, minor): (u64, u64)) -> bool {
    let made = mknod(path, kind, Mode::from_bits_truncate(0o666), makedev(major, minor));
    if let Err(error) = &made {
        unsupported(&format!("making a device node: {error}"));
    }
    made.is_ok()
}

/// Returns true if this process is root, and prints `unsupported: ...` if it is not.
pub fn is_root(what: &str) -> bool {
    let is_root = Uid::effective().is_root();
    if !is_root {
        unsupported(&format!("{what}: needs root"));
    }
    is_root
}

/// Returns the file type of a path, and the number of a device. Does not follow links.
pub fn kind(path: &Path) -> (&'static str, u64) {
    let found = fs::symlink_metadata(path).unwrap();
    let kind = found.file_type();
    let name = match kind {
        kind if kind.is_fifo() => "fifo",
        kind if kind.is_socket() => "socket",
        kind if kind.is_char_device() => "character device",
        kind if kind.is_block_device() => "block device",
        kind if kind.is_symlink() => "link",
        kind if kind.is_dir() => "folder",
        _ => "file",
    };
    (name, found.rdev())
}
