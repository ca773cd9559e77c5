//! The ways, and how each forces what a call has done.

use explode_ramdisk::files::{Ability, Files, OpenFlags, Result as FilesResult, Synced};
use explode_runtime::check::Unsupported;
use explode_runtime::verdict::{BrokenKind, Failure};
use nix::errno::Errno;

use crate::fs::model::SyncCall as By;
use crate::fs::model::{Abstract, Group, Groups};
use crate::fs::topology::{Call, Write};

/// A way to make changes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Sync,
    Syncfs,
    Fsync,
    Fdatasync,
    OSync,
    ODsync,
    Msync,
    FsyncDir,
    MountSync,
}

impl Way {
    /// By their names.
    pub const ALL: [(&'static str, Way); 9] = [
        ("sync", Way::Sync),
        ("syncfs", Way::Syncfs),
        ("fsync", Way::Fsync),
        ("fdatasync", Way::Fdatasync),
        ("o-sync", Way::OSync),
        ("o-dsync", Way::ODsync),
        ("msync", Way::Msync),
        ("fsync-dir", Way::FsyncDir),
        ("mount-sync", Way::MountSync),
    ];

    pub fn name(self) -> &'static str {
        let found = Way::ALL.iter().find(|(_, way)| *way == self);
        found.map_or("", |(name, _)| name)
    }

    /// What has made names durable.
    pub fn of_names(self) -> By {
        match self {
            Way::Sync => By::Sync,
            Way::Syncfs => By::Syncfs,
            Way::MountSync => By::MetadataByMount,
            _ => By::FsyncOfDirectory,
        }
    }

    /// What makes contents durable that were not changed this way.
    pub fn of_contents(self) -> By {
        match self {
            Way::Sync => By::Sync,
            Way::Syncfs => By::Syncfs,
            Way::MountSync => By::WriteByMount,
            _ => By::Fsync,
        }
    }

    /// The words for what it makes durable itself.
    pub fn promises(self) -> Vec<&'static str> {
        self.durable().iter().map(|by| by.synced()).collect()
    }

    /// By what it makes durable itself.
    pub fn durable(self) -> &'static [By] {
        match self {
            Way::Sync => &[By::Sync],
            Way::Syncfs => &[By::Syncfs],
            Way::Fsync => &[By::Fsync],
            Way::Fdatasync => &[By::Fdatasync],
            Way::OSync => &[By::OSync],
            Way::ODsync => &[By::ODsync],
            Way::Msync => &[By::Msync],
            Way::FsyncDir => &[By::FsyncOfDirectory],
            Way::MountSync => &[By::WriteByMount, By::MetadataByMount],
        }
    }

    /// Is it about contents alone?
    pub fn is_of_contents(self) -> bool {
        matches!(self, Way::Fdatasync | Way::OSync | Way::ODsync | Way::Msync)
    }

    /// The calls that it is about: `fsync-dir` is about names; the ways of contents, but fdatasync,
    /// are about what is written that way.
    pub fn groups(self) -> Groups {
        use Group::{Contents, Exchange, Held, NoReplace, Symlink, Tmpfile};
        let all = Group::ALL.map(|(_, group)| group);
        match self {
            Way::FsyncDir => Groups::of(&[Symlink, Exchange, NoReplace, Held]),
            Way::OSync | Way::ODsync | Way::Msync => {
                Groups::of(&[Contents, Symlink, Exchange, NoReplace, Held, Tmpfile])
            }
            Way::Fdatasync => Groups::of(&all).without("chmod").without("xattr"),
            Way::Sync | Way::Syncfs | Way::Fsync | Way::MountSync => Groups::of(&all),
        }
    }

    /// Returns true if it makes symbolic links durable. A symbolic link cannot be opened to fsync
    /// it.
    pub fn is_of_symlinks(self) -> bool {
        matches!(self, Way::Sync | Way::Syncfs | Way::MountSync)
    }

    /// Is nothing left that a crash could lose, after each of these calls?
    pub fn forces_everything(self, calls: Groups) -> bool {
        !self.is_of_contents() && (self.is_of_symlinks() || !calls.has(Group::Symlink))
    }

    /// How pwrite writes.
    pub fn write(self) -> Write {
        match self {
            Way::OSync => Write::Synced(Synced::All),
            Way::ODsync => Write::Synced(Synced::Data),
            Way::Msync => Write::Mapped,
            _ => Write::Plain,
        }
    }

    /// Returns an error if these files do not have it.
    pub fn supported(self, files: &dyn Files) -> Result<(), Unsupported> {
        let needs = match self {
            Way::Sync | Way::Fsync | Way::Fdatasync | Way::FsyncDir => return Ok(()),
            Way::Syncfs => Ability::Syncfs,
            Way::OSync | Way::ODsync => Ability::OpenSynced,
            Way::Msync => Ability::Mapped,
            Way::MountSync => Ability::Synchronous,
        };
        if files.can(needs) {
            return Ok(());
        }
        Err(Unsupported(match self {
            Way::MountSync => "way 'mount-sync' is about a file system that is mounted with -o \
                               sync, and this one is not; use \
                               --set COMPONENT.sync=true"
                .to_owned(),
            _ => format!("these files have no way '{}'; use another one", self.name()),
        }))
    }

    /// Forces what a call has done, as the module says; `fs` is the tree after it.
    ///
    /// # Errors
    /// What fails has promised nothing: the way goes no further.
    pub fn force(self, files: &dyn Files, fs: &Abstract, call: &Call) -> Result<(), Failure> {
        let forced = match self {
            Way::Sync => files.sync_machine(),
            Way::Syncfs => files.syncfs(),
            Way::MountSync => Ok(()),
            Way::Fsync => fsync_with_directories(files, fs, call),
            Way::FsyncDir => fsync_directories(files, fs, call),
            Way::Fdatasync if call.is_of_contents() => {
                let sync = |path: &str| with_open(files, path, |fd| files.fdatasync(fd));
                call.objects().into_iter().try_for_each(sync)
            }
            Way::OSync | Way::ODsync | Way::Msync if call.is_of_contents() => Ok(()),
            Way::Fdatasync | Way::OSync | Way::ODsync | Way::Msync => {
                fsync_with_directories(files, fs, call)
            }
        };
        forced.map_err(|errno| {
            let (call, way) = (call.name(), self.name());
            let kind = match errno {
                Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOSYS => BrokenKind::Unsupported,
                _ => BrokenKind::Component,
            };
            kind.of(format!("way '{way}' after {call}: {errno}")).into()
        })
    }
}

fn with_open(
    files: &dyn Files,
    path: &str,
    work: impl FnOnce(explode_ramdisk::files::Fd) -> FilesResult<()>,
) -> FilesResult<()> {
    let fd = files.open(path, OpenFlags::EXISTING)?;
    let worked = work(fd);
    files.close(fd).and(worked)
}

/// fsync of a file or directory; of a symbolic link there is none.
fn fsync(files: &dyn Files, fs: &Abstract, path: &str) -> FilesResult<()> {
    match fs.find(path) {
        Some(id) if fs.is_directory(id) => files.sync_dir(path),
        Some(id) if fs.is_symlink(id) => Ok(()),
        _ => with_open(files, path, |fd| files.fsync(fd)),
    }
}

/// fsync of what a call was about, and of every directory on its paths, from the inside out: a
/// file's fsync does not make its name durable.
fn fsync_with_directories(files: &dyn Files, fs: &Abstract, call: &Call) -> FilesResult<()> {
    call.objects().into_iter().try_for_each(|path| fsync(files, fs, path))?;
    let mut synced = Vec::new();
    let of_file = call.objects().into_iter().map(parent).filter(|_| call.directories().is_empty());
    for directory in call.directories().into_iter().chain(of_file) {
        let mut at = directory;
        while !synced.contains(&at) {
            files.sync_dir(at)?;
            synced.push(at);
            at = parent(at);
        }
    }
    Ok(())
}

/// fsync of the directories whose names a call has changed, and before that of what is new.
fn fsync_directories(files: &dyn Files, fs: &Abstract, call: &Call) -> FilesResult<()> {
    if let Call::Creat { path } | Call::Mkdir { path } | Call::Tmpfile { path } = call {
        fsync(files, fs, path)?;
    }
    call.directories().into_iter().try_for_each(|directory| files.sync_dir(directory))
}

/// The directory that a path stands in; the root stands in itself.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}
