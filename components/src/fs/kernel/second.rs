//! The second device below a file system, for example for its journal.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use explode_runtime::base::{Blame, StepError};
use explode_runtime::stack::Below;

use crate::tool::Tool;

/// The use of a second device. Each text is followed by its path.
#[derive(Clone)]
pub(super) struct SecondDevice {
    /// The program that prepares the device before the file system is made. `None` if nothing does.
    pub prepare: Option<Tool>,
    /// The argument of the program that makes the file system.
    pub of_make: &'static str,
    /// The argument of the programs that repair and check it. `None` if they find it themselves.
    pub of_check: Option<&'static str>,
    /// The option of the mount. `None` if the kernel finds it itself.
    pub of_mount: Option<&'static str>,
    /// True if the file system stores the device's path and finds it by that.
    pub is_stored: bool,
}

/// The second device of a mounted or unmounted file system.
pub(super) struct SecondNode<'a> {
    pub device: &'a SecondDevice,
    /// The path for programs and the kernel.
    pub path: PathBuf,
    /// The symbolic link that is the path, if the path is stored. It is the same for the live file
    /// system and for that of a crash disk, and leads to the node of one of them.
    link: Option<StoredLink>,
}

impl<'a> SecondNode<'a> {
    /// Returns the second child's node.
    ///
    /// # Errors
    /// The child is no block device, or the link cannot be made.
    pub fn of(device: &'a SecondDevice, below: &Below<'_>) -> Result<SecondNode<'a>, StepError> {
        let node = below.block(1)?;
        if !device.is_stored {
            return Ok(SecondNode { device, path: node, link: None });
        }
        let layer = below.place.file_name().unwrap_or_default().to_string_lossy();
        let path = PathBuf::from(format!("/dev/explode-second-{layer}"));
        let link = StoredLink::new(&path, &node).map_err(|error| {
            StepError::new(format!("cannot make the link {}: {error}", path.display()))
                .blame(Blame::Tool)
        })?;
        Ok(SecondNode { device, path, link: Some(link) })
    }

    /// Returns an argument with the path.
    pub fn argument(&self, text: &str) -> String {
        assert!(self.link.is_some() == self.device.is_stored);
        format!("{text}{}", self.path.display())
    }
}

/// A symbolic link that exists as long as this value.
struct StoredLink(PathBuf);

impl StoredLink {
    fn new(path: &Path, node: &Path) -> io::Result<StoredLink> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => symlink(node, path)?,
        }
        Ok(StoredLink(path.to_owned()))
    }
}

impl Drop for StoredLink {
    fn drop(&mut self) {
        // The next one replaces it.
        fs::remove_file(&self.0).ok();
    }
}
