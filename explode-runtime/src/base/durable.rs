//! Durable files: a temporary file, fsync, rename, fsync of the folder. A crash leaves the old
//! contents or the new.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, lgetxattr};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

use super::plain::check_plain;

/// The start and the end of the name of a temporary file. Six random characters are between them.
const PREFIX: &str = ".explode-";
const SUFFIX: &str = ".tmp";
/// The extended attribute that holds the access control list of a file.
const ACL: &str = "system.posix_acl_access";
/// The largest value of an extended attribute, in bytes.
const LARGEST_ATTRIBUTE: usize = 1 << 16;

/// Writes a file as [`durable_file`] does. A crash leaves the old contents or the new, and after
/// the return the new.
///
/// # Errors
/// Returns the errors of [`durable_file`].
pub fn durable_write(path: &Path, contents: &[u8]) -> io::Result<()> {
    durable_file(path, |file| file.write_all(contents))
}

/// Writes a file durably with the contents that `write` puts into it. A plain file at `path` is
/// replaced. The new file has its owner and its permissions.
///
/// # Errors
/// Returns an error if something other than a plain file is at `path` ([`super::is_not_plain`]),
/// and the errors of `write` and of the file system. The old file is then unchanged, and the
/// temporary file is removed.
pub fn durable_file(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut replacement = Replacement::of(path)?;
    write(replacement.file())?;
    replacement.commit()
}

/// The new contents of a file, in a temporary file beside it until they are committed. A drop
/// removes the temporary file.
#[derive(Debug)]
pub(super) struct Replacement {
    temporary: NamedTempFile,
    place: PathBuf,
}

impl Replacement {
    /// Makes the temporary file, with the owner and the permissions of the plain file at `place` if
    /// there is one.
    pub fn of(place: &Path) -> io::Result<Replacement> {
        let old = check_plain(place)?;
        // Until it has the old permissions, no other user may open the temporary file.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let make = |path: &Path| {
            File::options().read(true).write(true).create_new(true).mode(mode).open(path)
        };
        let temporary =
            Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder_of(place), make)?;
        if let Some(old) = old {
            keep_attributes(place, &old, temporary.as_file())?;
        }
        Ok(Replacement { temporary, place: place.to_owned() })
    }

    /// Returns the temporary file.
    pub fn file(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// Replaces the file, durably.
    pub fn commit(self) -> io::Result<()> {
        let Replacement { temporary, place } = self;
        temporary.as_file().sync_all()?;
        // A device or a link that has appeared there since is not replaced.
        check_plain(&place)?;
        temporary.persist(&place).map_err(|error| error.error)?;
        sync_folder(folder_of(&place))
    }
}

/// Gives a new file the owner, the permissions and the access control list of the one that it
/// replaces.
fn keep_attributes(place: &Path, old: &Metadata, new: &File) -> io::Result<()> {
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    new.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    let mut list = vec![0; LARGEST_ATTRIBUTE];
    match lgetxattr(place, ACL, &mut *list) {
        Ok(bytes) => fsetxattr(new, ACL, &list[..bytes], XattrFlags::empty())?,
        // The new file may have inherited a list from its folder.
        Err(Errno::NODATA) => match fremovexattr(new, ACL) {
            Err(Errno::NODATA) => {}
            removed => removed?,
        },
        Err(Errno::NOTSUP) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Removes the temporary files that a killed process left in a folder of explode's own.
///
/// # Errors
/// Returns the errors of the file system.
pub fn remove_temporary(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes a folder and its missing ancestors, durably.
///
/// # Errors
/// Returns the errors of the file system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let absent: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(path)?;
    absent.into_iter().try_for_each(|folder| sync_folder(folder_of(folder)))
}

/// Makes the names in a folder durable (fsync).
///
/// # Errors
/// Returns the errors of the file system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the folder that contains a path. For a bare name it is the current folder.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use rustix::fs::setxattr;

    use super::*;

    /// Returns an access control list that lets one more user read, in the form of the attribute.
    fn list() -> Vec<u8> {
        const VERSION: u32 = 2;
        const NO_ID: u32 = u32::MAX;
        // Each entry is a tag, permissions and an identity. The tags are owner, a user, group, mask
        // and others.
        let entries = [
            (0x01_u16, 6_u16, NO_ID),
            (0x02, 4, 12_345),
            (0x04, 0, NO_ID),
            (0x10, 4, NO_ID),
            (0x20, 0, NO_ID),
        ];
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for (tag, permissions, identity) in entries {
            bytes.extend([tag.to_le_bytes(), permissions.to_le_bytes()].as_flattened());
            bytes.extend(identity.to_le_bytes());
        }
        bytes
    }

    fn list_of(path: &Path) -> Result<Vec<u8>, Errno> {
        let mut list = vec![0; LARGEST_ATTRIBUTE];
        let bytes = lgetxattr(path, ACL, &mut *list)?;
        list.truncate(bytes);
        Ok(list)
    }

    #[test]
    fn an_access_control_list_stays_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        match setxattr(&path, ACL, &list(), XattrFlags::empty()) {
            Err(Errno::NOTSUP) => {
                let text = "unsupported: access control lists in the temporary folder\n";
                io::stderr().write_all(text.as_bytes()).unwrap();
                return;
            }
            set => set.unwrap(),
        }
        durable_write(&path, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), list_of(&path)), (b"new".to_vec(), Ok(list())));
        // A default list of the folder applies to new files only.
        let plain = folder.path().join("plain");
        fs::write(&plain, "old").unwrap();
        setxattr(folder.path(), "system.posix_acl_default", &list(), XattrFlags::empty()).unwrap();
        durable_write(&plain, b"new").unwrap();
        assert_eq!(list_of(&plain), Err(Errno::NODATA));
    }

    #[test]
    fn a_file_that_is_not_committed_leaves_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let failed = durable_file(&path, |file| {
            file.write_all(b"new").and(Err(io::ErrorKind::Other.into()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
