//! Descriptions of sectors for people.

use super::directory::entries;
use super::layout::{ROOT, is_of_inodes};
use super::volume::Volume;
use crate::broken::page_journal::SECTORS;

impl Volume {
    /// Returns the use of a sector in the current state of the file system.
    pub fn describe_sector(&self, sector: u64) -> String {
        let block = sector / SECTORS;
        if is_of_inodes(block) {
            let inodes = (0..self.count()).filter(|number| self.inode_sector(*number) == sector);
            let named =
                inodes.filter_map(|number| Some(format!("inode {number}, {}", self.path(number)?)));
            let names: Vec<String> = named.collect();
            return if names.is_empty() { "free inodes".to_owned() } else { names.join("; ") };
        }
        if !self.is_for_files(block) {
            return "the journal".to_owned();
        }
        let owner = (0..self.count()).find(|number| self.has_block(*number, block));
        match owner.and_then(|number| Some((self.inode(number).ok()?, self.path(number)?))) {
            Some((inode, path)) if u64::from(inode.indirect) == block => {
                format!("the indirect block of {path}")
            }
            Some((_, path)) => format!("a block of {path}"),
            None => "a free block".to_owned(),
        }
    }

    /// Returns true if an inode has this block. False also if that cannot be read.
    fn has_block(&self, number: u32, block: u64) -> bool {
        let blocks = self.inode(number).and_then(|inode| inode.blocks(|block| self.read(block)));
        blocks.is_ok_and(|blocks| blocks.contains(&block))
    }

    /// Returns the first path that leads to an inode through readable directories.
    fn path(&self, wanted: u32) -> Option<String> {
        let mut open = vec![(ROOT, String::new())];
        let mut met = vec![ROOT];
        while let Some((directory, path)) = open.pop() {
            if directory == wanted {
                return Some(if path.is_empty() { "/".to_owned() } else { path });
            }
            for (name, number) in entries(self, directory).unwrap_or_default() {
                if !met.contains(&number) {
                    met.push(number);
                    open.push((number, format!("{path}/{name}")));
                }
            }
        }
        None
    }
}
