//! Private folders under the temporary folder. A folder is removed with its value. Each is locked
//! by its process. If the process was killed, the next process that sweeps finds the folder
//! unlocked and removes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Once;

use libc::{O_DIRECTORY, O_NOFOLLOW};
use tempfile::TempDir;

use explode_runtime::base::foreign_owner;

/// The prefix of every private folder's name. [`RANDOM`] random letters and digits follow.
const PREFIX: &str = "explode-folder-";
const RANDOM: usize = 12;

/// A private folder, which is removed when this is dropped.
pub(super) struct PrivateFolder {
    folder: TempDir,
    /// The lock, held as long as the folder exists.
    _lock: File,
}

impl PrivateFolder {
    /// Makes a private folder. The first call in a process sweeps before.
    pub fn new() -> io::Result<PrivateFolder> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir()?;
            // Another process may remove the folder before it is locked.
            let lock = open(folder.path()).and_then(|lock| lock.lock().map(|()| lock));
            match lock {
                Ok(lock) if is_same(folder.path(), &lock) => {
                    return Ok(PrivateFolder { folder, _lock: lock });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the private folders of this user's killed processes. A folder that cannot be removed now
/// is left for the next sweep. Folders of other users, and names that [`PrivateFolder::new`] does
/// not make, are left alone.
pub fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_ours(&name) {
            continue;
        }
        let path = entry.path();
        let Ok(folder) = open(&path) else { continue };
        let of_this_user = folder.metadata().is_ok_and(|found| foreign_owner(&found).is_none());
        if of_this_user
            && folder.try_lock().is_ok()
            && is_same(&path, &folder)
            && !is_mounted_on(&name)
        {
            fs::remove_dir_all(&path).ok();
        }
    }
}

/// Returns true if [`PrivateFolder::new`] makes such names.
fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|random| {
        random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn open(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(folder)
}

/// Returns true if anything is mounted on the folder of this name or below it. A command may have
/// mounted it, and removing the folder would also empty the mount.
fn is_mounted_on(name: &str) -> bool {
    fs::read_to_string("/proc/self/mountinfo").map_or(true, |mounts| mounts.contains(name))
}

/// Returns true if `path` still leads to this open folder.
fn is_same(path: &Path, folder: &File) -> bool {
    let (Ok(named), Ok(open)) = (fs::symlink_metadata(path), folder.metadata()) else {
        return false;
    };
    (named.dev(), named.ino()) == (open.dev(), open.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_removes_only_private_folders_that_are_not_in_use() {
        let used = PrivateFolder::new().unwrap();
        let left =
            tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir().unwrap().keep();
        fs::write(left.join("file"), "contents").unwrap();
        // A user can have given a folder such a name.
        let named = tempfile::Builder::new().prefix("explode-folder-of-").tempdir().unwrap();
        sweep();
        assert!(used.path().exists() && named.path().exists() && !left.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
