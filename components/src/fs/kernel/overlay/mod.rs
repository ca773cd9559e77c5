//! overlay on the files below it: a lower folder with nothing or a few files in it, an upper one that takes every change, and the folder in which
//! overlay prepares them. A sync of a file, of a directory or of all goes through to the file system of the upper folder (kernel,
//! filesystems/overlayfs.rst); what that recovers is all that there is to recover.

mod lower;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_runtime::check::Profile;
use explode_runtime::failures::Failures;
use explode_runtime::recover::{Below, Component, Fault, Surface};
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

use super::super::mounted::MountedFiles;
use super::common::{Common, options};
use super::{MODES, mount_on, profiles, unmount_from};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "overlay",
    about: "overlay on folders of the file system below",
    modes: MODES,
    on: Some("ext4"),
    options: options![OptionDef {
        name: "lower",
        about: "what the lower folder holds, which a change copies up: empty; files (/a, and /b/a in a directory)",
        default: "empty",
    }],
    build,
};

/// The folders, by the names of their options of the mount.
const FOLDERS: [&str; 3] = ["lowerdir", "upperdir", "workdir"];

struct Overlay {
    common: Common,
    /// Is anything in the lower folder?
    lower: bool,
    mounted: Option<(Rc<MountedFiles>, PathBuf)>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let lower = options.one_of("lower", &[("empty", false), ("files", true)])?;
    Ok(Box::new(Overlay { common: Common::of(options)?, lower, mounted: None }))
}

/// Where the folders are.
fn base<'b>(below: &'b Below<'_>) -> Result<&'b Path, Fault> {
    let path = below.paths.first().and_then(|paths| paths.path.as_deref());
    path.ok_or_else(|| Fault::new("needs a mounted file system below it, and has none"))
}

/// A mount tries in the work folder what its file system can do, with files that are named by a counter which goes on from mount to
/// mount (`ovl_lookup_temp` in fs/overlayfs/dir.c). Their names stay behind in the block of the directory, and would be others each
/// time: a longer one that is made and removed takes their place. One
/// that stays is that of the first whiteout, which the others are links of (`ovl_whiteout`): where something of the lower folder is taken
/// away, events differ from one time to the next.
fn write_over_names(base: &Path) {
    let path = base.join("workdir/work").join("over".repeat(16));
    // Where the folder is not there, overlay has mounted itself read-only, and has left no names.
    File::create(&path).and_then(|_| fs::remove_file(&path)).ok();
}

impl Component for Overlay {
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let base = base(below)?;
        let made: io::Result<()> =
            FOLDERS.into_iter().try_for_each(|folder| fs::create_dir(base.join(folder)));
        let filled =
            made.and_then(|()| if self.lower { lower::fill(&base.join(FOLDERS[0])) } else { Ok(()) });
        filled.map_err(|error| Fault::new(format!("its folders cannot be made: {error}")))
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let base = base(below)?;
        let folders = FOLDERS.map(|folder| format!("{folder}={}", base.join(folder).display()));
        let at = below.place.to_owned();
        mount_on(Path::new(DEF.name), &at, DEF.name, self.common.flags, &folders.join(","))?;
        write_over_names(base);
        let files = MountedFiles::new(&at)
            .map_err(|errno| Fault::new(format!("the root directory cannot be opened: {}", errno.desc())))?;
        self.mounted = Some((Rc::new(files), at));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        let Some((files, at)) = self.mounted.take() else { return Ok(()) };
        files.close_all();
        unmount_from(&at)
    }

    fn surface(&self) -> Surface {
        self.mounted.as_ref().map_or(Surface::Child, |(files, _)| Surface::Files(Rc::clone(files) as _))
    }

    fn path(&self) -> Option<PathBuf> {
        self.mounted.as_ref().map(|(_, at)| at.clone())
    }

    fn profile(&self) -> Option<Profile> {
        Some(Profile { system: "overlay in Linux".to_owned(), promises: profiles::overlay() })
    }

    fn begins_with_files(&self) -> bool {
        self.lower
    }

    fn failures(&self) -> Failures {
        self.common.failures.clone()
    }
}
