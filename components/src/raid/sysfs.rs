//! An array of md, assembled and stopped through sysfs (Documentation/admin-guide/md.rst).
//!
//! mdadm refuses to assemble a second array with the UUID of one that runs, and the array of a
//! crash disk stands beside the live one. The kernel itself does not compare UUIDs of arrays.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use explode_runtime::base::{Blame, StepError};

use crate::tool::Tool;

/// The file that makes an array without members when a name is written to it.
const NEW_ARRAY: &str = "/sys/module/md_mod/parameters/new_array";
/// The file that allows md to start an array that lacks a member and was not clean, as
/// `mdadm --assemble --force` does.
const START_DIRTY_DEGRADED: &str = "/sys/module/md_mod/parameters/start_dirty_degraded";
/// The superblocks that [`super::md`] makes: version 1.2, at byte 4096 of each member.
const METADATA: &str = "1.2";
/// The most bytes of a name (`DISK_NAME_LEN` of include/linux/blkdev.h, with its zero).
const LONGEST_NAME: usize = 31;
/// The time between two looks at an array that works in the background.
const PAUSE: Duration = Duration::from_millis(1);

/// Sets whether arrays may start that lack a member and were not clean. The kernel keeps this for
/// all arrays, so it is set before each start.
///
/// # Errors
/// The kernel has no md.
fn start_dirty_degraded(is_allowed: bool) -> Result<(), StepError> {
    fs::write(START_DIRTY_DEGRADED, if is_allowed { "1" } else { "0" }).map_err(|error| {
        StepError::new(format!("{START_DIRTY_DEGRADED}: {error}")).blame(Blame::Tool)
    })
}

/// An array that is assembled.
#[derive(Debug)]
pub(super) struct AssembledArray {
    /// The folder of its attributes.
    folder: PathBuf,
    /// The block device.
    node: PathBuf,
}

/// The manner in which an array starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// True for a start even if the array was not clean and md leaves out a member.
    pub is_forced: bool,
    /// True if a resync or a recovery begins and does not go on.
    pub is_resync_held: bool,
}

impl AssembledArray {
    /// Assembles an array of these members and starts it. A member whose superblock cannot be read
    /// is left out, and its number is added to `absent`. Such an array starts even if it was not
    /// clean.
    ///
    /// # Errors
    /// md refuses all members or the array. Nothing is left.
    pub fn assemble(
        name: &str,
        members: &[PathBuf],
        start: Start,
        absent: &mut Vec<usize>,
    ) -> Result<AssembledArray, StepError> {
        if name.len() > LONGEST_NAME {
            let text = format!(
                "'{name}' is too long for the name of an array; give its layer a shorter name"
            );
            return Err(StepError::new(text).blame(Blame::Tool));
        }
        fs::write(NEW_ARRAY, name).map_err(|error| {
            StepError::new(format!("md cannot make the array {name}: {error}")).blame(Blame::Tool)
        })?;
        let array = AssembledArray::named(name);
        match array.start(members, start, absent) {
            Ok(()) => Ok(array),
            Err(fault) => {
                // It is removed even if nothing of it has started.
                array.stop().ok();
                Err(fault)
            }
        }
    }

    /// Returns the array of this name, which exists.
    pub fn named(name: &str) -> AssembledArray {
        AssembledArray {
            folder: Path::new("/sys/block").join(name).join("md"),
            node: Path::new("/dev").join(name),
        }
    }

    fn start(
        &self,
        members: &[PathBuf],
        Start { is_forced, is_resync_held }: Start,
        absent: &mut Vec<usize>,
    ) -> Result<(), StepError> {
        self.set("metadata_version", METADATA)?;
        let mut refused = None;
        for (at, member) in members.iter().enumerate() {
            let device = fs::metadata(member).map_err(|error| {
                StepError::new(format!("{}: {error}", member.display())).blame(Blame::Tool)
            })?;
            let number = device.rdev();
            let text = format!("{}:{}", libc::major(number), libc::minor(number));
            if let Err(fault) = self.set("new_dev", &text) {
                absent.push(at);
                refused.get_or_insert(fault.of(&member.display().to_string()));
            }
        }
        match refused {
            Some(first) if absent.len() == members.len() => return Err(first),
            // mdadm goes on without a member whose superblock cannot be read.
            _ => start_dirty_degraded(is_forced || !absent.is_empty())?,
        }
        if is_resync_held {
            // A read-only array runs and begins no resync.
            self.set("array_state", "readonly")?;
            self.set("sync_max", "0")?;
        }
        self.set("array_state", "active")?;
        // Otherwise a timer would write superblocks.
        self.set("safe_mode_delay", "0")
    }

    /// Adds the members that md has left out because their contents are old, as an administrator
    /// does, and waits until they are rebuilt. Then `most` of the others fail, so that what was
    /// rebuilt is read. `absent` has the numbers of the members that cannot be read.
    ///
    /// # Errors
    /// mdadm or md refuses a member.
    pub fn replace_others(
        &self,
        members: &[PathBuf],
        absent: &[usize],
        most: usize,
    ) -> Result<(), StepError> {
        let is_left_out = |member: &PathBuf| !self.attribute_of(member, "state").exists();
        let readable = members.iter().enumerate().filter(|(at, _)| !absent.contains(at));
        let (added, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
            readable.map(|(_, member)| member).partition(|member| is_left_out(member));
        if added.is_empty() {
            return Ok(());
        }
        self.set("sync_max", "max")?;
        for member in &added {
            let tool = Tool::new("mdadm", format!("--manage {} --add", self.node.display()));
            tool.must(member)?;
        }
        self.wait_for_resync()?;
        for member in others.into_iter().take(most) {
            fs::write(self.attribute_of(member, "state"), "faulty")
                .map_err(|error| self.fault("state = faulty of a member", &error))?;
        }
        Ok(())
    }

    /// Returns the path of an attribute of a member. It exists while the array has the member.
    fn attribute_of(&self, member: &Path, attribute: &str) -> PathBuf {
        let name = member.file_name().unwrap_or_default().to_string_lossy();
        self.folder.join(format!("dev-{name}")).join(attribute)
    }

    /// Returns the block device.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Stops the timer that clears bits of the bitmap. It would write by itself.
    ///
    /// # Errors
    /// The array has no bitmap.
    pub fn keep_bitmap(&self) -> Result<(), StepError> {
        self.set("bitmap/time_base", "86400")
    }

    /// Waits until no resync and no recovery is going on.
    ///
    /// # Errors
    /// The array is gone.
    pub fn wait_for_resync(&self) -> Result<(), StepError> {
        while self.get("sync_action")? != "idle" {
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Stops the array and removes it. Its superblocks are written.
    ///
    /// # Errors
    /// The array is in use.
    pub fn stop(&self) -> Result<(), StepError> {
        self.set("array_state", "clear")
    }

    /// Sets an attribute.
    fn set(&self, attribute: &str, value: &str) -> Result<(), StepError> {
        fs::write(self.folder.join(attribute), value)
            .map_err(|error| self.fault(&format!("{attribute} = {value}"), &error))
    }

    fn get(&self, attribute: &str) -> Result<String, StepError> {
        let value = fs::read_to_string(self.folder.join(attribute));
        value.map(|value| value.trim().to_owned()).map_err(|error| self.fault(attribute, &error))
    }

    fn fault(&self, attribute: &str, error: &io::Error) -> StepError {
        let name = self.node.file_name().unwrap_or_default().to_string_lossy();
        StepError::new(format!("md refuses {attribute} of {name}: {error}"))
    }
}
