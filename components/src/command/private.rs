//! Private folders under the temporary folder. None stays behind: each has the lock of its process.
//! A folder without a lock, because its process was killed, is removed by the next process that
//! sweeps.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Once;

use libc::{O_DIRECTORY, O_NOFOLLOW};
use tempfile::TempDir;

use explode_runtime::base::foreign_owner;

/// What the names of all of them begin with; as many random letters and digits as [`RANDOM`] says
/// follow.
const PREFIX: &str = "explode-folder-";
const RANDOM: usize = 12;

/// A private folder; gone when this is dropped.
pub(super) struct PrivateFolder {
    folder: TempDir,
    /// Held for as long as the folder is there.
    _lock: File,
}

impl PrivateFolder {
    /// Makes one; the first one of a process sweeps before.
    pub fn new() -> io::Result<PrivateFolder> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir()?;
            // Another process may remove it between the two lines.
            let lock = open(folder.path()).and_then(|lock| lock.lock().map(|()| lock));
            match lock {
                Ok(lock) if is_there(folder.path(), &lock) => {
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

/// Removes the private folders that killed processes of this user have left. What cannot be removed
/// now waits for the next time. A folder of another user, or with a name that
/// [`PrivateFolder::new`] does not give, stays.
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
            && is_there(&path, &folder)
            && !is_mounted_on(&name)
        {
            fs::remove_dir_all(&path).ok();
        }
    }
}

/// Does [`PrivateFolder::new`] give such names?
fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|random| {
        random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn open(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(folder)
}

/// Is anything mounted on the folder of this name, or below it? A command may have done that: it
/// would be emptied, too.
fn is_mounted_on(name: &str) -> bool {
    fs::read_to_string("/proc/self/mountinfo").map_or(true, |mounts| mounts.contains(name))
}

/// Is this still the folder of that name?
fn is_there(path: &Path, folder: &File) -> bool {
    let (Ok(named), Ok(open)) = (fs::symlink_metadata(path), folder.metadata()) else {
        return false;
    };
    (named.dev(), named.ino()) == (open.dev(), open.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_was_left_goes() {
        let used = PrivateFolder::new().unwrap();
        let left =
            tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir().unwrap().keep();
        fs::write(left.join("file"), "contents").unwrap();
        // A user can have named a folder so.
        let named = tempfile::Builder::new().prefix("explode-folder-of-").tempdir().unwrap();
        sweep();
        assert!(used.path().exists() && named.path().exists() && !left.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
