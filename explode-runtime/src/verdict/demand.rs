//! What a check demands of a file system, in words that a shell can test.

use serde::{Deserialize, Serialize};

/// What must be so after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellDemand {
    /// There is a directory.
    Directory(String),
    /// There is nothing.
    Nothing(String),
    /// There is a file, and it holds one of these.
    File(String, Vec<FileContents>),
    /// There is nothing, or a file that holds one of these.
    Perhaps(String, Vec<FileContents>),
    /// There is a symbolic link, and it holds this.
    Symlink(String, String),
    /// What is there has this mode.
    Mode(String, u32),
    /// What is there has these extended attributes, by their names, and no others that users give.
    Xattrs(String, Vec<(String, Vec<u8>)>),
    /// This command of the shell ends with 0; it finds the epoch, the arguments and what was
    /// completed in its environment.
    Command {
        /// With `$mnt` and `$dev` where the file system and its device are.
        text: String,
        /// Names and values.
        environment: Vec<(String, String)>,
        /// The alternatives that were completed, one a line.
        done: String,
    },
}

/// What of a file must be so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileContents {
    /// The smallest size that it may have, in bytes, and the largest if there is one.
    pub least: u64,
    /// The largest.
    pub most: Option<u64>,
    /// Where bytes begin, and which.
    pub parts: Vec<(u64, Vec<u8>)>,
}

impl FileContents {
    /// Exactly these bytes.
    pub fn exactly(bytes: &[u8]) -> FileContents {
        let size = bytes.len() as u64;
        FileContents { least: size, most: Some(size), parts: vec![(0, bytes.to_vec())] }
    }
}
