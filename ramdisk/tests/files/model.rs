//! A reference model of files for the random tests: a map from paths to nodes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use explode_ramdisk::Files;
use explode_ramdisk::files::{Fd, FileKind, OpenFlags, Result, Stat};
use nix::errno::Errno;

/// A map of all paths. The root is the empty path.
#[derive(Default)]
pub struct Model(RefCell<State>);

struct State {
    paths: BTreeMap<String, Node>,
    contents: Vec<Vec<u8>>,
    open: Vec<Option<usize>>,
}

/// The node that a path leads to. A file has its index in `contents`.
#[derive(Clone, Copy, PartialEq)]
enum Node {
    Directory,
    File(usize),
}

impl Default for State {
    fn default() -> State {
        let paths = BTreeMap::from([(String::new(), Node::Directory)]);
        State { paths, contents: Vec::new(), open: Vec::new() }
    }
}

impl Model {
    /// Closes all handles, like a new mount.
    pub fn close_all(&self) {
        self.0.borrow_mut().open.clear();
    }
}

impl State {
    /// Returns the node at a path, if all parent directories exist.
    fn find(&self, path: &str) -> Result<Option<Node>> {
        for (at, _) in path.match_indices('/') {
            match self.paths.get(&path[..at]) {
                None => return Err(Errno::ENOENT),
                Some(Node::File(_)) => return Err(Errno::ENOTDIR),
                Some(Node::Directory) => {}
            }
        }
        Ok(self.paths.get(path).copied())
    }

    fn existing(&self, path: &str) -> Result<Node> {
        self.find(path)?.ok_or(Errno::ENOENT)
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        self.paths.keys().filter(|path| path.starts_with(&prefix)).cloned().collect()
    }

    fn file(&self, fd: Fd) -> Result<usize> {
        self.open.get(fd.0 as usize).copied().flatten().ok_or(Errno::EBADF)
    }

    fn stat(&self, node: Node) -> Stat {
        let links = self.paths.values().filter(|other| **other == node).count() as u32;
        match node {
            Node::Directory => Stat { kind: FileKind::Directory, inode: 0, size: 0, links: 1 },
            Node::File(file) => Stat {
                kind: FileKind::File,
                inode: 0,
                size: self.contents[file].len() as u64,
                links,
            },
        }
    }
}

/// Returns the key of a path in the map. The key of the root is empty.
fn key(path: &str) -> &str {
    if path == "/" { "" } else { path }
}

/// The model returns 0 for all inode numbers.
impl Files for Model {
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        let mut state = self.0.borrow_mut();
        let file = match state.find(key(path))? {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::EEXIST),
            Some(Node::Directory) => return Err(Errno::EISDIR),
            Some(Node::File(file)) => file,
            None if !flags.create => return Err(Errno::ENOENT),
            None => {
                let file = state.contents.len();
                state.contents.push(Vec::new());
                state.paths.insert(path.to_owned(), Node::File(file));
                file
            }
        };
        if flags.truncate {
            state.contents[file].clear();
        }
        if let Some(fd) = state.open.iter().position(Option::is_none) {
            state.open[fd] = Some(file);
            return Ok(Fd(fd as u32));
        }
        state.open.push(Some(file));
        Ok(Fd(state.open.len() as u32 - 1))
    }

    fn close(&self, fd: Fd) -> Result<()> {
        let mut state = self.0.borrow_mut();
        state.file(fd)?;
        state.open[fd.0 as usize] = None;
        Ok(())
    }

    fn pread(&self, fd: Fd, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let state = self.0.borrow();
        let contents = &state.contents[state.file(fd)?];
        let from = contents.len().min(offset as usize);
        let len = buf.len().min(contents.len() - from);
        buf[..len].copy_from_slice(&contents[from..from + len]);
        Ok(len)
    }

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let mut state = self.0.borrow_mut();
        let file = state.file(fd)?;
        if data.is_empty() {
            return Ok(());
        }
        let contents = &mut state.contents[file];
        let end = offset as usize + data.len();
        contents.resize(contents.len().max(end), 0);
        contents[offset as usize..end].copy_from_slice(data);
        Ok(())
    }

    fn ftruncate(&self, fd: Fd, size: u64) -> Result<()> {
        let mut state = self.0.borrow_mut();
        let file = state.file(fd)?;
        state.contents[file].resize(size as usize, 0);
        Ok(())
    }

    fn fstat(&self, fd: Fd) -> Result<Stat> {
        let state = self.0.borrow();
        Ok(state.stat(Node::File(state.file(fd)?)))
    }

    fn fsync(&self, fd: Fd) -> Result<()> {
        self.0.borrow().file(fd).map(drop)
    }

    fn fdatasync(&self, fd: Fd) -> Result<()> {
        self.fsync(fd)
    }

    fn stat(&self, path: &str) -> Result<Stat> {
        let state = self.0.borrow();
        Ok(state.stat(state.existing(key(path))?))
    }

    fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
        let state = self.0.borrow();
        if state.existing(key(path))? != Node::Directory {
            return Err(Errno::ENOTDIR);
        }
        let parent = key(path).len() + 1;
        let below = state.below(key(path));
        let here = below.iter().filter(|path| !path[parent..].contains('/'));
        Ok(here
            .map(|path| (path[parent..].to_owned(), state.stat(state.paths[path]).kind))
            .collect())
    }

    fn mkdir(&self, path: &str) -> Result<()> {
        let mut state = self.0.borrow_mut();
        if state.find(key(path))?.is_some() {
            return Err(Errno::EEXIST);
        }
        state.paths.insert(path.to_owned(), Node::Directory);
        Ok(())
    }

    fn rmdir(&self, path: &str) -> Result<()> {
        let mut state = self.0.borrow_mut();
        match state.existing(key(path))? {
            _ if path == "/" => Err(Errno::EBUSY),
            Node::File(_) => Err(Errno::ENOTDIR),
            Node::Directory if !state.below(path).is_empty() => Err(Errno::ENOTEMPTY),
            Node::Directory => {
                state.paths.remove(path);
                Ok(())
            }
        }
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.0.borrow_mut();
        let node = state.existing(key(from))?;
        match state.find(key(to)) {
            _ if from == "/" => Err(Errno::EPERM),
            Err(error) => Err(error),
            Ok(Some(_)) => Err(Errno::EEXIST),
            Ok(None) if node == Node::Directory => Err(Errno::EPERM),
            Ok(None) => {
                state.paths.insert(to.to_owned(), node);
                Ok(())
            }
        }
    }

    fn unlink(&self, path: &str) -> Result<()> {
        let mut state = self.0.borrow_mut();
        if state.existing(key(path))? == Node::Directory {
            return Err(Errno::EPERM);
        }
        state.paths.remove(path);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.0.borrow_mut();
        let moved = state.existing(key(from))?;
        if from == "/" {
            return Err(Errno::EBUSY);
        }
        let replaced = state.find(key(to))?;
        if to == "/" {
            return Err(Errno::EBUSY);
        }
        if to.starts_with(&format!("{from}/")) {
            return Err(Errno::EINVAL);
        }
        match (moved, replaced) {
            _ if from == to => return Ok(()),
            (Node::File(one), Some(Node::File(other))) if one == other => return Ok(()),
            (Node::File(_), Some(Node::Directory)) => return Err(Errno::EISDIR),
            (Node::Directory, Some(Node::File(_))) => return Err(Errno::ENOTDIR),
            (Node::Directory, Some(_)) if !state.below(to).is_empty() => {
                return Err(Errno::ENOTEMPTY);
            }
            _ => {}
        }
        state.paths.remove(from);
        state.paths.insert(to.to_owned(), moved);
        for path in state.below(from) {
            if let Some(node) = state.paths.remove(&path) {
                state.paths.insert(format!("{to}{}", &path[from.len()..]), node);
            }
        }
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        match self.0.borrow().existing(key(path))? {
            Node::Directory => Ok(()),
            Node::File(_) => Err(Errno::ENOTDIR),
        }
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
