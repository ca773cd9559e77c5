//! The repair program: what makes no sense is cleared, as e2fsck does it.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::Kind;
use explode_runtime::recover::{Fault, Recovery};

use super::directory::{entries, point};
use super::inode::Inode;
use super::volume::{COUNT, ROOT, Volume};

/// Repairs a file system: clears inodes with a block that cannot be theirs or is another's too, takes away names that lead
/// nowhere, frees what has no name, and sets link counts right.
///
/// # Errors
/// There is no root directory.
pub fn repair(volume: &mut Volume) -> Result<Recovery, Fault> {
    if volume.inode(ROOT).kind != Some(Kind::Directory) {
        return Err(Fault::new("the root directory is gone"));
    }
    let mut claimed = BTreeSet::new();
    let mut repaired = false;
    for number in 0..COUNT {
        let inode = volume.inode(number);
        if inode.kind.is_none() {
            continue;
        }
        let blocks = inode.blocks(volume);
        let illegal = |block: &u64| !volume.is_for_files(*block) || claimed.contains(block);
        if blocks.iter().any(illegal) {
            volume.set_inode(number, &Inode::default());
            repaired = true;
        } else {
            claimed.extend(blocks);
        }
    }
    let mut links: BTreeMap<u32, u16> = BTreeMap::from([(ROOT, 1)]);
    let mut open = vec![ROOT];
    while let Some(directory) = open.pop() {
        for (name, number) in entries(volume, directory) {
            match volume.inode(number.min(COUNT - 1)).kind.filter(|_| number < COUNT) {
                None => {
                    point(volume, directory, &name, None)?;
                    repaired = true;
                }
                Some(kind) => {
                    let count = links.entry(number).or_default();
                    *count += 1;
                    if kind == Kind::Directory && *count == 1 {
                        open.push(number);
                    }
                }
            }
        }
    }
    for number in 0..COUNT {
        let mut inode = volume.inode(number);
        match links.get(&number) {
            // A file that was open when it lost its last name.
            None if inode.kind.is_some() => volume.set_inode(number, &Inode::default()),
            Some(links) if inode.links != *links => {
                inode.links = *links;
                volume.set_inode(number, &inode);
                repaired = true;
            }
            _ => {}
        }
    }
    volume.commit();
    volume.checkpoint();
    Ok(if repaired { Recovery::Repaired } else { Recovery::Clean })
}
