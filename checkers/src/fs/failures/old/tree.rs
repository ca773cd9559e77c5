//! Everything that a file system says of itself: names, kinds, sizes, links and contents.

use std::collections::BTreeMap;

use explode_ramdisk::files::{FileKind, Files};

use crate::fs::RESERVED;
use crate::fs::endless::goes_on;

/// A file system's contents, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OldTree(BTreeMap<String, OldNode>);

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum OldNode {
    Directory,
    File { links: u32, contents: Vec<u8> },
}

impl OldTree {
    /// All of it.
    ///
    /// # Errors
    /// What cannot be read, and why.
    pub fn of(files: &dyn Files) -> Result<OldTree, String> {
        let mut tree = OldTree::default();
        let mut waiting = vec![String::new()];
        while let Some(directory) = waiting.pop() {
            let path = if directory.is_empty() { "/" } else { &directory };
            let names = files
                .readdir(path)
                .map_err(|errno| format!("the directory {path} cannot be read: {errno}"))?;
            for (name, kind) in names {
                let path = format!("{directory}/{name}");
                let failed = |errno| format!("{path} cannot be read: {errno}");
                let node = match kind {
                    FileKind::Directory => OldNode::Directory,
                    FileKind::Symlink => {
                        return Err(format!("{path} is a symbolic link, which no call has made"));
                    }
                    FileKind::File => OldNode::File {
                        links: files.stat(&path).map_err(failed)?.links,
                        contents: files.read_file(&path).map_err(failed)?,
                    },
                };
                if kind == FileKind::Directory {
                    goes_on(files, &path)?;
                    waiting.push(path.clone());
                }
                tree.0.insert(path, node);
            }
        }
        for path in RESERVED {
            let is_empty = match tree.0.get(path) {
                Some(OldNode::File { contents, .. }) => contents.is_empty(),
                _ => !tree.0.keys().any(|below| below.starts_with(&format!("{path}/"))),
            };
            if is_empty {
                tree.0.remove(path);
            }
        }
        Ok(tree)
    }

    /// From now on this file may hold anything.
    pub fn forget_contents(&mut self, path: &str) {
        if let Some(OldNode::File { contents, .. }) = self.0.get_mut(path) {
            contents.clear();
        }
    }

    /// The first difference from what was expected, if there is one.
    pub fn difference(&self, expected: &OldTree) -> Option<String> {
        let differs = expected.0.iter().find_map(|(path, wanted)| {
            let found = self.0.get(path);
            (found != Some(wanted)).then(|| said(path, found, Some(wanted)))
        });
        let more = || self.0.iter().find(|(path, _)| !expected.0.contains_key(*path));
        differs.or_else(|| more().map(|(path, found)| said(path, Some(found), None)))
    }
}

fn said(path: &str, found: Option<&OldNode>, wanted: Option<&OldNode>) -> String {
    let node = |node: Option<&OldNode>| match node {
        None => "not there".to_owned(),
        Some(OldNode::Directory) => "a directory".to_owned(),
        Some(OldNode::File { links, contents }) => {
            format!("a file of {} bytes and {links} links", contents.len())
        }
    };
    match (found, wanted) {
        (
            Some(OldNode::File { links, contents }),
            Some(OldNode::File { links: same, contents: other }),
        ) if links == same && contents.len() == other.len() => {
            let at = contents.iter().zip(other).take_while(|(one, other)| one == other).count();
            format!("{path} has another byte {at}: {}, not {}", contents[at], other[at])
        }
        _ => format!("{path} is {}; expected: {}", node(found), node(wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        let file = |links, contents: &[u8]| OldNode::File { links, contents: contents.to_vec() };
        let tree = |nodes: &[(&str, OldNode)]| {
            OldTree(nodes.iter().map(|(path, node)| ((*path).to_owned(), node.clone())).collect())
        };
        let expected = tree(&[("/a", file(1, b"abc")), ("/d", OldNode::Directory)]);
        let told = |found: &[(&str, OldNode)]| tree(found).difference(&expected);
        assert_eq!(told(&[("/a", file(1, b"abc")), ("/d", OldNode::Directory)]), None);
        assert_eq!(
            told(&[("/d", OldNode::Directory)]).unwrap(),
            "/a is not there; expected: a file of 3 bytes and 1 links"
        );
        assert_eq!(
            told(&[("/a", file(1, b"abd")), ("/d", OldNode::Directory)]).unwrap(),
            "/a has another byte 2: 100, not 99"
        );
        let more =
            [("/a", file(1, b"abc")), ("/d", OldNode::Directory), ("/x", OldNode::Directory)];
        assert_eq!(told(&more).unwrap(), "/x is a directory; expected: not there");
    }
}
