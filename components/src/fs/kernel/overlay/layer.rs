//! overlay as a layer of a stack.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_runtime::base::StepError;
use explode_runtime::stack::{Abilities, Below, Component, Facts, Surface};
use explode_runtime::verdict::Profile;

use super::super::common::Common;
use super::super::{mount_on, profiles, unmount_from};
use super::folders;
use crate::mounted::MountedFiles;

/// The name of the component, and of its driver.
pub const NAME: &str = "overlay";

pub(super) struct Overlay {
    common: Common,
    /// True if the lower folder has files in it.
    lower: bool,
    mounted: Option<(Rc<MountedFiles>, PathBuf)>,
}

impl Overlay {
    /// Makes a layer that is not mounted.
    pub fn new(common: Common, lower: bool) -> Overlay {
        Overlay { common, lower, mounted: None }
    }
}

impl Component for Overlay {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        folders::make(folders::base(below)?, self.lower)
            .map_err(|error| StepError::new(format!("its folders cannot be made: {error}")))
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let base = folders::base(below)?;
        let at = below.place.to_owned();
        mount_on(Path::new(NAME), &at, NAME, self.common.flags, &folders::options(base))?;
        folders::write_over_names(base);
        let files = MountedFiles::new(&at).map_err(|errno| {
            StepError::new(format!("the root directory cannot be opened: {}", errno.desc()))
        })?;
        self.mounted = Some((Rc::new(files), at));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        let Some((files, at)) = self.mounted.take() else { return Ok(()) };
        files.close_all();
        unmount_from(&at)
    }

    fn surface(&self) -> Surface {
        self.mounted
            .as_ref()
            .map_or(Surface::Child, |(files, _)| Surface::Files(Rc::clone(files) as _))
    }

    fn facts(&self) -> Facts {
        Facts::default()
            .promises(Profile { system: NAME.to_owned(), promises: profiles::overlay() })
            .promises_as_below()
            .starts_populated(self.lower)
            .kernel_failures(self.common.failures.clone())
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().path(self.mounted.as_ref().map(|(_, at)| at.clone()))
    }
}
