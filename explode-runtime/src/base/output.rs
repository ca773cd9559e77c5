//! Output files that the user names.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use libc::O_NOCTTY;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat, getegid, geteuid, getgroups};

use super::durable::{Replacement, folder_of};
use super::links::{Leads, follow};

/// The error of a path that cannot be an output file. The text says what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

impl From<String> for Unfit {
    fn from(why: String) -> Unfit {
        Unfit(why)
    }
}

/// An output file that the user names, checked before anything is written.
///
/// | what the path leads to | how it is written |
/// | --- | --- |
/// | no file, or a plain file | a temporary file in the same folder, fsync, rename, folder fsync |
/// | a symbolic link | the target is written; the link stays |
/// | a FIFO, a character device | opened without `O_CREAT` and `O_TRUNC` |
/// | a Unix socket | connected to when the path is checked |
/// | standard output or error (`/dev/stdout`) | the stream itself, even if it is a plain file |
/// | a folder, a block device | refused |
///
/// A plain file keeps its owner and its permissions. Other hard links to it keep the old contents.
#[derive(Debug)]
pub struct Output {
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A plain file, or a free name.
    File(PathBuf),
    /// A name in a folder that the run will make.
    Later(PathBuf),
    Stream(PathBuf),
    Socket(UnixStream),
    StandardOutput,
    StandardError,
    /// A plain file that is open in this process as a file descriptor. Output is appended to it.
    Descriptor(PathBuf),
}

impl Output {
    /// Checks a path. Nothing is written and no file is opened, except that a socket is connected
    /// to.
    ///
    /// # Errors
    /// Returns an error if the target cannot be written, or if it does not exist and cannot be
    /// made.
    pub fn at(path: &Path) -> Result<Output, Unfit> {
        let leads = follow(path)?;
        let place = match (fs::metadata(path), leads) {
            (Ok(found), _) if found.is_dir() => {
                return Err(Unfit("this is a folder; name a file".to_owned()));
            }
            (Ok(found), _) if found.file_type().is_block_device() => {
                return Err(Unfit(
                    "this is a block device, which is never written; name a file".to_owned(),
                ));
            }
            (Ok(_), Leads::Descriptor(1)) => Place::StandardOutput,
            (Ok(_), Leads::Descriptor(2)) => Place::StandardError,
            (Ok(found), Leads::Descriptor(_)) if found.is_file() => {
                Place::Descriptor(path.to_owned())
            }
            (Ok(found), _) if is_stream(&found) => Place::Stream(path.to_owned()),
            (Ok(found), _) if found.file_type().is_socket() => Place::Socket(connect(path)?),
            (Ok(found), Leads::To(place)) => {
                check_replaceable(&place, &found)?;
                Place::File(place)
            }
            (Err(error), Leads::To(place)) if error.kind() == io::ErrorKind::NotFound => {
                check_free(&place)?;
                Place::File(place)
            }
            (_, Leads::Nowhere(why)) => return Err(Unfit(why)),
            (Err(error), _) => return Err(Unfit(format!("{error}; name another file"))),
            (Ok(_), Leads::Descriptor(_)) => {
                return Err(Unfit(
                    "this file descriptor cannot be written; name a file".to_owned(),
                ));
            }
        };
        Ok(Output { place })
    }

    /// Checks a path that may be inside the folder `made`, which the run makes, or inside an
    /// ancestor of it. Such a folder need not exist yet.
    ///
    /// # Errors
    /// Returns the errors of [`Output::at`].
    pub fn at_or_in(path: &Path, made: &Path) -> Result<Output, Unfit> {
        let absolute = |path: &Path| std::path::absolute(path).ok();
        let (Some(place), Some(made)) = (absolute(path), absolute(made)) else {
            return Output::at(path);
        };
        let is_made = |folder: &&Path| made.starts_with(folder) && !folder.exists();
        match place.parent().filter(is_made) {
            Some(_) if !path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                Ok(Output { place: Place::Later(place) })
            }
            _ => Output::at(path),
        }
    }

    /// Returns the name of the plain file that is replaced or made, without links. `None` for
    /// streams.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(place) | Place::Later(place) => Some(place),
            _ => None,
        }
    }

    /// Opens the output for writing. A FIFO waits for its reader.
    ///
    /// # Errors
    /// Returns the errors of the file system.
    pub fn open(self) -> io::Result<Writing> {
        let append = |path: &Path| File::options().append(true).custom_flags(O_NOCTTY).open(path);
        Ok(Writing(match self.place {
            Place::File(place) => To::File(Replacement::of(&place)?),
            Place::Later(path) => return Output::at(&path).map_err(io::Error::other)?.open(),
            Place::Stream(path) => {
                // Some devices refuse O_APPEND.
                let file = File::options().write(true).custom_flags(O_NOCTTY).open(path)?;
                if !is_stream(&file.metadata()?) {
                    return Err(io::Error::other(
                        "this was a FIFO or a device, and is not any more",
                    ));
                }
                To::Stream(file)
            }
            Place::Socket(socket) => To::Socket(socket),
            Place::StandardOutput => {
                To::Stream(File::from(io::stdout().as_fd().try_clone_to_owned()?))
            }
            Place::StandardError => {
                To::Stream(File::from(io::stderr().as_fd().try_clone_to_owned()?))
            }
            Place::Descriptor(path) => To::Stream(append(&path)?),
        }))
    }

    /// Opens the output, writes `contents`, and commits.
    ///
    /// # Errors
    /// Returns the errors of the file system. A plain file then keeps its old contents.
    pub fn write(self, contents: &[u8]) -> io::Result<()> {
        let mut writing = self.open()?;
        writing.write_all(contents)?;
        writing.commit()
    }
}

/// An output file that is being written. A plain file is unchanged until [`Writing::commit`]
/// replaces it.
#[derive(Debug)]
pub struct Writing(To);

#[derive(Debug)]
enum To {
    File(Replacement),
    Stream(File),
    Socket(UnixStream),
}

impl Writing {
    /// Makes the written bytes durable, and gives a new file its name.
    ///
    /// # Errors
    /// Returns the errors of the file system.
    pub fn commit(self) -> io::Result<()> {
        match self.0 {
            To::File(replacement) => replacement.commit(),
            // Standard output may be a plain file. Other streams cannot be synced.
            To::Stream(file) if file.metadata()?.is_file() => file.sync_all(),
            To::Stream(_) | To::Socket(_) => Ok(()),
        }
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::File(replacement) => replacement.file().write(bytes),
            To::Stream(file) => file.write(bytes),
            To::Socket(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_stream(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_char_device()
}

fn connect(path: &Path) -> Result<UnixStream, Unfit> {
    UnixStream::connect(path)
        .map_err(|error| Unfit(format!("no connection to this socket: {error}; name another file")))
}

/// Checks that the plain file can be replaced by one of the same owner and group.
fn check_replaceable(place: &Path, found: &Metadata) -> Result<(), Unfit> {
    let same = |named: Metadata| (named.dev(), named.ino()) == (found.dev(), found.ino());
    if !fs::symlink_metadata(place).is_ok_and(same) {
        return Err(Unfit("this file has no name any more; name another file".to_owned()));
    }
    if !may(place, AccessFlags::W_OK) {
        return Err(Unfit(
            "this file cannot be written; change its permissions, or name another file".to_owned(),
        ));
    }
    let (user, group) = (geteuid(), getegid());
    let in_group = || group.as_raw() == found.gid() || in_groups(found.gid());
    let keeps_owner = user.is_root() || user.as_raw() == found.uid() && in_group();
    if !keeps_owner {
        let why = "this file has another owner or group, which it would lose; name another file";
        return Err(Unfit(why.to_owned()));
    }
    check_free(place)
}

fn in_groups(wanted: u32) -> bool {
    getgroups().is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == wanted))
}

/// Checks that a file can be made, or renamed, in the folder of this path.
fn check_free(place: &Path) -> Result<(), Unfit> {
    let folder = folder_of(place);
    if may(folder, AccessFlags::W_OK | AccessFlags::X_OK) {
        return Ok(());
    }
    let folder = folder.display();
    Err(Unfit(format!(
        "no file can be made in the folder {folder}: it cannot be written; name another file"
    )))
}

fn may(path: &Path, access: AccessFlags) -> bool {
    faccessat(AT_FDCWD, path, access, AtFlags::AT_EACCESS).is_ok()
}
