//! Descriptions of the contents of sectors.

use super::attributes;
use super::inode::{DirEntry, InodeBody, InodeNumber, SIZE_SECTOR};
use super::journal::{JOURNAL, SIZE_TAG, TAGS, granule_of};
use super::tree::{ROOT, Tree};
use crate::SECTOR_BYTES;

impl Tree {
    /// Describes a sector of an inode's device: contents of a file, its size, a name, a mode or an
    /// attribute. `None` if the contents are unknown.
    pub fn describe_sector(&self, number: InodeNumber, sector: u64) -> Option<String> {
        if number == JOURNAL && self.journal.is_some() {
            return Some("the journal".to_owned());
        }
        let inode = self.inodes.get(&number)?;
        let removed = || self.path_of(number, |name| name.led_to).map(|path| path + " (removed)");
        let path = self.path_of(number, |name| name.leads_to).or_else(removed);
        if let Some(kind) = attributes::describe(sector) {
            let path = path.unwrap_or_else(|| format!("inode {number}"));
            return Some(format!("{kind} of {path}"));
        }
        match &inode.body {
            InodeBody::Symlink => {
                let link = path
                    .unwrap_or_else(|| format!("a symbolic link without a name, inode {number}"));
                Some(format!("the target of {link}"))
            }
            InodeBody::Directory(directory) => {
                let (name, _) = directory.names.iter().find(|(_, name)| name.slot == sector)?;
                let folder = path.unwrap_or_else(|| format!("(directory {number})"));
                Some(format!("the name {}/{name}", folder.trim_end_matches('/')))
            }
            InodeBody::File { .. } => {
                let file = path.unwrap_or_else(|| format!("a file without a name, inode {number}"));
                Some(match sector {
                    SIZE_SECTOR | SIZE_TAG => format!("the size of {file}"),
                    TAGS.. => {
                        let start = granule_of(sector) * u64::from(self.granule.0);
                        format!("{file} at byte {start}")
                    }
                    _ => format!("{file} at byte {}", sector * SECTOR_BYTES as u64),
                })
            }
        }
    }

    /// Returns the first path that leads to an inode. `None` if there is none.
    pub fn path(&self, number: InodeNumber) -> Option<String> {
        self.path_of(number, |name| name.leads_to)
    }

    /// Returns the first path that leads to an inode, where `leads` returns the inode of a name.
    /// The search is in order of names, and a directory comes before its contents.
    fn path_of(
        &self,
        wanted: InodeNumber,
        leads: fn(&DirEntry) -> Option<InodeNumber>,
    ) -> Option<String> {
        if wanted == ROOT {
            return Some("/".to_owned());
        }
        let mut seen = vec![ROOT];
        let mut waiting = std::collections::VecDeque::from([(ROOT, String::new())]);
        while let Some((at, path)) = waiting.pop_front() {
            let InodeBody::Directory(directory) = &self.inodes.get(&at)?.body else { continue };
            for (name, target) in
                directory.names.iter().filter_map(|(name, at)| Some((name, leads(at)?)))
            {
                let path = format!("{path}/{name}");
                if target == wanted {
                    return Some(path);
                }
                if !seen.contains(&target) {
                    seen.push(target);
                    waiting.push_back((target, path));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::files::{Files, Granule, OpenFlags};
    use crate::{Image, Recording, SimFiles, Storage};

    #[test]
    fn each_sector_is_named_after_its_contents() {
        let storage = Storage::new(Image::new(), Recording::Off);
        let files = SimFiles::mount(storage, 100, Granule(4096)).unwrap();
        files.mkdir("/d").unwrap();
        let fd = files.open("/d/f", OpenFlags::CREATE).unwrap();
        files.pwrite(fd, 0, &[1; 5000]).unwrap();
        let file = files.device(files.fstat(fd).unwrap().inode);
        let directory = files.device(files.stat("/d").unwrap().inode);
        let owner = |dev, sector| files.describe_sector(dev, sector).unwrap_or_default();
        assert_eq!(owner(100, 0), "the name /d");
        assert_eq!(owner(directory, 0), "the name /d/f");
        assert_eq!(owner(file, 8), "/d/f at byte 4096");
        assert_eq!(owner(file, 1 << 40), "the size of /d/f");
        assert_eq!(files.describe_sector(100, 1), None);
        assert_eq!(files.describe_sector(99, 0), None);
        files.link("/d/f", "/g").unwrap();
        files.unlink("/d/f").unwrap();
        assert_eq!(owner(file, 0), "/g at byte 0");
        files.unlink("/g").unwrap();
        assert_eq!(owner(directory, 0), "the name /d/f");
        assert_eq!(owner(file, 0), "/g (removed) at byte 0");
    }
}
