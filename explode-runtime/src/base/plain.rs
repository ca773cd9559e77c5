//! Plain files: checks of the paths in folders of explode's own, and of the owners of files.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::{Uid, User, geteuid};

/// An error: a path of explode's own holds another type of file than it must.
#[derive(Debug, thiserror::Error)]
#[error("this is {is}, and must be {must}")]
struct NotPlain {
    is: &'static str,
    must: &'static str,
}

/// Returns true if the error is that a path holds something other than the plain file, or the
/// folder, that must be there.
pub fn is_not_plain(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotPlain>())
}

fn not_plain(is: FileType, must: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, NotPlain { is: name(is), must })
}

/// Returns the name of a type of file, with its article.
pub(super) fn name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_file() => "a plain file",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_block_device() => "a block device",
        _ => "of an unknown type",
    }
}

/// Returns the metadata of the plain file at a path. `None` if the path is free. Links are not
/// followed.
///
/// # Errors
/// Returns an error if something else is there ([`is_not_plain`]), or if the file system fails.
pub fn check_plain(path: &Path) -> io::Result<Option<Metadata>> {
    check(path, FileType::is_file, "a plain file")
}

/// Returns the metadata of the folder at a path. `None` if the path is free. Links are not
/// followed.
///
/// # Errors
/// Returns the errors of [`check_plain`].
pub fn check_folder(path: &Path) -> io::Result<Option<Metadata>> {
    check(path, FileType::is_dir, "a folder")
}

fn check(
    path: &Path,
    fits: fn(&FileType) -> bool,
    must: &'static str,
) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if fits(&metadata.file_type()) => Ok(Some(metadata)),
        Ok(metadata) => Err(not_plain(metadata.file_type(), must)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a file in a folder of explode's own. A link is not followed, and opening never waits.
///
/// # Errors
/// Returns an error if something other than a plain file is there ([`is_not_plain`]), or if the
/// file system fails.
pub fn open_plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // The check comes first, because opening a device can have an effect.
    check_plain(path)?;
    let file = options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(not_plain(kind, "a plain file")) }
}

/// Returns the name and number of the owner. `None` if it is the user of this process.
pub fn foreign_owner(metadata: &Metadata) -> Option<String> {
    let owner = Uid::from_raw(metadata.uid());
    (owner != geteuid()).then(|| user(owner))
}

/// Returns the name and number of a user.
pub(super) fn user(uid: Uid) -> String {
    match User::from_uid(uid) {
        Ok(Some(user)) => format!("{} (uid {uid})", user.name),
        _ => format!("uid {uid}"),
    }
}
