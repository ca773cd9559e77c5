//! The sync methods, and the calls by which each forces a change.

use explode_ramdisk::files::{
    Files, FsAbility, FsCall, OpenFlags, Result as FilesResult, WriteMethod,
};
use explode_runtime::check::Unsupported;
use explode_runtime::verdict::{BrokenKind, CheckError};
use nix::errno::Errno;

use crate::fs::model::SyncCall as By;
use crate::fs::model::{Abstract, Group, Groups};
use crate::fs::topology::TopologyCall;

/// A method of making changes durable.
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
    /// All methods with their names.
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
        let found = SyncMethod::ALL.iter().find(|(_, method)| *method == self);
        found.map_or("", |(name, _)| name)
    }

    /// Returns the kind of sync that makes names durable.
    pub fn of_names(self) -> By {
        match self {
            SyncMethod::Sync => By::Sync,
            SyncMethod::Syncfs => By::Syncfs,
            SyncMethod::MountSync => By::MetadataByMount,
            _ => By::FsyncOfDirectory,
        }
    }

    /// Returns the kind of sync that makes contents durable that the method has not written.
    pub fn of_contents(self) -> By {
        match self {
            SyncMethod::Sync => By::Sync,
            SyncMethod::Syncfs => By::Syncfs,
            SyncMethod::MountSync => By::WriteByMount,
            _ => By::Fsync,
        }
    }

    /// Returns the words for data that the method itself makes durable.
    pub fn promises(self) -> Vec<&'static str> {
        self.durable().iter().map(|by| by.synced()).collect()
    }

    /// Returns the kinds of sync by which the method itself makes data durable.
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

    /// Returns true if the method applies to contents only.
    pub fn is_of_contents(self) -> bool {
        matches!(
            self,
            SyncMethod::Fdatasync | SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::Msync
        )
    }

    /// Returns the calls to which the method applies. `fsync-dir` applies to names. The methods for
    /// contents, except fdatasync, apply to data that is written by the method.
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

    /// Returns true if the method makes symbolic links durable. A symbolic link cannot be opened
    /// for fsync.
    pub fn is_of_symlinks(self) -> bool {
        matches!(self, SyncMethod::Sync | SyncMethod::Syncfs | SyncMethod::MountSync)
    }

    /// Returns true if after each of these calls a crash can lose nothing.
    pub fn forces_everything(self, calls: Groups) -> bool {
        !self.is_of_contents() && (self.is_of_symlinks() || !calls.has(Group::Symlink))
    }

    /// Returns the way in which the calls write.
    pub fn write(self) -> WriteMethod {
        match self {
            SyncMethod::OSync => WriteMethod::Synced,
            SyncMethod::ODsync => WriteMethod::DataSynced,
            SyncMethod::Msync => WriteMethod::Mapped,
            _ => WriteMethod::Plain,
        }
    }

    /// Returns an error if the files do not support the method.
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

    /// Forces the change of a call, as the module describes. `fs` is the tree after the call.
    ///
    /// # Errors
    /// Returns "broken" if a sync fails. A failed sync promises nothing, so the path ends.
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
            let (call, method) = (call.name(), self.name());
            let kind = match errno {
                Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOSYS => BrokenKind::Unsupported,
                _ => BrokenKind::Component,
            };
            kind.of(format!("way '{method}' after {call}: {errno}")).into()
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

/// Calls fsync on a file or directory. Does nothing for a symbolic link.
fn fsync(files: &dyn Files, fs: &Abstract, path: &str) -> FilesResult<()> {
    match fs.find(path) {
        Some(id) if fs.is_directory(id) => files.sync_dir(path),
        Some(id) if fs.is_symlink(id) => Ok(()),
        _ => with_open(files, path, |fd| files.fsync(fd)),
    }
}

/// Calls fsync on the objects of a call and on every directory on their paths, innermost first.
/// fsync of a file does not make its name durable.
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

/// Calls fsync on the directories whose names a call has changed, and before that on a new node.
fn fsync_directories(files: &dyn Files, fs: &Abstract, call: &TopologyCall) -> FilesResult<()> {
    if let TopologyCall::One(FsCall::Open { path, .. } | FsCall::Mkdir { path })
    | TopologyCall::Tmpfile { path } = call
    {
        fsync(files, fs, path)?;
    }
    call.directories().into_iter().try_for_each(|directory| files.sync_dir(directory))
}

/// Returns the directory of a path. The root is its own directory.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}
