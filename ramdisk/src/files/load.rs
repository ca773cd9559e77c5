//! Loads the tree from the devices after a crash or a clean shutdown.
//!
//! A crash can leave the following, and a load must accept it: a name whose inode has nothing on
//! its device; a directory with two names, even in a cycle (each inode is loaded once); inodes
//! without names (they are not loaded and their numbers stay used). Contents that no crash can
//! leave are an error (`EIO`).

use std::collections::BTreeMap;

use nix::errno::Errno;

use super::access::Access;
use super::granule::Granule;
use super::inode::{DirEntry, Directory, INODES, Inode, InodeBody, InodeNumber, SIZE_SECTOR};
use super::journal::FileJournal;
use super::slot::Slot;
use super::tree::{ROOT, Tree};
use super::{FileKind, FileModel, Result, slot};
use crate::{Disk, Image, ReadRange, Storage, ZERO_SECTOR};

impl Tree {
    /// Loads the tree that `storage` holds. `EINVAL` if the granule is not whole sectors or the
    /// device numbers do not fit into 32 bits. `EIO` for a damaged sector.
    ///
    /// If the reads are `noted`, the whole tree counts as read. Otherwise the caller notes each
    /// part when it uses it.
    pub fn load(
        storage: Storage,
        base: u32,
        granule: Granule,
        noted: bool,
        model: FileModel,
    ) -> Result<Tree> {
        let last = base.checked_add(INODES - 1).ok_or(Errno::EINVAL)?;
        let granule = granule.checked()?;
        let journal =
            model.has_journal().then(|| FileJournal::open(&storage, base, granule, model));
        let image = storage.peek();
        let born = Access::of_new(FileKind::Directory);
        let root = Inode { links: 1, ..Inode::new(FileKind::Directory, born) };
        let mut inodes = BTreeMap::from([(ROOT, root)]);
        let mut unread = vec![ROOT];
        while let Some(number) = unread.pop() {
            if noted {
                storage.note(ReadRange::Device { dev: base + number });
            }
            let (directory, targets) = read_directory(image.disk(base + number))?;
            if let Some(inode) = inodes.get_mut(&number) {
                inode.body = InodeBody::Directory(directory);
            }
            for (kind, born, target) in targets {
                let inode = inodes.entry(target).or_insert_with(|| Inode::new(kind, born));
                if inode.kind() != kind || target == ROOT {
                    return Err(Errno::EIO);
                }
                inode.links += 1;
                match &mut inode.body {
                    _ if inode.links > 1 => {}
                    InodeBody::Symlink => {}
                    InodeBody::Directory(_) => unread.push(target),
                    InodeBody::File { size } => {
                        if noted {
                            storage.note_sector(base + target, SIZE_SECTOR);
                        }
                        *size = read_size(image.disk(base + target), granule)?;
                    }
                }
            }
        }
        // No note of these reads: only the creation of an inode depends on them, and it notes them.
        let used = image
            .devices()
            .filter(|dev| (base..=last).contains(dev) && holds_something(&image, *dev));
        let highest =
            used.map(|dev| dev - base).chain(inodes.keys().copied()).max().unwrap_or(ROOT);
        let (next, write_back_fails) = (highest + 1, false);
        Ok(Tree { storage, base, granule, inodes, next, noted, journal, write_back_fails })
    }
}

/// Returns the inodes that a path leads to, each with the number of its names. The root has one.
/// Empty for contents that no crash can leave.
pub fn names_of_inodes(image: &Image, base: u32) -> BTreeMap<InodeNumber, u32> {
    let mut links = BTreeMap::from([(ROOT, 1)]);
    let mut unread = vec![ROOT];
    while let Some(number) = unread.pop() {
        let Ok((_, targets)) = read_directory(image.disk(base + number)) else {
            return BTreeMap::new();
        };
        for (kind, _, target) in targets {
            let count = links.entry(target).or_insert(0);
            *count += 1;
            if *count == 1 && kind == FileKind::Directory {
                unread.push(target);
            }
        }
    }
    links
}

/// An inode that a name leads to: its kind, its mode and owner at creation, and its number.
type Target = (FileKind, Access, InodeNumber);

/// Returns the names of a directory, and each inode that they lead to.
fn read_directory(disk: Option<&Disk>) -> Result<(Directory, Vec<Target>)> {
    let mut directory = Directory::default();
    let mut targets = Vec::new();
    let Some(disk) = disk else { return Ok((directory, targets)) };
    for sector in disk.used_sectors(0..SIZE_SECTOR) {
        let Slot { kind, inode: number, born, name } = slot::decode(disk.sector(sector))?;
        let entry = DirEntry { slot: sector, leads_to: Some(number), led_to: Some(number) };
        if number >= INODES || directory.names.insert(name.to_owned(), entry).is_some() {
            return Err(Errno::EIO);
        }
        directory.next_slot = sector + 1;
        targets.push((kind, born, number));
    }
    Ok((directory, targets))
}

fn read_size(disk: Option<&Disk>, granule: Granule) -> Result<u64> {
    let Some(disk) = disk else { return Ok(0) };
    let (size, rest) = disk.sector(SIZE_SECTOR).split_at(size_of::<u64>());
    let size = size.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    let fits = size <= granule.most() && *rest == ZERO_SECTOR[size_of::<u64>()..];
    fits.then_some(size).ok_or(Errno::EIO)
}

/// Returns true if a device holds anything but zeroes. Equal images must load alike, so a disk that
/// was written and is all zeroes again does not count.
fn holds_something(image: &Image, dev: u32) -> bool {
    image.disk(dev).is_some_and(Disk::holds_something)
}
