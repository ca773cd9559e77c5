//! The effect of each call on the model of one file, which knows the durable part of the file.

use explode_ramdisk::files::{Fallocate, FsCall};

use super::file::File;

impl File {
    /// Applies a call to the file that it changes. `after` is the contents of the file after the
    /// call. Returns the place and the bytes of the write, in which all bytes that moved to another
    /// place count as written. `None` if the call writes nothing.
    pub fn follow<'a>(&mut self, call: &FsCall, after: &'a [u8]) -> Option<(usize, &'a [u8])> {
        let (at, end) = match call {
            FsCall::Open { flags, .. } if flags.truncate => {
                self.truncate(0);
                return None;
            }
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
            FsCall::CopyRange { offset, len, .. } => (*offset as usize, (*offset + *len) as usize),
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
