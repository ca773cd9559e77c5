//! What each call does to the abstract file system.

use explode_ramdisk::files::Fallocate;

use super::BLOCK;
use super::abstract_fs::{Abstract, Node};
use super::call::{Call, XATTR, value};

impl Call {
    /// Makes it to the abstract file system.
    ///
    /// # Panics
    /// If it is none of [`possible`](Call::possible).
    pub fn apply(&self, fs: &mut Abstract, bytes: &[u8]) {
        let at = |fs: &Abstract, path: &str| fs.find(path).expect("it is there");
        match self {
            Call::Ftruncate { path, size } => {
                let id = at(fs, path);
                fs.bytes_mut(id).resize(*size, 0);
            }
            Call::Pwrite { path, at: offset } => {
                let id = at(fs, path);
                write(fs.bytes_mut(id), *offset, bytes);
            }
            Call::Store { path } => {
                let id = at(fs, path);
                write(fs.bytes_mut(id), 0, bytes);
            }
            Call::Creat { path } => drop(fs.add(path, Node::File(Vec::new()))),
            Call::Mkdir { path } => drop(fs.add(path, Node::Directory(Default::default()))),
            Call::Symlink { target, path } => drop(fs.add(path, Node::Symlink(target.clone()))),
            Call::Tmpfile { path } => drop(fs.add(path, Node::File(bytes.to_vec()))),
            Call::Unlink { path } | Call::Rmdir { path } | Call::UnlinkHeld { path } => {
                fs.point(path, None)
            }
            Call::Link { from, to } => {
                let id = at(fs, from);
                fs.point(to, Some(id));
            }
            Call::Rename { from, to } | Call::RenameNoReplace { from, to } => {
                let id = at(fs, from);
                fs.point(from, None);
                fs.point(to, Some(id));
            }
            Call::Exchange { one, other } => {
                let (first, second) = (at(fs, one), at(fs, other));
                fs.point(one, Some(second));
                fs.point(other, Some(first));
            }
            Call::Chmod { path, mode } => {
                let id = at(fs, path);
                fs.attributes_mut(id).mode = *mode;
            }
            Call::Setxattr { path, len } => {
                let id = at(fs, path);
                fs.attributes_mut(id).xattrs.insert(XATTR.to_owned(), value(*len));
            }
            Call::Removexattr { path } => {
                let id = at(fs, path);
                fs.attributes_mut(id).xattrs.remove(XATTR);
            }
            Call::Fallocate { path, how, at: offset } => {
                let id = at(fs, path);
                fallocate(fs.bytes_mut(id), *how, *offset);
            }
            Call::Clone { from, to } => {
                let (from, to) = (at(fs, from), at(fs, to));
                let bytes = fs.bytes(from).to_vec();
                *fs.bytes_mut(to) = bytes;
            }
        }
    }
}

fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    file.resize(file.len().max(end), 0);
    file[at..end].copy_from_slice(bytes);
}

/// One block, in its way.
fn fallocate(file: &mut Vec<u8>, how: Fallocate, at: usize) {
    let end = at + BLOCK;
    match how {
        Fallocate::KeepSize => {}
        Fallocate::Allocate => file.resize(file.len().max(end), 0),
        Fallocate::PunchHole => {
            let within = at.min(file.len())..end.min(file.len());
            file[within].fill(0);
        }
        Fallocate::ZeroRange => write(file, at, &[0; BLOCK]),
        Fallocate::CollapseRange => drop(file.drain(at..end)),
        Fallocate::InsertRange => drop(file.splice(at..at, [0; BLOCK])),
    }
}
