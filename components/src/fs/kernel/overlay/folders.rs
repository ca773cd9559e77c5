//! The folders that overlay is made of, on the file system below.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use explode_runtime::base::StepError;
use explode_runtime::stack::Below;

use super::lower;

/// By the names of their options of the mount.
const FOLDERS: [&str; 3] = ["lowerdir", "upperdir", "workdir"];

/// Where the folders are.
pub(super) fn base<'b>(below: &'b Below<'_>) -> Result<&'b Path, StepError> {
    let path = below.paths.first().and_then(|paths| paths.path.as_deref());
    path.ok_or_else(|| StepError::new("needs a mounted file system below it, and has none"))
}

/// Makes them; the lower one with files in it, or empty.
pub(super) fn make(base: &Path, filled: bool) -> io::Result<()> {
    FOLDERS.into_iter().try_for_each(|folder| fs::create_dir(base.join(folder)))?;
    if filled { lower::fill(&base.join(FOLDERS[0])) } else { Ok(()) }
}

/// The options of the mount.
pub(super) fn options(base: &Path) -> String {
    FOLDERS.map(|folder| format!("{folder}={}", base.join(folder).display())).join(",")
}

/// A mount tries in the work folder what its file system can do, with files that are named by a
/// counter which goes on from mount to mount (`ovl_lookup_temp` in fs/overlayfs/dir.c). Their names
/// stay behind in the block of the directory, and would be others each time: a longer one that is
/// made and removed takes their place. One that stays is that of the first whiteout, which the
/// others are links of (`ovl_whiteout`): where something of the lower folder is taken away, events
/// differ from one time to the next.
pub(super) fn write_over_names(base: &Path) {
    let path = base.join("workdir/work").join("over".repeat(16));
    // Where the folder is not there, overlay has mounted itself read-only, and has left no names.
    File::create(&path).and_then(|_| fs::remove_file(&path)).ok();
}
