//! What a real file system says of itself, beside the abstract one.

use std::collections::BTreeMap;

use explode_ramdisk::files::{Files, Kind};

use super::abstract_fs::{Abstract, Node};

/// Every path, and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Found(BTreeMap<String, Entry>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Directory,
    /// `first` is the first path that leads to the same file; `links` is how many the file system says there are.
    File {
        first: String,
        links: u32,
        bytes: Vec<u8>,
    },
}

impl Found {
    /// What should be there.
    pub fn expected(fs: &Abstract) -> Found {
        let paths = fs.paths();
        let entry = |id| match fs.node(id) {
            Node::Directory(_) => Entry::Directory,
            Node::File(bytes) => {
                let mut same = paths.iter().filter(|(_, other)| *other == id).map(|(path, _)| path.clone());
                let first = same.next().unwrap_or_default();
                Entry::File { first, links: 1 + same.count() as u32, bytes: bytes.clone() }
            }
        };
        Found(paths.iter().map(|(path, id)| (path.clone(), entry(*id))).collect())
    }

    /// What is there, without an empty `lost+found`.
    ///
    /// # Errors
    /// What cannot be read, and why.
    pub fn of(files: &dyn Files) -> Result<Found, String> {
        let mut found = Found(BTreeMap::new());
        let mut inodes = BTreeMap::new();
        found.read(files, "", &mut inodes)?;
        if !found.0.keys().any(|path| path.starts_with("/lost+found/")) {
            found.0.remove("/lost+found");
        }
        Ok(found)
    }

    fn read(
        &mut self,
        files: &dyn Files,
        folder: &str,
        inodes: &mut BTreeMap<u32, String>,
    ) -> Result<(), String> {
        let failed = |path: &str, errno| format!("{path} cannot be read: {errno}");
        let at = if folder.is_empty() { "/" } else { folder };
        for (name, kind) in files.readdir(at).map_err(|errno| failed(at, errno))? {
            let path = format!("{folder}/{name}");
            let entry = match kind {
                Kind::Directory => Entry::Directory,
                Kind::File => {
                    let stat = files.stat(&path).map_err(|errno| failed(&path, errno))?;
                    let bytes = files.read_file(&path).map_err(|errno| failed(&path, errno))?;
                    let first = inodes.entry(stat.inode).or_insert_with(|| path.clone()).clone();
                    Entry::File { first, links: stat.links, bytes }
                }
            };
            self.0.insert(path.clone(), entry);
            if kind == Kind::Directory {
                self.read(files, &path, inodes)?;
            }
        }
        Ok(())
    }

    /// The first difference from what was expected, if there is one.
    pub fn difference(&self, expected: &Found) -> Option<String> {
        let paths = expected.0.keys().chain(self.0.keys());
        let path = paths.into_iter().find(|path| self.0.get(*path) != expected.0.get(*path))?;
        let (found, wanted) = (self.0.get(path), expected.0.get(path));
        if let (Some(Entry::File { bytes, .. }), Some(Entry::File { bytes: other, .. })) = (found, wanted)
            && bytes.len() == other.len()
            && let Some(at) = (0..bytes.len()).find(|at| bytes[*at] != other[*at])
        {
            return Some(format!("{path} has another byte {at}: {}, not {}", bytes[at], other[at]));
        }
        Some(format!("{path} is {}; expected: {}", said(found), said(wanted)))
    }
}

fn said(entry: Option<&Entry>) -> String {
    match entry {
        None => "not there".to_owned(),
        Some(Entry::Directory) => "a directory".to_owned(),
        Some(Entry::File { first, links, bytes }) => {
            format!("a file of {} bytes and {links} links, the same as {first}", bytes.len())
        }
    }
}
