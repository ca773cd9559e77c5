//! The repair program: what makes no sense is cleared, as e2fsck does it.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::Kind;
use explode_runtime::recover::{Fault, Recovery};

use super::directory::{entries, point};
use super::inode::Inode;
use super::volume::{ROOT, Volume};

/// Repairs a file system: clears inodes with a block that cannot be theirs or is another's too, takes away names that lead
/// nowhere, frees what has no name, and sets link counts right.
///
/// # Errors
/// There is no root directory.
pub fn repair(volume: &mut Volume) -> Result<Recovery, Fault> {
    if volume.inode(ROOT).kind != Some(Kind::Directory) {
        return Err(Fault::new("the root directory is gone"));
    }
    let count = volume.count();
    let mut claimed = BTreeSet::new();
    let mut repaired = false;
    for number in 0..count {
        let inode = volume.inode(number);
        if inode.kind.is_none() {
            continue;
        }
        if !volume.has_journal() {
            repaired |= mend_indirect(volume, &inode, &claimed);
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
            match volume.inode(number.min(count - 1)).kind.filter(|_| number < count) {
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
    for number in 0..count {
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

/// Without a journal an indirect block may be older or newer than its inode: takes out of it what cannot be the file's, or is
/// another's already. Whatever else it may have been, it is this inode's now.
fn mend_indirect(volume: &mut Volume, inode: &Inode, claimed: &BTreeSet<u64>) -> bool {
    let block = u64::from(inode.indirect);
    if !volume.is_for_files(block) || claimed.contains(&block) {
        return false;
    }
    let mut page = volume.read(block);
    let mut mended = false;
    for number in page.chunks_exact_mut(4).filter(|number| **number != [0; 4]) {
        let at = u64::from(u32::from_le_bytes([number[0], number[1], number[2], number[3]]));
        if !volume.is_for_files(at) || claimed.contains(&at) {
            number.fill(0);
            mended = true;
        }
    }
    if mended {
        volume.write_metadata(block, page);
    }
    mended
}
