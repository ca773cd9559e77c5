//! The trees that are compared.

use explode_ramdisk::files::Files;

use crate::fs::model::{Abstract, Groups};
use crate::fs::topology::{FoundTopology, UnreadableTopology};

/// Reads the tree of a file system. Of inodes only the link count is compared.
///
/// # Errors
/// Returns the path that cannot be read, and the reason.
pub fn found(files: &dyn Files) -> Result<FoundTopology, String> {
    let found = FoundTopology::of(files, Groups::NONE);
    found.map(FoundTopology::without_inodes).map_err(|unreadable| match unreadable {
        UnreadableTopology::Directory(..) => format!("the directory {unreadable}"),
        UnreadableTopology::Name(..) | UnreadableTopology::Endless(_) => unreadable.to_string(),
    })
}

/// Returns the tree that a file system like the abstract one has.
pub fn expected(fs: &Abstract) -> FoundTopology {
    FoundTopology::expected(fs, Groups::NONE).without_inodes()
}
