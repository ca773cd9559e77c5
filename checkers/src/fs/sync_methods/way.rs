//! The ways, and how each forces what a call has done.

use explode_ramdisk::files::{
    Files, FsAbility, FsCall, OpenFlags, Result as FilesResult, WriteMethod,
};
use explode_runtime::check::Unsupported;
use explode_runtime::verdict::{BrokenKind, CheckError};
use nix::errno::Errno;

use crate::fs::model::SyncCall as By;
use crate::fs::model::{Abstract, Group, Groups};
use crate::fs::topology::TopologyCall;

/// A way to make changes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMethod {
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

impl SyncMethod {
    /// By their names.
    pub const ALL: [(&'static str, SyncMethod); 9] = [
        ("sync", SyncMethod::Sync),
        ("syncfs", SyncMethod::Syncfs),
        ("fsync", SyncMethod::Fsync),
        ("fdatasync", SyncMethod::Fdatasync),
        ("o-sync", SyncMethod::OSync),
        ("o-dsync", SyncMethod::ODsync),
        ("msync", SyncMethod::Msync),
        ("fsync-dir", SyncMethod::FsyncDir),
        ("mount-sync", SyncMethod::MountSync),
    ];

    pub fn name(self) -> &'static str {
        let found = SyncMethod::ALL.iter().find(|(_, way)| *way == self);
        found.map_or("", |(name, _)| name)
    }

    /// What has made names durable.
    pub fn of_names(self) -> By {
        match self {
            SyncMethod::Sync => By::Sync,
            SyncMethod::Syncfs => By::Syncfs,
            SyncMethod::MountSync => By::MetadataByMount,
            _ => By::FsyncOfDirectory,
        }
    }

    /// What makes contents durable that were not changed this way.
    pub fn of_contents(self) -> By {
        match self {
            SyncMethod::Sync => By::Sync,
            SyncMethod::Syncfs => By::Syncfs,
            SyncMethod::MountSync => By::WriteByMount,
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
            SyncMethod::Sync => &[By::Sync],
            SyncMethod::Syncfs => &[By::Syncfs],
            SyncMethod::Fsync => &[By::Fsync],
            SyncMethod::Fdatasync => &[By::Fdatasync],
            SyncMethod::OSync => &[By::OSync],
            SyncMethod::ODsync => &[By::ODsync],
            SyncMethod::Msync => &[By::Msync],
            SyncMethod::FsyncDir => &[By::FsyncOfDirectory],
            SyncMethod::MountSync => &[By::WriteByMount, By::MetadataByMount],
        }
    }

    /// Is it about contents alone?
    pub fn is_of_contents(self) -> bool {
        matches!(
            self,
            SyncMethod::Fdatasync | SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::Msync
        )
    }

    /// The calls that it is about: `fsync-dir` is about names; the ways of contents, but fdatasync,
    /// are about what is written that way.
    pub fn groups(self) -> Groups {
        use Group::{Contents, Exchange, Held, NoReplace, Symlink, Tmpfile};
        let all = Group::ALL.map(|(_, group)| group);
        match self {
            SyncMethod::FsyncDir => Groups::of(&[Symlink, Exchange, NoReplace, Held]),
            SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::Msync => {
                Groups::of(&[Contents, Symlink, Exchange, NoReplace, Held, Tmpfile])
            }
            SyncMethod::Fdatasync => Groups::of(&all).without("chmod").without("xattr"),
            SyncMethod::Sync | SyncMethod::Syncfs | SyncMethod::Fsync | SyncMethod::MountSync => {
                Groups::of(&all)
            }
        }
    }

    /// Returns true if it makes symbolic links durable. A symbolic link cannot be opened to fsync
    /// it.
    pub fn is_of_symlinks(self) -> bool {
        matches!(self, SyncMethod::Sync | SyncMethod::Syncfs | SyncMethod::MountSync)
    }

    /// Is nothing left that a crash could lose, after each of these calls?
    pub fn forces_everything(self, calls: Groups) -> bool {
        !self.is_of_contents() && (self.is_of_symlinks() || !calls.has(Group::Symlink))
    }

    /// How pwrite writes.
    pub fn write(self) -> WriteMethod {
        match self {
            SyncMethod::OSync => WriteMethod::Synced,
            SyncMethod::ODsync => WriteMethod::DataSynced,
            SyncMethod::Msync => WriteMethod::Mapped,
            _ => WriteMethod::Plain,
        }
    }

    /// Returns an error if these files do not have it.
    pub fn supported(self, files: &dyn Files) -> Result<(), Unsupported> {
        let needs = match self {
            SyncMethod::Sync | SyncMethod::Fsync | SyncMethod::Fdatasync | SyncMethod::FsyncDir => {
                return Ok(());
            }
            SyncMethod::Syncfs => FsAbility::Syncfs,
            SyncMethod::OSync | SyncMethod::ODsync => FsAbility::OpenSynced,
            SyncMethod::Msync => FsAbility::Mapped,
            SyncMethod::MountSync => FsAbility::Synchronous,
        };
        if files.can(needs) {
            return Ok(());
        }
        Err(Unsupported(match self {
            SyncMethod::MountSync => {
                "way 'mount-sync' is about a file system that is mounted with -o \
                               sync, and this one is not; use \
                               --set COMPONENT.sync=true"
                    .to_owned()
            }
            _ => format!("these files have no way '{}'; use another one", self.name()),
        }))
    }

    /// Forces what a call has done, as the module says; `fs` is the tree after it.
    ///
    /// # Errors
    /// What fails has promised nothing: the way goes no further.
    pub fn force(
        self,
        files: &dyn Files,
        fs: &Abstract,
        call: &TopologyCall,
    ) -> Result<(), CheckError> {
        let forced = match self {
            SyncMethod::Sync => files.sync_machine(),
            SyncMethod::Syncfs => files.syncfs(),
            SyncMethod::MountSync => Ok(()),
            SyncMethod::Fsync => fsync_with_directories(files, fs, call),
            SyncMethod::FsyncDir => fsync_directories(files, fs, call),
            SyncMethod::Fdatasync if call.is_of_contents() => {
                let sync = |path: &str| with_open(files, path, |fd| files.fdatasync(fd));
                call.objects().into_iter().try_for_each(sync)
            }
            SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::Msync if call.is_of_contents() => {
                Ok(())
            }
            SyncMethod::Fdatasync | SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::Msync => {
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
fn fsync_with_directories(
    files: &dyn Files,
    fs: &Abstract,
    call: &TopologyCall,
) -> FilesResult<()> {
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
fn fsync_directories(files: &dyn Files, fs: &Abstract, call: &TopologyCall) -> FilesResult<()> {
    if let TopologyCall::One(FsCall::Open { path, .. } | FsCall::Mkdir { path })
    | TopologyCall::Tmpfile { path } = call
    {
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
