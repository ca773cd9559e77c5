//! The secret of the user, in a file: `${XDG_STATE_HOME:-~/.local/state}/explode/key`.
//!
//! Invariants: the file has 32 random bytes from the system, belongs to the user, and no other user
//! can read it. It gets its name when it is complete, and is never replaced. So two processes that
//! make it at once get the same secret. A file or folder that another user could have written or
//! read is refused, and so is a symbolic link.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use explode_runtime::trace::Secret;
use libc::{ELOOP, ENOENT, ENOTDIR};
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::geteuid;

const NAME: &str = "key";
const REMEDY: &str =
    "set XDG_STATE_HOME to an absolute path of a folder of yours that can be written";

/// The reason why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Neither variable nor the user database names a folder.
    #[error(
        "there is no folder for the key that tags what you write: no XDG_STATE_HOME and no home \
         folder; {REMEDY}"
    )]
    Homeless,
    /// There is no key file.
    #[error("you have no key yet, {path} is absent")]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// The key file cannot be made or read.
    #[error("the key {path} cannot be used: {error}; {REMEDY}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Another user could have read or written the key.
    #[error(
        "the key {path} cannot be used: {fault}; remove it if another user may have read it, else \
         mend its owner and mode"
    )]
    Unsafe {
        /// The file or folder.
        path: PathBuf,
        /// The fault, for the message.
        fault: String,
    },
}

/// Reads the secret.
///
/// # Errors
/// There is no secret, or it cannot be trusted.
pub fn read() -> Result<Secret, KeyError> {
    read_in(&folder()?)
}

/// Reads the secret. Makes it first if it is missing.
///
/// # Errors
/// The secret cannot be made or cannot be trusted.
pub fn make() -> Result<Secret, KeyError> {
    let folder = folder()?;
    match read_in(&folder) {
        Err(KeyError::Absent { .. }) => make_in(&folder).and_then(|()| read_in(&folder)),
        read => read,
    }
}

/// Returns the folder of the key, which may be missing.
fn folder() -> Result<PathBuf, KeyError> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let found = state.filter(|path| path.is_absolute()).or_else(home);
    let found = found.filter(|path| path.is_absolute());
    found.map(|state| state.join("explode")).ok_or(KeyError::Homeless)
}

fn read_in(folder: &Path) -> Result<Secret, KeyError> {
    let path = folder.join(NAME);
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = open(folder, flags | OFlag::O_DIRECTORY, Mode::empty());
    let within = File::from(opened.map_err(|error| refused(folder, error.into()))?);
    let about = within.metadata().map_err(|error| refused(folder, error))?;
    // A user who can write in the folder can put another file there.
    check(&about, 0o022).map_err(|fault| KeyError::Unsafe { path: folder.into(), fault })?;
    // Without O_NONBLOCK a named pipe would block.
    let opened = openat(&within, NAME, flags | OFlag::O_NONBLOCK, Mode::empty());
    let mut file = File::from(opened.map_err(|error| refused(&path, error.into()))?);
    let about = file.metadata().map_err(|error| refused(&path, error))?;
    let unsafe_file = |fault: String| KeyError::Unsafe { path: path.clone(), fault };
    if !about.is_file() {
        return Err(unsafe_file("it is no file".to_owned()));
    }
    check(&about, 0o077).map_err(unsafe_file)?;
    let mut bytes = [0; Secret::BYTES];
    if about.len() != Secret::BYTES as u64 {
        let text = format!("it has {} bytes and not {}", about.len(), Secret::BYTES);
        return Err(unsafe_file(text));
    }
    file.read_exact(&mut bytes).map_err(|error| refused(&path, error))?;
    Ok(Secret::new(bytes))
}

/// Returns an error if the file belongs to another user, or others have one of these permissions.
fn check(about: &Metadata, others: u32) -> Result<(), String> {
    let (user, owner) = (geteuid().as_raw(), about.uid());
    if owner != user {
        return Err(format!("it belongs to user {owner}, and you are user {user}"));
    }
    let mode = about.mode() & 0o7777;
    if mode & others != 0 {
        return Err(format!("its mode is {mode:04o}, which lets others in"));
    }
    Ok(())
}

fn refused(path: &Path, error: io::Error) -> KeyError {
    let path = path.to_owned();
    match error.raw_os_error() {
        Some(ENOENT) => KeyError::Absent { path },
        Some(ELOOP) => KeyError::Unsafe { path, fault: "it is a symbolic link".to_owned() },
        // Also a symbolic link in place of the folder.
        Some(ENOTDIR) if path.symlink_metadata().is_ok() => {
            KeyError::Unsafe { path, fault: "it is a symbolic link, or no folder".to_owned() }
        }
        _ => KeyError::Io { path, error },
    }
}

/// Makes a secret. If another process makes one at the same time, that one stays.
fn make_in(folder: &Path) -> Result<(), KeyError> {
    let failed = |error| KeyError::Io { path: folder.to_owned(), error };
    if let Some(above) = folder.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(above).map_err(failed)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let mut bytes = [0; Secret::BYTES];
    getrandom::fill(&mut bytes).map_err(|error| failed(io::Error::other(error)))?;
    let written = || -> io::Result<()> {
        // The file has mode 0600, and another name until it is complete and durable.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(folder.join(NAME)) {
            Err(lost) if lost.error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(lost.error);
            }
            _ => {}
        }
        File::open(folder)?.sync_all()
    };
    written().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use explode_runtime::trace::Tagged;

    use super::*;

    fn tag(secret: &Secret) -> String {
        secret.tag(Tagged::Run, &1)
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn many_makers_end_with_one_secret_that_only_the_user_reads() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("state/explode");
        let tags: Vec<String> = std::thread::scope(|scope| {
            let maker = || {
                make_in(&folder).unwrap();
                tag(&read_in(&folder).unwrap())
            };
            let makers: Vec<_> = (0..16).map(|_| scope.spawn(maker)).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(tags.iter().all(|tag| *tag == tags[0]), "{tags:?}");
        assert_eq!((mode(&folder), mode(&folder.join(NAME))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("explode");
        assert!(matches!(read_in(&folder), Err(KeyError::Absent { .. })));
        make_in(&folder).unwrap();
        let key = folder.join(NAME);
        let refused = |words: &str| {
            let error = read_in(&folder).unwrap_err().to_string();
            assert!(error.contains(words), "'{words}': {error}");
        };
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
            refused("lets others in");
        }
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o770)).unwrap();
        refused("lets others in");
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        assert!(read_in(&folder).is_ok());

        fs::write(&key, [0; 31]).unwrap();
        refused("31 bytes");
        fs::rename(&key, state.path().join("elsewhere")).unwrap();
        symlink("../elsewhere", &key).unwrap();
        refused("symbolic link");
        fs::remove_file(&key).unwrap();
        fs::create_dir(&key).unwrap();
        refused("no file");

        let real = state.path().join("real");
        fs::rename(&folder, &real).unwrap();
        symlink(&real, &folder).unwrap();
        refused("symbolic link");
    }

    #[test]
    fn a_key_of_another_user_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("explode");
        make_in(&folder).unwrap();
        std::os::unix::fs::chown(folder.join(NAME), Some(1), None).unwrap();
        let error = read_in(&folder).unwrap_err().to_string();
        assert!(error.contains("belongs to user 1"), "{error}");
    }
}
