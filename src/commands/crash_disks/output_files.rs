//! `--write`: each crash disk as one file per device.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use bytes::Bytes;
use explode_ramdisk::{BLOCK_BYTES, Disk, Identity, Image, SECTOR_BYTES};
use explode_runtime::base::{Exit, durable_file, durable_write, make_folder};
use explode_runtime::events::write_logwrites;

use nix::errno::Errno;

use super::Refusal;
use crate::cli::{CrashDisksArgs, WriteAs};
use crate::outputs;

/// Refuses a `--write` that is not a folder, before anything is computed.
pub(super) fn check_folder(args: &CrashDisksArgs) -> Result<(), Refusal> {
    match &args.write {
        Some(folder) if !folder.is_dir() && (folder.exists() || folder.is_symlink()) => {
            let text =
                format!("--write {}: this is not a folder; name another one", folder.display());
            Err((Exit::Usage, text))
        }
        _ => Ok(()),
    }
}

/// Writes a disk to the folder of `--write`, if there is one.
pub(super) fn write(
    args: &CrashDisksArgs,
    identity: Identity,
    image: &Image,
    base: &Image,
    devices: u32,
) -> Result<(), Refusal> {
    let Some(folder) = &args.write else { return Ok(()) };
    let failed = |path: &Path, error: std::io::Error| {
        let text =
            format!("cannot write {}: {error}; name another folder with --write", path.display());
        (outputs::exit(&error), text)
    };
    make_folder(folder).map_err(|error| failed(folder, error))?;
    for dev in 0..devices {
        let suffix = if args.write_as == WriteAs::Img { "img" } else { "log" };
        let path = folder.join(format!("{}.{dev}.{suffix}", identity));
        let found = path.canonicalize().unwrap_or_default();
        if std::iter::once(&args.log).chain(&args.base).any(|input| outputs::is_file(input, &found))
        {
            let text =
                format!("{}: this file is read; name another folder with --write", path.display());
            return Err((Exit::Usage, text));
        }
        let empty = Disk::new();
        let contents = image.disk(dev).unwrap_or(&empty);
        let written = match args.write_as {
            WriteAs::Img => durable_file(&path, |file| write_image(file, contents, args.size)),
            WriteAs::Logwrites => {
                let mut log = Vec::new();
                let changes = changes(base.disk(dev).unwrap_or(&empty), contents);
                write_logwrites(&mut log, &changes).and_then(|()| durable_write(&path, &log))
            }
        };
        written.map_err(|error| match error.raw_os_error() {
            Some(code) if code == Errno::EFBIG as i32 && args.write_as == WriteAs::Img => {
                too_large(args.size, &path)
            }
            _ => failed(&path, error),
        })?;
    }
    Ok(())
}

/// Returns the refusal of a size that the folder's file system does not allow for a file.
fn too_large(size: u64, path: &Path) -> Refusal {
    let path = path.display();
    let text = format!(
        "--size {size}: larger than a file can be in the folder of {path}; use a smaller one, or \
         --write-as logwrites"
    );
    (Exit::Usage, text)
}

/// Writes an image. Zero blocks become holes.
fn write_image(file: &mut File, disk: &Disk, size: u64) -> std::io::Result<()> {
    file.set_len(size)?;
    let mut block_bytes = [0; BLOCK_BYTES];
    for block in disk.blocks() {
        let start = block * BLOCK_BYTES as u64;
        let len = (size.saturating_sub(start)).min(BLOCK_BYTES as u64) as usize;
        disk.read(start, &mut block_bytes);
        file.seek(SeekFrom::Start(start))?;
        file.write_all(&block_bytes[..len])?;
    }
    Ok(())
}

/// Returns the sectors in which two disks differ, with the contents of the second.
fn changes(from: &Disk, to: &Disk) -> Vec<(u64, Bytes)> {
    let per_block = (BLOCK_BYTES / SECTOR_BYTES) as u64;
    let sectors = from
        .changed_blocks(to)
        .into_iter()
        .flat_map(|block| block * per_block..(block + 1) * per_block);
    let differ = sectors.filter(|sector| from.sector(*sector) != to.sector(*sector));
    differ.map(|sector| (sector, Bytes::copy_from_slice(to.sector(sector)))).collect()
}
