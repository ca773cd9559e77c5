//! What each call does to the model of one file, which knows what of it is durable.

use explode_ramdisk::files::{Fallocate, FsCall};

use super::file::File;

impl File {
    /// Does what a call does to the file that it changes; `after` is what the file holds then.
    /// Returns where the call has written, and what: all bytes that are in another place then count
    /// as written.
    pub fn follow<'a>(&mut self, call: &FsCall, after: &'a [u8]) -> Option<(usize, &'a [u8])> {
        let (at, end) = match call {
            FsCall::Ftruncate { size, .. } => {
                self.truncate(*size as usize);
                return None;
            }
            FsCall::Fallocate { mode: Fallocate::Allocate, .. } => {
                self.truncate(after.len());
                return None;
            }
            FsCall::Clone { .. } | FsCall::LinkOpen { .. } => (0, after.len()),
            FsCall::Pwrite { offset, data, .. } => {
                (*offset as usize, *offset as usize + data.len())
            }
            FsCall::Fallocate { mode, offset, len, .. } => {
                let (at, end) = (*offset as usize, (*offset + *len) as usize);
                match mode {
                    Fallocate::KeepSize | Fallocate::Allocate => return None,
                    Fallocate::ZeroRange => (at, end),
                    Fallocate::PunchHole => (at, end.min(after.len())),
                    Fallocate::CollapseRange | Fallocate::InsertRange => (at, after.len()),
                }
            }
            _ => return None,
        };
        self.write(at, &after[at..end]);
        self.truncate(self.size().min(after.len()));
        Some((at, &after[at..end]))
    }
}
