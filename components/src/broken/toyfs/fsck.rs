//! The repair program, which clears inconsistent metadata like e2fsck.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::{self, FileKind};
use explode_runtime::base::StepError;
use explode_runtime::stack::Recovery;
use nix::errno::Errno;

use super::directory::{entries, point};
use super::inode::{ToyInode, block_number};
use super::layout::ROOT;
use super::volume::Volume;
use crate::engine::EngineError;

/// Repairs a file system. It clears inodes with an illegal block or another inode's block, removes
/// names that lead nowhere, frees inodes without a name, and corrects link counts.
///
/// # Errors
/// There is no root directory, or no room for a copy. Returns an error of the system below if a
/// sector cannot be read.
pub fn repair(volume: &mut Volume) -> Result<Recovery, StepError> {
    match repair_all(volume) {
        Ok(Some(recovery)) => Ok(recovery),
        Ok(None) => Err(StepError::new("the root directory is gone")),
        Err(Errno::EIO) => Err(EngineError::from(Errno::EIO).into()),
        Err(errno) => Err(StepError::new(errno)),
    }
}

/// Repairs a file system like [`repair`]. `None` if there is no root directory.
fn repair_all(volume: &mut Volume) -> files::Result<Option<Recovery>> {
    if volume.inode(ROOT)?.kind != Some(FileKind::Directory) {
        return Ok(None);
    }
    let count = volume.count();
    let mut claimed = BTreeSet::new();
    let mut repaired = false;
    for number in 0..count {
        if volume.inode(number)?.kind.is_none() {
            continue;
        }
        if !volume.has_journal() {
            repaired |= mend(volume, number, &claimed)?;
        }
        let blocks = volume.inode(number)?.blocks(|block| volume.read(block))?;
        let illegal = |block: &u64| !volume.is_for_files(*block) || claimed.contains(block);
        if blocks.iter().any(illegal) {
            volume.set_inode(number, &ToyInode::default())?;
            repaired = true;
        } else {
            claimed.extend(blocks);
        }
    }
    let mut links: BTreeMap<u32, u16> = BTreeMap::from([(ROOT, 1)]);
    let mut open = vec![ROOT];
    while let Some(directory) = open.pop() {
        for (name, number) in entries(volume, directory)? {
            match volume.inode(number.min(count - 1))?.kind.filter(|_| number < count) {
                None => {
                    point(volume, directory, &name, None)?;
                    repaired = true;
                }
                Some(kind) => {
                    let count = links.entry(number).or_default();
                    *count += 1;
                    if kind == FileKind::Directory && *count == 1 {
                        open.push(number);
                    }
                }
            }
        }
    }
    for number in 0..count {
        let mut inode = volume.inode(number)?;
        match links.get(&number) {
            // The file was open when it lost its last name.
            None if inode.kind.is_some() => volume.set_inode(number, &ToyInode::default())?,
            Some(links) if inode.links != *links => {
                inode.links = *links;
                volume.set_inode(number, &inode)?;
                repaired = true;
            }
            _ => {}
        }
    }
    volume.commit()?;
    volume.checkpoint();
    Ok(Some(if repaired { Recovery::Repaired } else { Recovery::Clean }))
}

/// Repairs the block numbers of an inode. Without a journal an inode and its indirect block may be
/// of different times, and a block may be in two files. Illegal numbers in the indirect block are
/// cleared. A block of another inode is copied.
fn mend(volume: &mut Volume, number: u32, claimed: &BTreeSet<u64>) -> files::Result<bool> {
    let mut inode = volume.inode(number)?;
    let indirect = u64::from(inode.indirect);
    let is_usable = volume.is_for_files(indirect) && !claimed.contains(&indirect);
    let page = if is_usable { volume.read(indirect)? } else { Vec::new() };
    let mut numbers: Vec<u32> = page.chunks_exact(4).map(block_number).collect();
    let (mut mended, mut copied) = (false, false);
    for number in &mut numbers {
        if *number != 0 && !volume.is_for_files(u64::from(*number)) {
            *number = 0;
            mended = true;
        }
    }
    for number in inode.direct.iter_mut().chain(&mut numbers) {
        if claimed.contains(&u64::from(*number)) {
            let copy = volume.allocate()?;
            volume.write_data(copy, volume.read_data(u64::from(*number))?);
            *number = copy as u32;
            copied = true;
        }
    }
    if copied {
        // The copies must be durable before anything leads to them.
        volume.commit()?;
        volume.set_inode(number, &inode)?;
    }
    if mended || copied && is_usable {
        let page = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        volume.write_metadata(indirect, page)?;
    }
    Ok(mended || copied)
}
