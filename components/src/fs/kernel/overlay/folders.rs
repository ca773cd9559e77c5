//! The folders of overlay on the file system below.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use explode_runtime::base::StepError;
use explode_runtime::stack::Below;

use super::lower;

/// The folders, named like the mount options that they are for.
const FOLDERS: [&str; 3] = ["lowerdir", "upperdir", "workdir"];

/// Returns the directory in which the folders are.
pub(super) fn base<'b>(below: &'b Below<'_>) -> Result<&'b Path, StepError> {
    let path = below.paths.first().and_then(|paths| paths.path.as_deref());
    path.ok_or_else(|| StepError::new("needs a mounted file system below it, and has none"))
}

/// Makes the folders. The lower one has files in it if `filled` is set.
pub(super) fn make(base: &Path, filled: bool) -> io::Result<()> {
    FOLDERS.into_iter().try_for_each(|folder| fs::create_dir(base.join(folder)))?;
    if filled { lower::fill(&base.join(FOLDERS[0])) } else { Ok(()) }
}

/// Returns the options of the mount.
pub(super) fn options(base: &Path) -> String {
    FOLDERS.map(|folder| format!("{folder}={}", base.join(folder).display())).join(",")
}

/// Overwrites the names that a mount leaves in the block of the work folder. A mount tries there
/// what its file system supports, with files named by a counter that continues from mount to mount
/// (`ovl_lookup_temp` in fs/overlayfs/dir.c). The removed names stay in the directory's block and
/// would differ each time, so a longer name is made and removed in their place. The name of the
/// first whiteout stays, because the other whiteouts are links of it (`ovl_whiteout`). If a mutate
/// removes something of the lower folder, events therefore differ between runs.
pub(super) fn write_over_names(base: &Path) {
    let path = base.join("workdir/work").join("over".repeat(16));
    // If the folder does not exist, overlay has mounted itself read-only and has left no names.
    File::create(&path).and_then(|_| fs::remove_file(&path)).ok();
}
