//! A working folder of three files that belong together, and a merge that replaces all three
//! (EXC-10: EXPENSIV's merge).
//!
//! `commit=manifest` writes the new files under new names, then renames a manifest that names the
//! current generation over the old one. This one rename commits the merge. `commit=renames` renames
//! each new file over the one that it replaces. A crash in between leaves a mixture that no
//! recovery can detect. Everything is synced before it is renamed, so that this is the only bug.

use std::rc::Rc;

use explode_ramdisk::files::{Files, OpenFlags, Result};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Recovery, Surface};
use nix::errno::Errno;

/// The name in the registry.
pub const NAME: &str = "merge";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "a folder of three files that are replaced together", build)
        .on("simfiles")
        .options([OptionDef {
            name: "commit",
            about: "switch to the new files: manifest (one rename), renames (one for each file)",
            default: "manifest",
        }])
}

#[derive(Clone, Copy, PartialEq)]
enum Commit {
    Manifest,
    Renames,
}

const FILES: [&str; 3] = ["a", "b", "c"];
const MANIFEST: &str = "/manifest";

/// The working folder of the three files.
pub struct Folder {
    files: Rc<dyn Files>,
    commit: Commit,
}

impl Folder {
    /// Replaces the three files by those of another generation. Returns when they are durable.
    ///
    /// # Errors
    /// The errors of the files below.
    pub fn merge(&self, generation: u64) -> Result<()> {
        let Folder { files, commit } = self;
        match commit {
            Commit::Renames => {
                FILES
                    .iter()
                    .try_for_each(|name| self.write(&format!("/{name}.new"), generation))?;
                files.sync_dir("/")?;
                for name in FILES {
                    files.rename(&format!("/{name}.new"), &format!("/{name}"))?;
                }
                files.sync_dir("/")
            }
            Commit::Manifest => {
                let before = self.number(MANIFEST).ok();
                FILES.iter().try_for_each(|name| {
                    self.write(&format!("/{name}.{generation}"), generation)
                })?;
                self.write("/manifest.new", generation)?;
                files.sync_dir("/")?;
                files.rename("/manifest.new", MANIFEST)?;
                files.sync_dir("/")?;
                let old = |before: &u64| {
                    FILES.iter().try_for_each(|name| files.unlink(&format!("/{name}.{before}")))
                };
                before.as_ref().map_or(Ok(()), old)
            }
        }
    }

    /// Returns the generation of each file.
    ///
    /// # Errors
    /// A file is missing or does not hold a number.
    pub fn generations(&self) -> Result<[u64; 3]> {
        let suffix = match self.commit {
            Commit::Renames => String::new(),
            Commit::Manifest => format!(".{}", self.number(MANIFEST)?),
        };
        let [a, b, c] = FILES.map(|name| self.number(&format!("/{name}{suffix}")));
        Ok([a?, b?, c?])
    }

    /// Removes the files of a merge that did not end. Returns true if there were any.
    fn tidy(&self) -> Result<bool> {
        let keep: Vec<String> = match self.commit {
            Commit::Renames => FILES.map(str::to_owned).into(),
            Commit::Manifest => {
                let current = self.number(MANIFEST)?;
                let files = FILES.iter().map(|name| format!("{name}.{current}"));
                files.chain(["manifest".to_owned()]).collect()
            }
        };
        let entries = self.files.readdir("/")?;
        let left: Vec<_> = entries.iter().filter(|(name, _)| !keep.contains(name)).collect();
        left.iter().try_for_each(|(name, _)| self.files.unlink(&format!("/{name}")))?;
        Ok(!left.is_empty())
    }

    fn write(&self, path: &str, generation: u64) -> Result<()> {
        let fd =
            self.files.open(path, OpenFlags { create: true, exclusive: false, truncate: true })?;
        self.files.pwrite(fd, 0, generation.to_string().as_bytes())?;
        self.files.fsync(fd)?;
        self.files.close(fd)
    }

    fn number(&self, path: &str) -> Result<u64> {
        let bytes = self.files.read_file(path)?;
        std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok()).ok_or(Errno::EINVAL)
    }
}

struct Merge {
    commit: Commit,
    folder: Option<Rc<Folder>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    let words = [("manifest", Commit::Manifest), ("renames", Commit::Renames)];
    Ok(Box::new(Merge { commit: options.one_of("commit", &words)?, folder: None }))
}

impl Merge {
    fn open(&mut self, below: &Below<'_>) -> std::result::Result<Rc<Folder>, StepError> {
        let folder = Rc::new(Folder { files: below.files()?, commit: self.commit });
        Ok(Rc::clone(self.folder.insert(folder)))
    }
}

impl Component for Merge {
    fn init(&mut self, below: &Below<'_>) -> std::result::Result<(), StepError> {
        Ok(self.open(below)?.merge(0)?)
    }

    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.open(below).map(drop)
    }

    fn unmount(&mut self, _below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.folder = None;
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> std::result::Result<Recovery, StepError> {
        Ok(if self.open(below)?.tidy()? { Recovery::Repaired } else { Recovery::Clean })
    }

    fn surface(&self) -> Surface {
        self.folder.clone().map_or(Surface::Child, |folder| Surface::Engine(folder))
    }
}
