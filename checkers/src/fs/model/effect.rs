//! The effect of each call on the abstract file system.

use explode_ramdisk::files::{Fallocate, FsCall, NAMELESS};

use super::attributes::Attributes;
use super::tree::{Abstract, ModelNode};

impl Abstract {
    /// Applies a call that succeeds. Data written to a file without a name stays until the file is
    /// linked or closed.
    ///
    /// # Panics
    /// If the call cannot succeed.
    pub fn apply(&mut self, call: &FsCall) {
        let at = |fs: &Abstract, path: &str| fs.find(path).expect("it is there");
        match call {
            FsCall::Open { path, flags } => {
                match self.find(path) {
                    None => {
                        self.add(path, ModelNode::File(Vec::new()));
                    }
                    Some(id) if flags.truncate => self.bytes_mut(id).clear(),
                    Some(_) => {}
                };
            }
            FsCall::Close { path } if path == NAMELESS => self.nameless_mut().clear(),
            FsCall::Pwrite { path, offset, data, .. } => {
                write(self.open_mut(path), *offset as usize, data);
            }
            FsCall::Ftruncate { path, size } => self.open_mut(path).resize(*size as usize, 0),
            FsCall::Fallocate { path, mode, offset, len } => {
                fallocate(self.open_mut(path), *mode, *offset as usize, *len as usize);
            }
            FsCall::Clone { from, to } => {
                let bytes = self.open_mut(from).clone();
                *self.open_mut(to) = bytes;
            }
            FsCall::CopyRange { from, to, offset, len } => {
                let (at, end) = (*offset as usize, (*offset + *len) as usize);
                let bytes = self.open_mut(from)[at..end].to_vec();
                write(self.open_mut(to), at, &bytes);
            }
            FsCall::Mkdir { path } => {
                self.add(path, ModelNode::Directory(Default::default()));
            }
            FsCall::Symlink { target, path } => {
                self.add(path, ModelNode::Symlink(target.clone()));
            }
            FsCall::Unlink { path } | FsCall::Rmdir { path } => self.point(path, None),
            FsCall::LinkOpen { from, to } if from == NAMELESS => {
                let bytes = std::mem::take(self.nameless_mut());
                self.add(to, ModelNode::File(bytes));
            }
            FsCall::Link { from, to } | FsCall::LinkOpen { from, to } => {
                let id = at(self, from);
                self.point(to, Some(id));
            }
            FsCall::Rename { from, to } | FsCall::RenameNoReplace { from, to } => {
                let id = at(self, from);
                self.point(from, None);
                self.point(to, Some(id));
            }
            FsCall::Exchange { from, to } => {
                let (first, second) = (at(self, from), at(self, to));
                self.point(from, Some(second));
                self.point(to, Some(first));
            }
            FsCall::Chmod { path, mode } => self.attributes_of(path).mode = *mode,
            FsCall::Setxattr { path, name, value } => {
                self.attributes_of(path).xattrs.insert(name.clone(), value.clone());
            }
            FsCall::Removexattr { path, name } => {
                self.attributes_of(path).xattrs.remove(name);
            }
            FsCall::OpenUnnamed { .. }
            | FsCall::Close { .. }
            | FsCall::Fsync { .. }
            | FsCall::Fdatasync { .. }
            | FsCall::FsyncDir { .. }
            | FsCall::Syncfs
            | FsCall::Sync => {}
        }
    }

    /// Returns the attributes of a file or directory.
    fn attributes_of(&mut self, path: &str) -> &mut Attributes {
        let id = self.find(path).expect("it is there");
        self.attributes_mut(id)
    }

    /// Returns the bytes of an open file.
    fn open_mut(&mut self, path: &str) -> &mut Vec<u8> {
        if path == NAMELESS {
            return self.nameless_mut();
        }
        let id = self.find(path).expect("it is there");
        self.bytes_mut(id)
    }
}

fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    file.resize(file.len().max(end), 0);
    file[at..end].copy_from_slice(bytes);
}

/// Applies fallocate(2) to a range of a file.
fn fallocate(file: &mut Vec<u8>, how: Fallocate, at: usize, len: usize) {
    let end = at + len;
    match how {
        Fallocate::KeepSize => {}
        Fallocate::Allocate => file.resize(file.len().max(end), 0),
        Fallocate::PunchHole => {
            let within = at.min(file.len())..end.min(file.len());
            file[within].fill(0);
        }
        Fallocate::ZeroRange => write(file, at, &vec![0; len]),
        Fallocate::CollapseRange => drop(file.drain(at..end)),
        Fallocate::InsertRange => drop(file.splice(at..at, vec![0; len])),
    }
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::files::{Files, Granule, OpenFlags, Session, SimFiles};
    use explode_ramdisk::{Image, Recording, Storage};

    use super::*;
    use crate::fs::model::{Group, Groups};
    use crate::fs::topology::FoundTopology;

    /// After each call the abstract file system equals simulated files.
    #[test]
    fn calls_have_the_same_effect_on_the_model_and_on_files() {
        let storage = Storage::new(Image::new(), Recording::Off);
        let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
        let mut session = Session::new(&files);
        let mut fs = Abstract::new();
        let groups = Groups::of(&[Group::Chmod, Group::Xattr]);
        let path = |path: &str| path.to_owned();
        let fallocate = |mode| FsCall::Fallocate { path: path("/b"), mode, offset: 0, len: 4096 };
        let calls = [
            FsCall::Open { path: path("/a"), flags: OpenFlags::CREATE },
            FsCall::pwrite("/a", 10, vec![1; 9000]),
            FsCall::Close { path: path("/a") },
            FsCall::Link { from: path("/a"), to: path("/b") },
            FsCall::Mkdir { path: path("/d") },
            fallocate(Fallocate::PunchHole),
            fallocate(Fallocate::CollapseRange),
            fallocate(Fallocate::InsertRange),
            fallocate(Fallocate::ZeroRange),
            fallocate(Fallocate::Allocate),
            FsCall::Ftruncate { path: path("/a"), size: 5000 },
            FsCall::Rename { from: path("/a"), to: path("/d/c") },
            FsCall::Symlink { target: path("x"), path: path("/l") },
            FsCall::Exchange { from: path("/l"), to: path("/d/c") },
            FsCall::RenameNoReplace { from: path("/l"), to: path("/m") },
            FsCall::Chmod { path: path("/d"), mode: 0o700 },
            FsCall::Setxattr { path: path("/m"), name: path("user.a"), value: vec![7] },
            FsCall::Setxattr { path: path("/m"), name: path("user.b"), value: vec![8] },
            FsCall::Removexattr { path: path("/m"), name: path("user.a") },
            FsCall::OpenUnnamed { directory: path("/") },
            FsCall::pwrite(NAMELESS, 3, vec![2; 10]),
            FsCall::LinkOpen { from: path(NAMELESS), to: path("/n") },
            FsCall::Close { path: path("/n") },
            FsCall::Clone { from: path("/m"), to: path("/n") },
            FsCall::pwrite("/m", 0, vec![9; 20]),
            FsCall::CopyRange { from: path("/m"), to: path("/n"), offset: 5, len: 10 },
            FsCall::Open {
                path: path("/m"),
                flags: OpenFlags { truncate: true, ..OpenFlags::EXISTING },
            },
            FsCall::Close { path: path("/m") },
            FsCall::Open { path: path("/n"), flags: OpenFlags::EXISTING },
            FsCall::Unlink { path: path("/n") },
            FsCall::pwrite(NAMELESS, 0, vec![3; 10]),
            FsCall::Close { path: path(NAMELESS) },
            FsCall::Syncfs,
        ];
        for call in calls {
            if matches!(call, FsCall::Clone { .. }) {
                let cut = FsCall::Ftruncate { path: path("/n"), size: 0 };
                session.make(&cut).unwrap();
                fs.apply(&cut);
            }
            session.make(&call).unwrap_or_else(|errno| panic!("{call}: {errno}"));
            fs.apply(&call);
            let found = FoundTopology::of(&files, groups).unwrap();
            let difference = found.difference(&FoundTopology::expected(&fs, groups));
            assert_eq!(difference, None, "after {call}");
        }
        assert!(files.read_file("/d/c").is_err(), "it is a symbolic link now");
    }
}
