//! Random calls, made on nodes as a kernel makes them.

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{Access, Fd, FileKind, FileNode, Files as _, NewNode, Result};
use nix::errno::Errno;

use crate::operations::{Answer, Op, call};

/// The number of the root.
const ROOT: u32 = 0;

/// Returns the directory of the last name of a path, and that name.
fn place<'p>(files: &SimFiles, path: &'p str) -> Result<(u32, &'p str)> {
    let (parents, name) = path.rsplit_once('/').ok_or(Errno::EINVAL)?;
    let names = parents.split('/').filter(|name| !name.is_empty());
    let found = |directory, name| Ok::<u32, Errno>(files.find(directory, name)?.stat.inode);
    Ok((names.into_iter().try_fold(ROOT, found)?, name))
}

fn find(files: &SimFiles, path: &str) -> Result<FileNode> {
    match place(files, path)? {
        (directory, "") => files.node(directory),
        (directory, name) => files.find(directory, name),
    }
}

fn opened(files: &SimFiles, path: &str, flags: (bool, bool, bool)) -> Result<Fd> {
    let (create, exclusive, truncate) = flags;
    let node = match find(files, path) {
        Ok(_) if create && exclusive => return Err(Errno::EEXIST),
        Ok(node) if node.stat.kind == FileKind::File => node,
        Ok(_) => return Err(Errno::EISDIR),
        Err(Errno::ENOENT) if create => {
            let (directory, name) = place(files, path)?;
            files.make(directory, name, NewNode::File, Access::of_new(FileKind::File))?
        }
        Err(errno) => return Err(errno),
    };
    let fd = files.open_node(node.stat.inode)?;
    if truncate {
        files.resize_node(node.stat.inode, 0)?;
    }
    Ok(fd)
}

/// Makes one call.
pub fn call_by_nodes(files: &SimFiles, op: &Op) -> Result<Answer> {
    let is = |node: FileNode| Answer::Is(node.stat.kind, node.stat.size, node.stat.links);
    let done = |()| Answer::Done;
    match op {
        Op::Open { path, flags } => opened(files, path, *flags).map(Answer::Opened),
        Op::Fstat(fd) => files.node(files.fstat(Fd(*fd))?.inode).map(is),
        Op::Stat(path) => find(files, path).map(is),
        Op::Readdir(path) => {
            let entries = files.entries(find(files, path)?.stat.inode)?;
            Ok(Answer::Names(entries.into_iter().map(|at| (at.name, at.kind)).collect()))
        }
        Op::Mkdir(path) => {
            let (directory, name) = place(files, path)?;
            let born = Access::of_new(FileKind::Directory);
            files.make(directory, name, NewNode::Directory, born).map(|_| Answer::Done)
        }
        Op::Rmdir(path) => {
            let (directory, name) = place(files, path)?;
            files.remove_directory(directory, name).map(done)
        }
        Op::Unlink(path) => {
            let (directory, name) = place(files, path)?;
            files.remove_name(directory, name).map(done)
        }
        Op::Link(from, to) => {
            let node = find(files, from)?;
            let (directory, name) = place(files, to)?;
            match node.stat.kind {
                FileKind::Directory => Err(Errno::EPERM),
                _ => files.link_node(node.stat.inode, directory, name).map(is),
            }
        }
        Op::Rename(from, to) => {
            let (from, to) = (place(files, from)?, place(files, to)?);
            files.move_node(from, to, None).map(done)
        }
        Op::SyncDir(path) => files.sync_node(find(files, path)?.stat.inode, false).map(done),
        other => call(files, other),
    }
}
