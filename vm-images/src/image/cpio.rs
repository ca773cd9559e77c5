//! Archives that the kernel unpacks as its first file system: cpio in the format "newc"
//! (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).
//!
//! Equal contents give equal bytes: entries are sorted, times are 0, and root owns everything.

use std::collections::BTreeMap;
use std::io::{self, Write};

const HEADER_BYTES: usize = 110;

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File { mode: u32, data: Vec<u8> },
    Link(String),
    Device { major: u32, minor: u32 },
}

/// The contents of an archive, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Archive {
    nodes: BTreeMap<String, Node>,
}

impl Archive {
    /// Adds a folder with mode 0755.
    pub fn folder(&mut self, path: &str) {
        self.insert(path, Node::Folder);
    }

    /// Adds a file with its permissions.
    pub fn file(&mut self, path: &str, mode: u32, data: Vec<u8>) {
        self.insert(path, Node::File { mode, data });
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.insert(path, Node::Link(target.to_owned()));
    }

    /// Adds a character device with mode 0600.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.insert(path, Node::Device { major, minor });
    }

    /// Returns true if the archive has an entry at this path.
    pub fn contains(&self, path: &str) -> bool {
        self.nodes.contains_key(relative(path))
    }

    /// Returns the data of all files.
    pub fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.nodes.values().filter_map(|node| match node {
            Node::File { data, .. } => Some(data.as_slice()),
            _ => None,
        })
    }

    /// Adds or replaces the entry at the path, and adds the folders above it.
    fn insert(&mut self, path: &str, node: Node) {
        let path = relative(path);
        for (end, _) in path.match_indices('/') {
            self.nodes.entry(path[..end].to_owned()).or_insert(Node::Folder);
        }
        self.nodes.insert(path.to_owned(), node);
    }

    /// Writes the archive. Its length is a multiple of 4, so another archive may follow.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, (path, node)) in self.nodes.iter().enumerate() {
            let number = u32::try_from(number).map_err(io::Error::other)? + 1;
            let (mode, data, device) = match node {
                Node::Folder => (FOLDER | 0o755, &[][..], (0, 0)),
                Node::File { mode, data } => (FILE | mode, data.as_slice(), (0, 0)),
                Node::Link(target) => (LINK | 0o777, target.as_bytes(), (0, 0)),
                Node::Device { major, minor } => {
                    (CHARACTER_DEVICE | 0o600, &[][..], (*major, *minor))
                }
            };
            entry(out, number, mode, path, data, device)?;
        }
        entry(out, 0, 0, "TRAILER!!!", &[], (0, 0))
    }
}

/// Returns the names in an archive that [`Archive::write`] has written. Stops where the bytes are
/// not an archive.
pub(crate) fn names(bytes: &[u8]) -> Vec<&str> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(header) =
        bytes.get(at..at + HEADER_BYTES).filter(|header| header.starts_with(b"070701"))
    {
        let field = |index: usize| {
            let digits = std::str::from_utf8(&header[6 + index * 8..14 + index * 8]).ok()?;
            usize::from_str_radix(digits, 16).ok()
        };
        let (Some(size), Some(name_size)) = (field(6), field(11)) else { break };
        let name_at = at + HEADER_BYTES;
        let name =
            bytes.get(name_at..name_at + name_size.saturating_sub(1)).map(std::str::from_utf8);
        let Some(Ok(name)) = name.filter(|name| *name != Ok("TRAILER!!!")) else { break };
        names.push(name);
        at = (name_at + name_size).next_multiple_of(4) + size.next_multiple_of(4);
    }
    names
}

/// Returns a path without slashes at its ends. Names in an archive have no leading slash.
fn relative(path: &str) -> &str {
    path.trim_matches('/')
}

fn entry(
    out: &mut impl Write,
    number: u32,
    mode: u32,
    name: &str,
    data: &[u8],
    device: (u32, u32),
) -> io::Result<()> {
    let name_size = u32::try_from(name.len() + 1).map_err(io::Error::other)?;
    let size = u32::try_from(data.len())
        .map_err(|_| io::Error::other(format!("{name} is larger than 4 GiB")))?;
    let (owner, links, time, check) = (0, 1, 0, 0);
    let fields =
        [number, mode, owner, owner, links, time, size, 0, 0, device.0, device.1, name_size, check];
    let mut header = String::from("070701");
    for field in fields {
        header.push_str(&format!("{field:08X}"));
    }
    header.push_str(name);
    header.push('\0');
    pad(out, header.as_bytes())?;
    pad(out, data)
}

fn pad(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.write_all(&[0; 3][..bytes.len().wrapping_neg() % 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_newc() {
        let mut archive = Archive::default();
        archive.file("/bin/a", 0o755, b"hello".to_vec());
        archive.link("/b", "bin/a");
        archive.device("/dev/console", 5, 1);
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let golden = concat!(
            "070701000000010000A1FF0000000000000000000000010000000000000005000000000000000000\
             0000000000000000000002",
            "00000000b\0bin/a\0\0\0",
            "070701",
            "00000002000041ED0000000000000000000000010000000000000000000000000000000000000000\
             00000000",
            "0000000400000000bin\0\0\0",
            "070701",
            "00000003000081ED0000000000000000000000010000000000000005000000000000000000000000\
             00000000",
            "0000000600000000bin/a\0hello\0\0\0",
            "070701",
            "00000004000041ED0000000000000000000000010000000000000000000000000000000000000000\
             00000000",
            "0000000400000000dev\0\0\0",
            "070701",
            "00000005000021800000000000000000000000010000000000000000000000000000000000000005\
             00000001",
            "0000000C00000000dev/console\0\0\0",
            "070701",
            "00000000000000000000000000000000000000010000000000000000000000000000000000000000\
             00000000",
            "0000000B00000000TRAILER!!!\0\0\0\0",
        );
        assert_eq!(String::from_utf8_lossy(&bytes), golden);
        assert_eq!(names(&bytes), ["b", "bin", "bin/a", "dev", "dev/console"]);
        assert_eq!(names(&bytes[..150]), ["b"], "as far as it goes");
        assert!(names(b"no archive").is_empty());
    }
}
