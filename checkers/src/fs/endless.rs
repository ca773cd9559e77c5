//! Directories that contain themselves, which a walk by paths would follow for ever (EXC-5).

use std::collections::BTreeMap;

use explode_ramdisk::files::Files;

/// The number of levels between two checks for a circle. Checks are rare, because each is a stat(2)
/// of every directory on the path.
const LOOK: usize = 64;
/// The largest depth of a walk. A path of Linux has at most 4096 bytes (`PATH_MAX`).
const DEEPEST: usize = 1024;

/// Checks that a walk may enter a directory: the path to it has no circle and is not too deep.
///
/// # Errors
/// Returns a text if the path leads in a circle, if it is too deep, or if a directory on it cannot
/// be read.
pub fn goes_on(files: &dyn Files, path: &str) -> Result<(), String> {
    let depth = path.matches('/').count();
    if !depth.is_multiple_of(LOOK) {
        return Ok(());
    }
    let mut seen = BTreeMap::new();
    let ends = path.match_indices('/').skip(1).map(|(end, _)| end).chain([path.len()]);
    for directory in ends.map(|end| &path[..end]) {
        let stat = files
            .stat(directory)
            .map_err(|errno| format!("{directory} cannot be read: {errno}"))?;
        if let Some(above) = seen.insert(stat.inode, directory) {
            return Err(format!(
                "{directory} is the directory {above} again, which contains itself"
            ));
        }
    }
    if depth >= DEEPEST {
        return Err(format!(
            "directories go on for more than {DEEPEST} levels, from {} on",
            &path[..path.len().min(80)]
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags, Result, Stat};
    use nix::errno::Errno;

    use crate::fs::model::Groups;
    use crate::fs::topology::FoundTopology;

    /// A chain of `deep` nested directories, each named `d`. Each `every`th one has the inode of
    /// the first again.
    struct Nested {
        deep: usize,
        every: usize,
    }

    impl Files for Nested {
        fn stat(&self, path: &str) -> Result<Stat> {
            let inode = (path.matches('/').count() % self.every) as u32 + 1;
            Ok(Stat { inode, kind: FileKind::Directory, size: 0, links: 1 })
        }
        fn readdir(&self, path: &str) -> Result<Vec<(String, FileKind)>> {
            let depth = if path == "/" { 0 } else { path.matches('/').count() };
            Ok(if depth < self.deep {
                vec![("d".to_owned(), FileKind::Directory)]
            } else {
                Vec::new()
            })
        }
        fn open(&self, _: &str, _: OpenFlags) -> Result<Fd> {
            Err(Errno::ENOSYS)
        }
        fn close(&self, _: Fd) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn pread(&self, _: Fd, _: u64, _: &mut [u8]) -> Result<usize> {
            Err(Errno::ENOSYS)
        }
        fn pwrite(&self, _: Fd, _: u64, _: &[u8]) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn ftruncate(&self, _: Fd, _: u64) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn fstat(&self, _: Fd) -> Result<Stat> {
            Err(Errno::ENOSYS)
        }
        fn fsync(&self, _: Fd) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn fdatasync(&self, _: Fd) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn mkdir(&self, _: &str) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn rmdir(&self, _: &str) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn link(&self, _: &str, _: &str) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn unlink(&self, _: &str) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn rename(&self, _: &str, _: &str) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn sync_dir(&self, _: &str) -> Result<()> {
            Err(Errno::ENOSYS)
        }
        fn sync(&self) -> Result<()> {
            Err(Errno::ENOSYS)
        }
    }

    #[test]
    fn a_directory_that_contains_itself_is_named_and_a_deep_one_is_read() {
        let walks = |deep, every| {
            let files = Nested { deep, every };
            let found = FoundTopology::of(&files, Groups::NONE).map(drop);
            found.map_err(|unreadable| unreadable.to_string())
        };
        assert_eq!(walks(200, usize::MAX), Ok(()));
        let message = |again: &str, first: &str| {
            format!("{again} is the directory {first} again, which contains itself")
        };
        assert_eq!(walks(usize::MAX, 1), Err(message("/d/d", "/d")));
        assert_eq!(walks(usize::MAX, 3), Err(message("/d/d/d/d", "/d")));
        let endless = walks(usize::MAX, usize::MAX).unwrap_err();
        assert!(
            endless.starts_with("directories go on for more than 1024 levels, from /d/d/"),
            "{endless}"
        );
    }
}
