//! A private folder of this machine: the leaf of stacks of shell commands that need no guest
//! kernel.
//!
//! It supports soft crashes only: a crash disk is a copy of the folder at that instant. An archive
//! of the folder is kept on a simulated disk. It is updated when the stack settles and when it is
//! unmounted. So restarts, crash disks and traces work as in other stacks. Only blocks that differ
//! are written. The first block holds the length of the archive. The archive keeps modes, names,
//! links and contents, but no times or owners.

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::{fs, io};

use explode_ramdisk::{BLOCK_BYTES, Flags, RamDisk, SECTORS_PER_BLOCK};

use super::private::PrivateFolder;
use explode_runtime::base::{Blame, Mode, Options, StepError, UsageError};
use explode_runtime::stack::{Abilities, Below, Component, ComponentDef, Facts, WriteOut};

/// The name in the registry.
pub const NAME: &str = "folder";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "a private folder for stacks of shell commands, with soft crashes only",
        build,
    )
    .modes([Mode::Mem])
    .hosts_commands()
}

/// The size of the simulated disk in bytes. An archive is slightly larger than the contents of the
/// folder.
const ROOM_BYTES: u64 = 1 << 30;

#[derive(Default)]
struct Folder {
    mounted: Option<MountedFolder>,
}

struct MountedFolder {
    folder: PrivateFolder,
    disk: RamDisk,
    /// The contents of the disk, without the zeroes at the end.
    held: RefCell<Vec<u8>>,
}

fn build(_options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(Folder::default()))
}

impl Component for Folder {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let sectors = ROOM_BYTES / BLOCK_BYTES as u64 * SECTORS_PER_BLOCK;
        let disk = RamDisk::new(below.devices.storage()?.clone(), below.first_device, sectors);
        let mut first = vec![0; BLOCK_BYTES];
        disk.read(0, &mut first);
        let (length, _) = first.split_first_chunk().expect("a block has eight bytes");
        let length = u64::from_le_bytes(*length).min(ROOM_BYTES - BLOCK_BYTES as u64) as usize;
        let mut held = vec![0; BLOCK_BYTES + length.next_multiple_of(BLOCK_BYTES)];
        disk.read(0, &mut held);
        let unpacked = PrivateFolder::new().and_then(|folder| {
            unpack(&held[BLOCK_BYTES..BLOCK_BYTES + length], folder.path())?;
            Ok(folder)
        });
        let folder = unpacked.map_err(|error| tool(&error))?;
        self.mounted = Some(MountedFolder { folder, disk, held: RefCell::new(held) });
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.write_out()?;
        self.mounted = None;
        Ok(())
    }

    fn facts(&self) -> Facts {
        // The commands that use the folder also read other files.
        Facts::default().devices(1).reads_only_its_disks(false)
    }

    fn abilities(&self) -> Abilities<'_> {
        let path = self.mounted.as_ref().map(|mounted| mounted.folder.path().to_owned());
        Abilities::default().path(path).write_out(self)
    }
}

impl WriteOut for Folder {
    fn write_out(&self) -> Result<(), StepError> {
        let Some(MountedFolder { folder, disk, held }) = &self.mounted else { return Ok(()) };
        let mut wanted = vec![0; BLOCK_BYTES];
        pack(folder.path(), &mut wanted).map_err(|error| tool(&error))?;
        let length = wanted.len() - BLOCK_BYTES;
        wanted[..8].copy_from_slice(&(length as u64).to_le_bytes());
        wanted.resize(wanted.len().next_multiple_of(BLOCK_BYTES), 0);
        if wanted.len() as u64 > ROOM_BYTES {
            return Err(tool(&io::Error::other(format!(
                "it holds more than {ROOM_BYTES} bytes; check with less"
            ))));
        }
        let mut held = held.borrow_mut();
        let zeroes = vec![0; BLOCK_BYTES];
        let blocks = wanted.len().max(held.len()) / BLOCK_BYTES;
        let block = |bytes: &[u8], index: usize| {
            bytes.chunks(BLOCK_BYTES).nth(index).unwrap_or(&zeroes).to_vec()
        };
        for index in 0..blocks {
            let new = block(&wanted, index);
            if new != block(&held, index) {
                disk.write(index as u64 * SECTORS_PER_BLOCK, &new, Flags::NONE);
            }
        }
        disk.flush();
        *held = wanted;
        Ok(())
    }
}

fn tool(error: &io::Error) -> StepError {
    StepError::new(format!("the private folder: {error}")).blame(Blame::Tool)
}

/// Appends an archive of a folder's contents. Equal folders give equal bytes.
fn pack(folder: &Path, to: &mut Vec<u8>) -> io::Result<()> {
    let mut archive = tar::Builder::new(to);
    pack_below(folder, Path::new(""), &mut archive)?;
    archive.finish()
}

fn pack_below(
    folder: &Path,
    below: &Path,
    archive: &mut tar::Builder<&mut Vec<u8>>,
) -> io::Result<()> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        let (path, name) = (folder.join(&name), below.join(&name));
        let metadata = fs::symlink_metadata(&path)?;
        let mut header = tar::Header::new_gnu();
        header.set_mode(metadata.mode() & 0o7777);
        header.set_size(0);
        if metadata.is_symlink() {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, &name, fs::read_link(&path)?)?;
        } else if metadata.is_dir() {
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, &name, io::empty())?;
            pack_below(&path, &name, archive)?;
        } else if metadata.is_file() {
            let contents = fs::read(&path)?;
            header.set_size(contents.len() as u64);
            archive.append_data(&mut header, &name, contents.as_slice())?;
        }
        // Sockets, pipes and devices belong to processes, which a crash ends.
    }
    Ok(())
}

fn unpack(bytes: &[u8], folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(bytes);
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(false);
    archive.unpack(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_comes_back_as_it_was() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("sub")).unwrap();
        fs::write(from.path().join("sub/file"), "contents").unwrap();
        fs::set_permissions(from.path().join("sub/file"), fs::Permissions::from_mode(0o600))
            .unwrap();
        std::os::unix::fs::symlink("sub/file", from.path().join("link")).unwrap();
        let mut bytes = Vec::new();
        pack(from.path(), &mut bytes).unwrap();
        unpack(&bytes, to.path()).unwrap();
        assert_eq!(fs::read_to_string(to.path().join("link")).unwrap(), "contents");
        assert_eq!(fs::metadata(to.path().join("sub/file")).unwrap().mode() & 0o7777, 0o600);
        let mut again = Vec::new();
        pack(to.path(), &mut again).unwrap();
        assert_eq!(bytes, again);
        unpack(&[], tempfile::tempdir().unwrap().path()).unwrap();
    }
}
