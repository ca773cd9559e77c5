//! Lets the guest's kernel warn and hang, on the mounted ext2 of the live stack.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use nix::unistd::sync;

const MOUNT: &str = "/run/explode/live/ext2";

// include/uapi/linux/fs.h: FIFREEZE
nix::ioctl_readwrite!(fifreeze, b'X', 119, i32);

/// Removes a folder whose inode on disk has one link in place of two. The kernel decrements the
/// number to -1 and warns.
pub fn warn() {
    let folder = format!("{MOUNT}/folder");
    fs::create_dir(&folder).expect("there is room");
    let inode = fs::metadata(&folder).expect("it is there").ino();
    sync();
    let mounts = fs::read_to_string("/proc/mounts").expect("proc is mounted");
    let device = mounts.lines().find(|line| line.contains(MOUNT)).expect("it is mounted");
    let device = device.split(' ').next().expect("the first word is the device");
    let device = File::options().read(true).write(true).open(device).expect("root may");
    let number = |at: u64, bytes: usize| {
        let mut word = [0; 8];
        device.read_exact_at(&mut word[..bytes], at).expect("it is on the disk");
        u64::from_le_bytes(word)
    };
    // Documentation/filesystems/ext4: super block, group descriptors, inodes. Those of ext2 are the
    // same.
    let (block_bytes, first_block) = (1024 << number(1024 + 24, 4), number(1024 + 20, 4));
    let (inodes_per_group, inode_bytes) = (number(1024 + 40, 4), number(1024 + 88, 2));
    let (group, index) = ((inode - 1) / inodes_per_group, (inode - 1) % inodes_per_group);
    let table = number((first_block + 1) * block_bytes + group * 32 + 8, 4);
    let links = table * block_bytes + index * inode_bytes + 26;
    assert_eq!(number(links, 2), 2, "a new folder has two links");
    device.write_all_at(&1_u16.to_le_bytes(), links).expect("there is room");
    // Dropping the caches makes the kernel read the inode again. Recently used entries survive the
    // first times.
    for _ in 0..5 {
        fs::write("/proc/sys/vm/drop_caches", "3").expect("root may");
    }
    assert_eq!(fs::metadata(&folder).expect("it is there").nlink(), 1);
    fs::remove_dir(&folder).expect("it is empty");
}

/// Freezes the file system and writes to it.
pub fn freeze() {
    let folder = File::open(MOUNT).expect("it is mounted");
    let mut nothing = 0;
    // SAFETY: an ioctl on an open file that neither reads nor writes its argument.
    unsafe { fifreeze(folder.as_raw_fd(), &raw mut nothing) }.expect("root may");
    fs::write(format!("{MOUNT}/file"), "never written").expect("it does not return");
}
