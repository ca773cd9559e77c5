//! Cleanup after runs on the machine's own kernel (`--in here`). RAM disks live in the kernel and
//! outlive the process that made them.
//!
//! Mounts need no list, because they are in the mount namespace of a worker and end with it. The
//! disks are listed in a file. It belongs to the process that uses EKM, which serves one process at
//! a time. A disk is identified by its number and the inode of its node, which no later disk of
//! that number has.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use explode_ekm_abi::user;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use super::ekm::Ekm;
use super::rdd::open_control;
use explode_runtime::base::durable_write;

/// The list of disks. It is removed at a reboot, like the disks.
const LIST: &str = "/run/explode/disks";

/// The number of attempts to remove a disk, with a pause after each. A disk stays busy until the
/// kernel has removed the mounts of a process that has ended, which happens later.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// The disks that were made and still exist: the inodes of their nodes by number.
#[derive(Debug)]
pub(crate) struct Leftovers {
    list: PathBuf,
    disks: BTreeMap<u32, u64>,
}

impl Leftovers {
    /// Reads the list.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn read() -> io::Result<Leftovers> {
        Leftovers::of(Path::new(LIST))
    }

    fn of(list: &Path) -> io::Result<Leftovers> {
        let text = match fs::read_to_string(list) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let disk = |line: &str| {
            let (number, inode) = line.split_once(' ')?;
            Some((number.parse().ok()?, inode.parse().ok()?))
        };
        Ok(Leftovers { list: list.to_owned(), disks: text.lines().filter_map(disk).collect() })
    }

    /// Adds a disk to the list.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn add(&mut self, number: u32) -> io::Result<()> {
        self.disks.insert(number, fs::metadata(node(number))?.ino());
        self.write()
    }

    /// Removes a disk from the list.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn forget(&mut self, number: u32) -> io::Result<()> {
        self.disks.remove(&number);
        self.write()
    }

    /// Removes all listed disks from the kernel and from the list. Disks that a process has open
    /// stay in both.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn remove(&mut self, control: &File) -> io::Result<()> {
        if self.disks.is_empty() {
            return Ok(());
        }
        self.disks.retain(|number, inode| {
            let same = fs::metadata(node(*number)).is_ok_and(|found| found.ino() == *inode);
            same && !is_removed(control, *number)
        });
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let lines: String =
            self.disks.iter().map(|(number, inode)| format!("{number} {inode}\n")).collect();
        if let Some(folder) = self.list.parent() {
            fs::create_dir_all(folder)?;
        }
        durable_write(&self.list, lines.as_bytes())
    }
}

fn node(number: u32) -> String {
    format!("/dev/rdd{number}")
}

fn is_removed(control: &File, number: u32) -> bool {
    for _ in 0..TRIES {
        match user::remove(control.as_fd(), number) {
            Err(Errno::EBUSY) => thread::sleep(PAUSE),
            other => return other.is_ok(),
        }
    }
    false
}

/// Removes what earlier runs have left in this machine's kernel, unless a run is in progress. Does
/// nothing on a machine without the modules.
pub fn remove_left() {
    // The process that has EKM open owns the list.
    if let (Ok(control), Ok(_ekm)) = (open_control(), Ekm::open()) {
        // The next run tries again to remove what stays.
        Leftovers::read().and_then(|mut left| left.remove(&control)).ok();
    }
}

/// Makes later mounts of the calling thread visible only to it and to the processes that it starts.
/// They end with those.
///
/// # Errors
/// The process is not root.
pub(crate) fn mount_apart() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    Ok(mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_disks_that_were_added_and_not_forgotten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let list = folder.path().join("explode/disks");
        let mut left = Leftovers::of(&list).expect("there is none");
        left.disks = BTreeMap::from([(0, 7), (3, 9)]);
        left.write().expect("the folder is ours");
        left.forget(0).expect("the folder is ours");
        assert_eq!(Leftovers::of(&list).expect("it was written").disks, BTreeMap::from([(3, 9)]));
    }

    #[test]
    fn a_disk_that_was_replaced_is_not_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut left = Leftovers::of(&folder.path().join("disks")).expect("there is none");
        left.disks.insert(u32::MAX, 1);
        // The file cannot remove disks. No disk has this number and inode, so no call is made.
        left.remove(&File::open("/dev/null").expect("it is there")).expect("the folder is ours");
        assert!(left.disks.is_empty());
    }
}
