//! What each call does to the model of one file ([`File`]), which knows what of it is durable.

use explode_ramdisk::files::Fallocate;

use super::BLOCK;
use super::call::Call;
use crate::fs::sync::file::File;

impl Call {
    /// Does to the file that it is about what it does; `after` is what that file holds then.
    /// Returns where it has written, and what: all bytes that are in another place then count as
    /// written.
    pub fn change<'a>(&self, file: &mut File, after: &'a [u8]) -> Option<(usize, &'a [u8])> {
        let (at, end) = match self {
            Call::Ftruncate { .. } | Call::Fallocate { how: Fallocate::Allocate, .. } => {
                file.truncate(after.len());
                return None;
            }
            Call::Clone { .. } => {
                file.truncate(0);
                (0, after.len())
            }
            Call::Pwrite { at, .. } | Call::Fallocate { how: Fallocate::ZeroRange, at, .. } => {
                (*at, at + BLOCK)
            }
            Call::Store { .. } | Call::Tmpfile { .. } => (0, BLOCK),
            Call::Fallocate { how: Fallocate::PunchHole, at, .. } => {
                (*at, (at + BLOCK).min(after.len()))
            }
            Call::Fallocate {
                how: Fallocate::CollapseRange | Fallocate::InsertRange, at, ..
            } => (*at, after.len()),
            _ => return None,
        };
        file.write(at, &after[at..end]);
        file.truncate(file.size().min(after.len()));
        Some((at, &after[at..end]))
    }
}
