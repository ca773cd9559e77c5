//! Paths below the folder of a test, walked through simulated files.

use explode_ramdisk::files::{FileKind, ProgramFiles, Result, TimedNode};
use nix::errno::Errno;

/// The number of the root directory.
pub const ROOT: u32 = 0;
/// The most symbolic links on one path, as on Linux.
const MOST_LINKS: u32 = 40;

/// A path: the directory that it begins in, and its names.
#[derive(Clone, Debug)]
pub struct Route {
    /// The number of the directory.
    pub start: u32,
    /// Names with `/` between them.
    pub names: String,
}

/// The end of a path.
#[derive(Clone, Debug)]
pub enum End {
    /// A directory that the path leads to without a name: the start, `.` or `..`.
    Nameless(TimedNode),
    /// A name in a directory.
    Name {
        /// The number of the directory.
        directory: u32,
        /// The name.
        name: String,
        /// The node of the name. `None` if it does not exist.
        node: Option<TimedNode>,
    },
}

impl End {
    /// Returns the node. `ENOENT` if there is none.
    pub fn node(&self) -> Result<TimedNode> {
        match self {
            End::Nameless(node) => Ok(*node),
            End::Name { node, .. } => node.ok_or(Errno::ENOENT),
        }
    }
}

/// The treatment of a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// The link is followed.
    Follow,
    /// The link is the end, unless a `/` follows.
    Keep,
    /// The link is the end. The call is about the name.
    Name,
}

struct Walk<'f> {
    files: &'f ProgramFiles,
    /// The directories from the root of the walk to the present one.
    above: Vec<u32>,
    /// The names that are still to be walked, the next one last.
    names: Vec<String>,
    links: u32,
}

/// Walks to the end of a path. A path that ends in `/` ends in a directory.
///
/// # Errors
/// `ENOENT` and `ENOTDIR` for a name on the way, `ELOOP` for too many links, `EXDEV` for a link
/// that leaves the folder, which `prefix` names.
pub fn walk(files: &ProgramFiles, prefix: &str, route: &Route, last: LastLink) -> Result<End> {
    let mut walk = Walk { files, above: vec![route.start], names: Vec::new(), links: 0 };
    walk.push(&route.names);
    let is_directory = route.names.ends_with('/');
    let must_be_directory = is_directory && last != LastLink::Name;
    loop {
        let Some(name) = walk.names.pop() else {
            return Ok(End::Nameless(files.node(walk.here())?));
        };
        let is_last = walk.names.is_empty();
        match name.as_str() {
            "." => walk.must_be_directory()?,
            ".." => walk.up()?,
            _ => {
                let node = match files.find(walk.here(), &name) {
                    Ok(node) => Some(node),
                    Err(Errno::ENOENT) if is_last => None,
                    Err(errno) => return Err(errno),
                };
                let kind = node.map(|node| node.node.stat.kind);
                let follow = match last {
                    LastLink::Follow => true,
                    LastLink::Keep => !is_last || is_directory,
                    LastLink::Name => !is_last,
                };
                match (node, kind) {
                    (Some(link), Some(FileKind::Symlink)) if follow => {
                        walk.follow(prefix, link.node.stat.inode)?;
                    }
                    (Some(next), Some(_)) if !is_last => walk.above.push(next.node.stat.inode),
                    (_, Some(kind)) if must_be_directory && kind != FileKind::Directory => {
                        return Err(Errno::ENOTDIR);
                    }
                    _ => return Ok(End::Name { directory: walk.here(), name, node }),
                }
            }
        }
    }
}

impl Walk<'_> {
    fn here(&self) -> u32 {
        self.above.last().copied().unwrap_or(ROOT)
    }

    /// Puts names before those that are still to be walked.
    fn push(&mut self, names: &str) {
        let names = names.split('/').filter(|name| !name.is_empty());
        self.names.extend(names.map(str::to_owned).rev());
    }

    fn must_be_directory(&self) -> Result<()> {
        match self.files.node(self.here())?.node.stat.kind {
            FileKind::Directory => Ok(()),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Continues in the directory above. The root is above itself.
    fn up(&mut self) -> Result<()> {
        self.must_be_directory()?;
        if self.above.len() > 1 {
            self.above.pop();
        } else if self.here() != ROOT {
            let path = self.files.files().path_of(self.here()).ok_or(Errno::ENOENT)?;
            let (parent, _) = path.rsplit_once('/').ok_or(Errno::ENOENT)?;
            let route = Route { start: ROOT, names: parent.to_owned() };
            let parent = walk(self.files, "", &route, LastLink::Keep)?.node()?;
            self.above = vec![parent.node.stat.inode];
        }
        Ok(())
    }

    fn follow(&mut self, prefix: &str, link: u32) -> Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::ELOOP);
        }
        let target = self.files.target(link)?;
        match target.strip_prefix(prefix) {
            Some(below) if below.is_empty() || below.starts_with('/') => {
                self.above = vec![ROOT];
                self.push(below);
            }
            _ if target.starts_with('/') => return Err(Errno::EXDEV),
            _ if target.is_empty() => return Err(Errno::ENOENT),
            _ => self.push(&target),
        }
        Ok(())
    }
}
