//! What a shell does in place of a component, for scripts that need nothing of ours
//! (`docs/guide/report-a-bug.md`).

use serde::{Deserialize, Serialize};

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellLayer {
    /// A block device of so many bytes.
    Disk(u64),
    /// A file system of the kernel on one.
    FileSystem(ShellFileSystem),
}

/// A file system of the kernel. Programs are written with their arguments, separated by spaces; the
/// device follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellFileSystem {
    /// Its name for mount(8).
    pub driver: String,
    /// The options of the mount, separated by commas.
    pub options: String,
    /// What makes it.
    pub make: String,
    /// What repairs it after a crash, and the exit codes besides 0 with which it has.
    pub repair: Option<(String, Vec<i32>)>,
    /// What must find nothing once it was recovered, mounted and unmounted; and words by which it
    /// says that it has, whatever its exit code.
    pub strict: Option<(String, Option<String>)>,
}
