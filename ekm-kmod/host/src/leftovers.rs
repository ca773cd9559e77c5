//! What runs on the machine's own kernel (`--in here`) have made of it, so that nothing of it is
//! left there: RAM disks live in the kernel and outlive the process that made them.
//!
//! Mounts need no list: a worker's are in a mount namespace of its own, and go with it. The disks
//! are listed in a file. The process that uses EKM has the file: EKM serves one at a time. A
//! disk is known by its number and by its node's inode, which no later disk of that number has.

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

/// Gone at a reboot, as the disks are.
const LIST: &str = "/run/explode/disks";

/// A disk is busy until the kernel has taken down the mounts of a process that has ended, which it
/// does afterwards: so often it is asked, with such a pause.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// The disks that were made and are still there: inodes of their nodes, by number.
#[derive(Debug)]
pub(crate) struct Leftovers {
    list: PathBuf,
    disks: BTreeMap<u32, u64>,
}

impl Leftovers {
    /// What is listed.
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

    /// Puts a disk on the list.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn add(&mut self, number: u32) -> io::Result<()> {
        self.disks.insert(number, fs::metadata(node(number))?.ino());
        self.write()
    }

    /// Takes it from the list.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn forget(&mut self, number: u32) -> io::Result<()> {
        self.disks.remove(&number);
        self.write()
    }

    /// Takes all that are listed out of the kernel, and from the list; those that a process keeps
    /// open stay in both.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn remove(&mut self, control: &File) -> io::Result<()> {
        if self.disks.is_empty() {
            return Ok(());
        }
        self.disks.retain(|number, inode| {
            let same = fs::metadata(node(*number)).is_ok_and(|there| there.ino() == *inode);
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

/// Takes out of this machine's kernel what runs on it have left there, unless one goes on. Of a
/// machine without the modules nothing is wanted.
pub fn remove_left() {
    // The process that has EKM has the list.
    if let (Ok(control), Ok(_ekm)) = (open_control(), Ekm::open()) {
        // What stays is tried again by the next run.
        Leftovers::read().and_then(|mut left| left.remove(&control)).ok();
    }
}

/// What the calling thread mounts from now on is seen by it and by what it starts alone, and goes
/// when they have ended.
///
/// # Errors
/// Not root.
pub(crate) fn mount_apart() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    Ok(mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_says_what_was_added_and_not_forgotten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let list = folder.path().join("explode/disks");
        let mut left = Leftovers::of(&list).expect("there is none");
        left.disks = BTreeMap::from([(0, 7), (3, 9)]);
        left.write().expect("the folder is ours");
        left.forget(0).expect("the folder is ours");
        assert_eq!(Leftovers::of(&list).expect("it was written").disks, BTreeMap::from([(3, 9)]));
    }

    #[test]
    fn a_disk_that_is_another_one_is_not_touched() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut left = Leftovers::of(&folder.path().join("disks")).expect("there is none");
        left.disks.insert(u32::MAX, 1);
        // Nothing that could remove a disk: there is none of that number and inode, so the
        // kernel is not asked.
        left.remove(&File::open("/dev/null").expect("it is there")).expect("the folder is ours");
        assert!(left.disks.is_empty());
    }
}
