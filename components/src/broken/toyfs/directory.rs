//! Directories. Their contents are entries of 64 bytes. Byte 0 is the length of the name, 0 for a
//! free entry. Bytes 1 to 4 are the inode's number. The name follows.

use explode_ramdisk::files::{FileKind, Result};
use nix::errno::Errno;

use super::inode::MOST;
use super::layout::ROOT;
use super::path::names;
use super::volume::Volume;
use crate::broken::page_journal::BLOCK;

const ENTRY: usize = 64;
const NAME_AT: usize = 5;

/// Returns the names of a directory and the inodes that they lead to, in the order of the entries.
///
/// # Errors
/// `EIO`: it cannot be read.
pub fn entries(volume: &Volume, directory: u32) -> Result<Vec<(String, u32)>> {
    let pages = pages(volume, directory)?;
    Ok(pages.iter().flat_map(|(_, page)| page.chunks(ENTRY).filter_map(decode)).collect())
}

/// Returns the blocks of a directory with their contents.
fn pages(volume: &Volume, directory: u32) -> Result<Vec<(u64, Vec<u8>)>> {
    let inode = volume.inode(directory)?;
    let mut pages = Vec::new();
    for index in 0..(inode.size / BLOCK as u64).min(MOST) {
        if let Some(block) = inode.block(volume, index)? {
            pages.push((block, volume.read(block)?));
        }
    }
    Ok(pages)
}

fn decode(entry: &[u8]) -> Option<(String, u32)> {
    let length = usize::from(entry[0]);
    let name = entry.get(NAME_AT..NAME_AT + length).filter(|name| !name.is_empty())?;
    let inode = u32::from_le_bytes(entry[1..NAME_AT].try_into().expect("4 bytes"));
    Some((String::from_utf8_lossy(name).into_owned(), inode))
}

/// Sets the inode that a name leads to. `None` removes the name. The caller adjusts link counts.
///
/// # Errors
/// `ENOSPC`; `EIO`: the directory cannot be read.
pub fn point(volume: &mut Volume, directory: u32, name: &str, target: Option<u32>) -> Result<()> {
    let found = |entry: &[u8]| decode(entry).is_some_and(|(found_name, _)| found_name == name);
    let free = |entry: &[u8]| decode(entry).is_none();
    let pages = pages(volume, directory)?;
    let place = |wanted: &dyn Fn(&[u8]) -> bool| {
        pages.iter().find_map(|(block, page)| Some((*block, page.chunks(ENTRY).position(wanted)?)))
    };
    let (block, index) = match (place(&found), target) {
        (Some(place), _) => place,
        (None, None) => return Ok(()),
        (None, Some(_)) => match place(&free) {
            Some(place) => place,
            None => (grow(volume, directory)?, 0),
        },
    };
    let mut page = volume.read(block)?;
    let entry = &mut page[index * ENTRY..(index + 1) * ENTRY];
    entry.fill(0);
    if let Some(inode) = target {
        entry[0] = name.len() as u8;
        entry[1..NAME_AT].copy_from_slice(&inode.to_le_bytes());
        entry[NAME_AT..NAME_AT + name.len()].copy_from_slice(name.as_bytes());
    }
    volume.write_metadata(block, page)?;
    volume.touch(directory)
}

/// Adds one block of entries.
fn grow(volume: &mut Volume, directory: u32) -> Result<u64> {
    let mut inode = volume.inode(directory)?;
    let block = inode.add_block(volume, inode.size / BLOCK as u64)?;
    inode.size += BLOCK as u64;
    volume.set_inode(directory, &inode)?;
    volume.write_metadata(block, vec![0; BLOCK])?;
    Ok(block)
}

/// Returns the inode that a name in a directory leads to.
///
/// # Errors
/// `ENOTDIR`; `EIO`: the directory cannot be read.
pub fn find(volume: &Volume, directory: u32, name: &str) -> Result<Option<u32>> {
    if volume.inode(directory)?.kind != Some(FileKind::Directory) {
        return Err(Errno::ENOTDIR);
    }
    Ok(entries(volume, directory)?
        .into_iter()
        .find(|(found_name, _)| found_name == name)
        .map(|(_, inode)| inode))
}

/// Returns the inode of a path.
///
/// # Errors
/// `ENOENT`, and those of [`find`] and [`names`].
pub fn lookup(volume: &Volume, path: &str) -> Result<u32> {
    names(path)?.iter().try_fold(ROOT, |at, name| find(volume, at, name)?.ok_or(Errno::ENOENT))
}

/// Returns the directory of a path, the last name, and the inode that it leads to.
///
/// # Errors
/// `EBUSY` for the root, `ENOENT`, and those of [`find`] and [`names`].
pub fn place<'p>(volume: &Volume, path: &'p str) -> Result<(u32, &'p str, Option<u32>)> {
    let names = names(path)?;
    let (name, parents) = names.split_last().ok_or(Errno::EBUSY)?;
    let step = |at, name: &&str| find(volume, at, name)?.ok_or(Errno::ENOENT);
    let directory = parents.iter().try_fold(ROOT, step)?;
    Ok((directory, name, find(volume, directory, name)?))
}
