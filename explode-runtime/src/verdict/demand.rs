//! The demands of a check on a file system, in a form that a shell can test.

use serde::{Deserialize, Serialize};

/// A condition that must hold after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellDemand {
    /// A directory is at the path.
    Directory(String),
    /// The path is free.
    Nothing(String),
    /// A file is at the path, and it has one of these contents.
    File(String, Vec<FileContents>),
    /// The path is free, or a file with one of these contents is there.
    Perhaps(String, Vec<FileContents>),
    /// A symbolic link with this target is at the path.
    Symlink(String, String),
    /// The file at the path has this mode.
    Mode(String, u32),
    /// The file at the path has these extended attributes, by name, and no other user attributes.
    Xattrs(String, Vec<(String, Vec<u8>)>),
    /// All names, statuses, contents and targets can be read, and the extended attributes of files
    /// and directories if `attributes` is true.
    Readable {
        /// True if attributes are read.
        attributes: bool,
    },
    /// One of these holds at least.
    Any(Vec<ShellDemand>),
    /// A shell command ends with 0. Its environment has the epoch, the arguments and the completed
    /// alternatives.
    Command {
        /// The command, with `$mnt` and `$dev` in place of the file system and its device.
        text: String,
        /// The environment, as names and values.
        environment: Vec<(String, String)>,
        /// The alternatives that were completed, one on each line.
        done: String,
    },
}

/// The contents that a file must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileContents {
    /// The smallest size of the file, in bytes.
    pub least: u64,
    /// The largest size of the file, in bytes. `None` if it has no limit.
    pub most: Option<u64>,
    /// The parts of the file, each with its offset and its bytes.
    pub parts: Vec<(u64, Vec<u8>)>,
}

impl FileContents {
    /// Returns the contents that are exactly these bytes.
    pub fn exactly(bytes: &[u8]) -> FileContents {
        let size = bytes.len() as u64;
        FileContents { least: size, most: Some(size), parts: vec![(0, bytes.to_vec())] }
    }
}
