//! The attributes of a file or directory: its mode and its extended attributes.

use std::collections::BTreeMap;

use explode_ramdisk::files::{Files, Result as FilesResult};
use explode_runtime::verdict::ShellDemand;

use super::groups::{Group, Groups};

/// The attributes of an inode of the abstract file system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// The mode bits, within 07777.
    pub mode: u32,
    /// The values of the extended attributes, by name.
    pub xattrs: BTreeMap<String, Vec<u8>>,
}

/// The attributes that a check compares. `None` for those that none of the available calls changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    pub mode: Option<u32>,
    pub xattrs: Option<BTreeMap<String, Vec<u8>>>,
}

impl Attributes {
    /// Returns the attributes of a new file or directory.
    pub fn new(is_directory: bool) -> Attributes {
        Attributes { mode: if is_directory { 0o755 } else { 0o644 }, xattrs: BTreeMap::new() }
    }

    /// Takes over the attributes of a real node. A mode that was not compared stays as it is.
    /// Extended attributes that were not compared are removed.
    pub fn take(&mut self, seen: Seen) {
        let Seen { mode, xattrs } = seen;
        self.mode = mode.unwrap_or(self.mode);
        self.xattrs = xattrs.unwrap_or_default();
    }

    /// Returns the attributes to compare if these calls are available.
    pub fn seen(&self, calls: Groups) -> Seen {
        Seen {
            mode: calls.has(Group::Chmod).then_some(self.mode),
            xattrs: calls.has(Group::Xattr).then(|| self.xattrs.clone()),
        }
    }
}

impl Seen {
    /// Reads the attributes of a real file or directory that are compared with these calls.
    pub fn of(files: &dyn Files, path: &str, calls: Groups) -> FilesResult<Seen> {
        let mode = calls.has(Group::Chmod).then(|| files.mode(path)).transpose()?;
        let xattrs = calls.has(Group::Xattr).then(|| files.xattrs(path)).transpose()?;
        Ok(Seen { mode, xattrs: xattrs.map(|all| all.into_iter().collect()) })
    }

    /// Reads the attributes of a real file or directory that `other` contains.
    pub fn like(other: &Seen, files: &dyn Files, path: &str) -> FilesResult<Seen> {
        let mode = other.mode.map(|_| files.mode(path)).transpose()?;
        let xattrs = other.xattrs.as_ref().map(|_| files.xattrs(path)).transpose()?;
        Ok(Seen { mode, xattrs: xattrs.map(|all| all.into_iter().collect()) })
    }

    /// Returns the attributes as demands of a shell script.
    pub fn demands(&self, path: &str) -> Vec<ShellDemand> {
        let mode = self.mode.map(|mode| ShellDemand::Mode(path.to_owned(), mode));
        let each = |xattrs: &BTreeMap<String, Vec<u8>>| xattrs.clone().into_iter().collect();
        let xattrs =
            self.xattrs.as_ref().map(|xattrs| ShellDemand::Xattrs(path.to_owned(), each(xattrs)));
        mode.into_iter().chain(xattrs).collect()
    }

    /// Returns the first difference of `found` as a text that follows its path. `None` if there is
    /// no difference.
    pub fn difference(&self, found: &Seen) -> Option<String> {
        if let (Some(wanted), Some(mode)) = (self.mode, found.mode)
            && wanted != mode
        {
            return Some(format!("has mode {mode:o}, not {wanted:o}"));
        }
        let (wanted, found) = (self.xattrs.as_ref()?, found.xattrs.as_ref()?);
        let mut names = wanted.keys().chain(found.keys());
        let name = names.find(|name| wanted.get(*name) != found.get(*name))?;
        Some(match (wanted.get(name), found.get(name)) {
            (None, _) => {
                format!("has the extended attribute {name}, which was removed or never set")
            }
            (_, None) => format!("has no extended attribute {name}"),
            (Some(wanted), Some(found)) => {
                let (is, was) = (found.len(), wanted.len());
                format!("has another value of {name}: {is} bytes, not the {was} that were set")
            }
        })
    }

    /// Returns the attributes as a text that follows another one. Empty if there are none.
    pub fn describe(&self) -> String {
        let mode = self.mode.map_or_else(String::new, |mode| format!(", mode {mode:o}"));
        let xattrs = self.xattrs.iter().flatten().map(|(name, value)| describe_xattr(name, value));
        std::iter::once(mode).chain(xattrs).collect()
    }
}

fn describe_xattr(name: &str, value: &[u8]) -> String {
    format!(", {name} of {} bytes", value.len())
}
