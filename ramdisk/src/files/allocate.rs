//! fallocate(2) and clones of files, as writes. Simulated files have no blocks to allocate or to
//! share, so only the visible effects are simulated.

use nix::errno::Errno;

use super::inode::InodeNumber;
use super::tree::Tree;
use super::{Fallocate, Result};

impl Tree {
    /// Changes a range of a file like fallocate(2). `EINVAL` for an empty range, and for a collapse
    /// or an insert whose range is not whole granules before the end of the file. `EFBIG` beyond
    /// the largest file.
    pub fn fallocate(
        &mut self,
        file: InodeNumber,
        how: Fallocate,
        offset: u64,
        len: u64,
    ) -> Result<()> {
        let size = self.inode(file).size();
        let end = offset
            .checked_add(len)
            .filter(|end| *end <= self.granule.most())
            .ok_or(Errno::EFBIG)?;
        if len == 0 {
            return Err(Errno::EINVAL);
        }
        let whole = self.granule.around(offset..end) == (offset..end);
        let has_journal = self.journal.is_some();
        match how {
            Fallocate::CollapseRange | Fallocate::InsertRange if has_journal => {
                Err(Errno::EOPNOTSUPP)
            }
            Fallocate::KeepSize => Ok(()),
            Fallocate::Allocate if end <= size => Ok(()),
            Fallocate::Allocate => self.resize(file, end),
            Fallocate::PunchHole if offset >= size => Ok(()),
            Fallocate::PunchHole if has_journal => self.cut(file, offset..end),
            Fallocate::ZeroRange if has_journal => {
                self.cut(file, offset..end)?;
                self.resize(file, size.max(end))
            }
            Fallocate::PunchHole => {
                self.write(file, offset, &vec![0; (end.min(size) - offset) as usize])
            }
            Fallocate::ZeroRange => self.write(file, offset, &vec![0; len as usize]),
            Fallocate::CollapseRange if !whole || end >= size => Err(Errno::EINVAL),
            Fallocate::CollapseRange => {
                let behind = self.read_range(file, end, size)?;
                self.write(file, offset, &behind)?;
                self.resize(file, size - len)
            }
            Fallocate::InsertRange if !whole || offset >= size => Err(Errno::EINVAL),
            Fallocate::InsertRange if size + len > self.granule.most() => Err(Errno::EFBIG),
            Fallocate::InsertRange => {
                let behind = self.read_range(file, offset, size)?;
                self.write(file, end, &behind)?;
                self.write(file, offset, &vec![0; len as usize])
            }
        }
    }

    /// Writes the contents of a file to another file, which must be empty (`EINVAL`).
    pub fn clone_file(&mut self, from: InodeNumber, to: InodeNumber) -> Result<()> {
        if self.inode(to).size() > 0 {
            return Err(Errno::EINVAL);
        }
        let size = self.inode(from).size();
        let bytes = self.read_range(from, 0, size)?;
        self.write(to, 0, &bytes)
    }

    fn read_range(&self, file: InodeNumber, start: u64, end: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (end - start) as usize];
        self.read(file, start, &mut bytes)?;
        Ok(bytes)
    }
}
