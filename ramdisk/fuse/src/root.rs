//! The root that programs see: that of this machine, or a folder such as the unpacked packages of a
//! distribution.
//!
//! The folders of the other root are mounted in a new file system, beside which folders of this
//! machine can be shown at their own paths.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

/// The place of the new file system until it is the root. Nothing needs this folder before.
const PLACE: &str = "/run";
/// The folders that are always those of this machine.
const SHARED: [&str; 3] = ["dev", "proc", "sys"];
/// The folders that every root has.
const NEEDED: [&str; 2] = ["run", "tmp"];

/// The root that programs see.
#[derive(Debug)]
pub(crate) struct Root {
    /// The folder in which it is mounted now.
    pub folder: PathBuf,
    /// The names of its own folders. Empty for the root of this machine.
    own: Vec<OsString>,
}

/// The root of this machine.
impl Default for Root {
    fn default() -> Root {
        Root { folder: PathBuf::from("/"), own: Vec::new() }
    }
}

impl Root {
    /// Mounts the contents of a folder as a root, with places for these folders.
    ///
    /// # Errors
    /// The folder cannot be read, or the kernel refuses a mount.
    pub fn of<'a>(folder: &Path, places: impl Iterator<Item = &'a PathBuf>) -> io::Result<Root> {
        let none = None::<&str>;
        let mut root = Root { folder: PathBuf::from(PLACE), own: Vec::new() };
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
        };
        // The folder may be below the place, so it is found by its descriptor.
        let opened = fs::File::open(folder).map_err(failed)?;
        let folder = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        mount(Some("explode"), &root.folder, Some("tmpfs"), MsFlags::empty(), none)?;
        for entry in entries {
            let (from, to) = (entry.path(), root.folder.join(entry.file_name()));
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                symlink(fs::read_link(&from)?, &to)?;
                root.own.push(entry.file_name());
            } else if kind.is_dir() && !SHARED.iter().any(|name| entry.file_name() == *name) {
                fs::create_dir(&to)?;
                // An empty folder is a place for others.
                if fs::read_dir(&from)?.next().is_some() {
                    bind(&from, &to, MsFlags::empty())?;
                    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
                    mount(none, &to, none, flags, none)?;
                    root.own.push(entry.file_name());
                }
            }
        }
        for name in SHARED {
            let to = root.folder.join(name);
            fs::create_dir(&to)?;
            bind(&Path::new("/").join(name), &to, MsFlags::MS_REC)?;
        }
        for place in NEEDED.iter().map(Path::new).chain(places.map(PathBuf::as_path)) {
            if !root.has_own(place) {
                fs::create_dir_all(root.at(place))?;
            }
        }
        Ok(root)
    }

    /// Returns the place of a path below this root, as long as another one is the root.
    pub fn at(&self, path: &Path) -> PathBuf {
        self.folder.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns true if the path is below a folder of this root that hides that of this machine.
    pub fn has_own(&self, path: &Path) -> bool {
        let first = path.strip_prefix("/").unwrap_or(path).iter().next();
        first.is_some_and(|name| self.own.iter().any(|own| own == name))
    }

    /// Makes this the root of the thread. The former root is gone from its namespace.
    pub fn enter(self) -> io::Result<()> {
        if self.folder == Path::new("/") {
            return Ok(());
        }
        chdir(&self.folder)?;
        // The former root is mounted on top of the new one, and is taken away.
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        Ok(chdir("/")?)
    }
}

fn bind(from: &Path, to: &Path, flags: MsFlags) -> io::Result<()> {
    let none = None::<&str>;
    Ok(mount(Some(from), to, none, MsFlags::MS_BIND | flags, none)?)
}
