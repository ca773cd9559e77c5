//! Files whose rename takes several steps, or whose profile makes the promises of a journaling file
//! system about rename, which they may break.
//!
//! The steps: the new name is unlinked, it is linked to the file again, the old name is unlinked.
//! If a step fails, the steps before it stay done, so that a failed rename has had an effect.

use std::rc::Rc;

use explode_ramdisk::files::{FileKind, Files, OpenFlags, Result};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Surface};
use explode_runtime::verdict::{Profile, Promise};
use nix::errno::Errno;

use crate::forward::forward;

/// The name in the registry.
pub const NAME: &str = "rename-in-steps";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "the files below it, with a rename that is unlink, link and unlink",
        build,
    )
    .on("simfiles")
    .options([
        OptionDef {
            name: "steps",
            about: "rename in steps instead of passing it on: true, false",
            default: "false",
        },
        OptionDef {
            name: "forces",
            about: "sync a file before it replaces another one, as ext4 does (auto_da_alloc): \
                    true, false",
            default: "false",
        },
        OptionDef {
            name: "promises",
            about: "does its profile promise that a rename is whole, and that what replaces a \
                    file has its contents, whatever stands \
                    below? true, false",
            default: "false",
        },
    ])
}

/// The promises that the profile keeps.
const PROMISED: [&str; 3] = ["replaced-name", "replaced-by-rename", "moved-name"];

struct RenameInSteps {
    steps: bool,
    forces: bool,
    promises: bool,
    files: Option<Rc<dyn Files>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(RenameInSteps {
        steps: options.bool("steps", false)?,
        forces: options.bool("forces", false)?,
        promises: options.bool("promises", false)?,
        files: None,
    }))
}

impl Component for RenameInSteps {
    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.files = Some(Rc::new(Stepping {
            steps: self.steps,
            forces: self.forces,
            files: below.files()?,
        }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.files = None;
        Ok(())
    }

    fn facts(&self) -> Facts {
        let line = |name| Promise {
            name,
            kept: true,
            quote: "a rename is whole, and the file that replaces another has its contents",
            source: "the option rename-in-steps.promises",
        };
        let promises = PROMISED.map(line).to_vec();
        Facts::default()
            .promises(self.promises.then(|| Profile { system: NAME.to_owned(), promises }))
    }

    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, Surface::Files)
    }
}

struct Stepping {
    steps: bool,
    forces: bool,
    files: Rc<dyn Files>,
}

impl Files for Stepping {
    forward!(open close pread pwrite ftruncate fstat fsync fdatasync stat readdir mkdir rmdir link
        unlink sync_dir sync sync_machine read_file);

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let is_file = self.files.stat(from)?.kind == FileKind::File;
        if self.forces && is_file && self.files.stat(to).is_ok() {
            let fd = self.files.open(from, OpenFlags::EXISTING)?;
            let synced = self.files.fsync(fd);
            self.files.close(fd).and(synced)?;
        }
        // A directory cannot be linked.
        if !self.steps || !is_file {
            return self.files.rename(from, to);
        }
        match self.files.unlink(to) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno),
        }
        self.files.link(from, to)?;
        self.files.unlink(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::tests::refused;

    /// Asserts that these files refuse the calls that they do not implement. `sync_machine` is not
    /// refused.
    #[test]
    fn no_call_arrives_as_another() {
        let refused = refused(|files| Box::new(Stepping { steps: false, forces: false, files }));
        let without = "can open_directory syncfs open_synced open_flagged write_mapped symlink \
                       readlink chmod mode setxattr removexattr xattrs rename_with \
                       open_unnamed link_open fallocate clone_file copy_range";
        assert_eq!(refused, without.split_whitespace().collect::<Vec<_>>());
    }
}
