//! Resolves the paths that the user names.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, geteuid};

use super::durable::folder_of;
use super::plain::{name, user};

/// The number of symbolic links in a path that Linux follows.
const MOST_LINKS: u32 = 40;
/// The mode bits of a folder such as `/tmp`: every user may make files in it, and remove only their
/// own.
const SHARED: u32 = 0o1002;

/// The result of following a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// A name in a folder, with no links in it. The name may be free.
    To(PathBuf),
    /// A file descriptor of this process: `/dev/stdout`, `/dev/fd/3`.
    Descriptor(i32),
    /// No usable name. The text says why.
    Nowhere(String),
}

/// Follows the symbolic links of a path to the end.
///
/// # Errors
/// Returns an error if another user has put a link, or its target, into a folder that all users
/// share.
pub(super) fn follow(path: &Path) -> Result<Leads, String> {
    if path.as_os_str().is_empty() {
        return Ok(Leads::Nowhere("the path is empty; name a file".to_owned()));
    }
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        if at.as_os_str().as_bytes().ends_with(b"/") {
            return Ok(Leads::Nowhere("this is the path of a folder; name a file".to_owned()));
        }
        let Some(file) = at.file_name() else {
            return Ok(Leads::Nowhere("this is a folder; name a file".to_owned()));
        };
        let folder = match folder_of(&at).canonicalize() {
            Ok(folder) => folder,
            Err(error) => return Ok(Leads::Nowhere(no_folder(folder_of(&at), &error))),
        };
        if Path::new("/proc/self/fd").canonicalize().is_ok_and(|descriptors| descriptors == folder)
        {
            let number = file.to_str().and_then(|number| number.parse().ok());
            return Ok(number.map_or_else(|| Leads::To(folder.join(file)), Leads::Descriptor));
        }
        let place = folder.join(file);
        let found = match fs::symlink_metadata(&place) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Leads::To(place)),
            Err(error) => return Ok(Leads::Nowhere(no_folder(folder_of(&at), &error))),
        };
        refuse_planted(&folder, &place, &found)?;
        if !found.is_symlink() {
            return Ok(Leads::To(place));
        }
        at = match fs::read_link(&place) {
            Ok(target) => folder.join(target),
            Err(error) => return Ok(Leads::Nowhere(format!("{error}; name another file"))),
        };
    }
    Ok(Leads::Nowhere("too many symbolic links; name another file".to_owned()))
}

fn no_folder(folder: &Path, error: &io::Error) -> String {
    let folder = folder.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no folder {folder}; make it, or name another file")
        }
        io::ErrorKind::NotADirectory => format!("{folder} is not a folder; name another file"),
        _ => format!("{folder}: {error}; name another file"),
    }
}

/// Refuses a file that another user has put into a folder that all users share. It can be a link to
/// a file of this user. Linux refuses such links if `fs.protected_symlinks` is set.
fn refuse_planted(folder: &Path, place: &Path, found: &Metadata) -> Result<(), String> {
    let Ok(shared) = folder.metadata() else { return Ok(()) };
    let ours = [geteuid().as_raw(), shared.uid()].contains(&found.uid());
    if ours || shared.mode() & SHARED != SHARED {
        return Ok(());
    }
    let (place, owner) = (place.display(), user(Uid::from_raw(found.uid())));
    let kind = name(found.file_type());
    Err(format!(
        "{place} is {kind} that {owner} has put into a folder that all users share; name another \
         file"
    ))
}
