//! The crate fatfs, unmodified: a FAT file system on a disk with a write cache.
//!
//! Its volume is made with its defaults. It writes each change to the disk at once, and flushes the
//! disk when a file is flushed or closed. Every call looks an open file up by its path, because the
//! files of the crate borrow their file system. There are no hard links (`EOPNOTSUPP`) and no inode
//! numbers (all are 0). A rename first removes an existing target, because the crate replaces
//! nothing. Holes are written as zeroes.

mod disk;
mod files;

use std::io::Write as _;
use std::rc::Rc;

use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Surface};
use explode_runtime::verdict::{Profile, Promise};
use fatfs::{FileSystem, FormatVolumeOptions, FsOptions, format_volume};
use nix::errno::Errno;

use super::INTACT;
use disk::Bytes;
use files::{MountedFat, errno};

/// The name in the registry.
pub const NAME: &str = "fatfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "a FAT file system by the crate fatfs, unmodified; offers its files",
        build,
    )
    .modes([Mode::Mem])
    .on("ramdisk")
    .options([OptionDef {
        name: "promises",
        about: "promise after a crash: nothing, flushed",
        default: "nothing",
    }])
}

/// The promises by which the file system is judged.
#[derive(Clone, Copy, PartialEq)]
enum Promises {
    Nothing,
    Flushed,
}

struct FatFs {
    promises: Promises,
    mounted: Option<Rc<MountedFat>>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let words = [("nothing", Promises::Nothing), ("flushed", Promises::Flushed)];
    Ok(Box::new(FatFs { promises: options.one_of("promises", &words)?, mounted: None }))
}

impl Component for FatFs {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let mut bytes = Bytes::new(below.disk(0)?);
        let formatted =
            format_volume(&mut bytes, FormatVolumeOptions::new()).and_then(|()| bytes.flush());
        formatted.map_err(|error| StepError::new(format!("the volume cannot be made: {error}")))
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let volume =
            FileSystem::new(Bytes::new(below.disk(0)?), FsOptions::new()).map_err(|error| {
                let blame =
                    if errno(&error) == Errno::EIO { Blame::Tool } else { Blame::Promise(INTACT) };
                StepError::new(format!("the volume cannot be mounted: {error}")).blame(blame)
            })?;
        self.mounted = Some(Rc::new(MountedFat::new(volume, below.disk(0)?)));
        Ok(())
    }

    fn unmount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        if let Some(mounted) = self.mounted.take().and_then(Rc::into_inner) {
            mounted.unmount()?;
            below.disk(0)?.flush();
        }
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.mounted.clone().map_or(Surface::Child, |mounted| Surface::Files(mounted))
    }

    fn facts(&self) -> Facts {
        Facts::default().version("fatfs", "0.3.6").promises(self.profile())
    }
}

impl FatFs {
    fn profile(&self) -> Profile {
        let line = |kept, quote, source| move |name| Promise { name, kept, quote, source };
        let dirty = line(
            false,
            "Dirty flag means volume has been suddenly ejected from filesystem without unmounting.",
            "https://docs.rs/fatfs/0.3.6/fatfs/struct.FsStatusFlags.html#method.dirty",
        );
        let flushed = line(
            true,
            "Flushes this output stream, ensuring that all intermediately buffered contents reach \
             their destination.",
            "https://doc.rust-lang.org/std/io/trait.Write.html#tymethod.flush",
        );
        let promises = match self.promises {
            Promises::Nothing => WHOLE.iter().chain(&MORE).copied().map(dirty).collect(),
            Promises::Flushed => WHOLE.into_iter().map(flushed).collect(),
        };
        Profile { system: "fatfs".to_owned(), promises }
    }
}

/// The promises about flushed files and directories, by the names that the checker fs-sync uses.
const WHOLE: [&str; 5] =
    [INTACT, "synced-by-sync", "synced-by-fsync", "synced-by-fdatasync", "synced-directory"];
/// Further promises that checkers test: parts that a later change does not touch, and calls that
/// are atomic and durable.
const MORE: [&str; 6] = [
    "partly-synced-by-sync",
    "partly-synced-by-fsync",
    "partly-synced-by-fdatasync",
    "partly-synced-directory",
    "atomic-call",
    "durable-call",
];
