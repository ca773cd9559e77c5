//! The shell equivalents of components, for scripts that run without explode
//! (`docs/guide/report-a-bug.md`).

use serde::{Deserialize, Serialize};

/// The shell equivalent of one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellLayer {
    /// A block device of this size in bytes.
    Disk(u64),
    /// A file system of the kernel on a block device.
    FileSystem(ShellFileSystem),
}

/// A file system of the kernel. Each program is a text with its arguments, separated by spaces. The
/// device is appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellFileSystem {
    /// The name of the file system for mount(8).
    pub driver: String,
    /// The mount options, separated by commas.
    pub options: String,
    /// The program that makes the file system.
    pub make: String,
    /// The program that repairs the file system after a crash, and its exit codes besides 0 that
    /// mean success.
    pub repair: Option<(String, Vec<i32>)>,
    /// The program that must find no error after recovery, mount and unmount. The second text, in
    /// the program's output, means an error regardless of the exit code.
    pub strict: Option<(String, Option<String>)>,
}

/// Returns the reason why a stack of these layers has no shell equivalent, bottom first.
pub(crate) fn no_shell_form(layers: &[&str]) -> String {
    format!("its stack is {}, and not a file system of the kernel on one disk", layers.join(", "))
}
