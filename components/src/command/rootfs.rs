//! The root file system in which the commands of a guest run, if its stack file names one. The
//! guest has it in a folder; commands see it as `/`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::unistd::{chdir, chroot};

/// The guest's folder with the root file system.
const ROOTFS: &str = "/rootfs";
/// The folders of the guest that commands also see: devices, settings of the kernel, mount points,
/// and the programs that come with the agent.
const SHOWN: [&str; 6] = ["dev", "proc", "sys", "run", "tmp", "agent"];

/// Shows the guest's own folders in the root file system, with everything that is mounted in them
/// now or later, on either side. Does nothing without a root file system.
///
/// # Errors
/// The kernel refuses a mount.
pub fn show_in_rootfs() -> io::Result<()> {
    if !has_rootfs() {
        return Ok(());
    }
    let none = None::<&Path>;
    mount(none, "/", none, MsFlags::MS_SHARED | MsFlags::MS_REC, none)?;
    for folder in SHOWN {
        let (from, to) = (Path::new("/").join(folder), Path::new(ROOTFS).join(folder));
        mount(Some(&from), &to, none, MsFlags::MS_BIND | MsFlags::MS_REC, none)?;
    }
    Ok(())
}

/// Makes a command run in the root file system, if the guest has one.
pub(super) fn run_in_rootfs(command: &mut Command) {
    if !has_rootfs() {
        return;
    }
    let enter = || {
        chroot(ROOTFS)?;
        chdir("/")?;
        Ok(())
    };
    // SAFETY: the function makes two system calls, with paths that need no memory of the heap.
    unsafe { command.pre_exec(enter) };
}

/// Returns true in a guest with a root file system.
fn has_rootfs() -> bool {
    std::process::id() == 1 && Path::new(ROOTFS).is_dir()
}
