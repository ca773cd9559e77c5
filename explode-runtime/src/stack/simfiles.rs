//! Simulated files (fault-model.md, section 7; file-models.md): a leaf that offers files.

mod profile;

use std::rc::Rc;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{FileModel, Files, Granule};

pub use self::profile::profile;
use super::abilities::{Abilities, Inspect};
use super::component::{Below, Component, Surface};
use super::facts::Facts;
use crate::base::{Mode, OptionDef, Options, StepError, UsageError};
use crate::faults::media::{MEDIA_OPTIONS, MediaFaults, MediaSite, MediaView};
use crate::stack::ComponentDef;
use crate::writeset::{Atom, DeviceRules};

/// The name of the component in the registry.
pub const NAME: &str = "simfiles";

/// Returns the definition of the component for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "simulated files that promise what POSIX does, and no more", build)
        .modes([Mode::Mem])
        .options([MEDIA_OPTIONS[0], MEDIA_OPTIONS[1], SYNC, MODEL])
}

const SYNC: OptionDef = OptionDef {
    name: "sync",
    about: "every change is durable when its call returns: true, false",
    default: "false",
};

/// The option that names the model of simulated files.
pub const MODEL: OptionDef = OptionDef {
    name: "model",
    about: "the order in which changes become durable: posix, ext4, xfs, btrfs",
    default: "posix",
};

/// Returns the model that the options name.
///
/// # Errors
/// There is no such model.
fn model(options: &Options) -> Result<FileModel, UsageError> {
    options.one_of("model", &FileModel::ALL.map(|model| (model.as_str(), model)))
}

/// The number of devices. Every inode is a device.
pub const DEVICES: u32 = 1 << 20;

struct SimFilesComponent {
    media: MediaFaults,
    sync: bool,
    model: FileModel,
    files: Option<Rc<SimFiles>>,
    first_device: u32,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let (media, sync) = (MediaFaults::of(options)?, options.bool("sync", false)?);
    let model = model(options)?;
    if model != FileModel::Posix && !media.is_sound() {
        let text = "simfiles: faults of the medium are simulated under the model posix only; omit \
                    the model, or the faults";
        return Err(UsageError(text.to_owned()));
    }
    Ok(Box::new(SimFilesComponent { media, sync, model, files: None, first_device: 0 }))
}

/// Returns the unit that a crash keeps or loses whole: the block, or the sector if sectors can
/// tear.
fn granule(rules: &DeviceRules) -> Granule {
    Granule(match rules.atom {
        Atom::Sector => 512,
        Atom::Block | Atom::Request => rules.block_bytes,
    })
}

/// Mounts the simulated files of a component with [`DEVICES`] devices, for calls on nodes only
/// ([`SimFiles::mount_by_nodes`]).
///
/// # Errors
/// The devices hold contents that no crash can leave.
pub fn mount_by_nodes(model: FileModel, below: &Below<'_>) -> Result<SimFiles, StepError> {
    let storage = below.devices.storage()?.clone();
    Ok(SimFiles::mount_by_nodes(model, storage, below.first_device, granule(&below.rules))?)
}

impl Component for SimFilesComponent {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let storage = below.devices.storage()?.clone();
        let granule = granule(&below.rules);
        let files = SimFiles::mount_as(self.model, storage, below.first_device, granule)?;
        self.files = Some(Rc::new(if self.sync { files.synchronous() } else { files }));
        self.first_device = below.first_device;
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        // A clean unmount syncs everything, as umount(2) does.
        if let Some(files) = self.files.take() {
            files.sync()?;
        }
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, |files| Surface::Files(files))
    }

    fn facts(&self) -> Facts {
        Facts::default().devices(DEVICES).promises(profile(self.model, self.sync)).media(self.media)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().inspect(self)
    }
}

impl Inspect for SimFilesComponent {
    fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        self.files.as_ref()?.describe_sector(self.first_device + device, sector)
    }

    /// Returns the blocks of files. Names and sizes do not go bad.
    fn media_sites(&self, medium: &MediaView<'_>) -> Vec<MediaSite> {
        let files = self.files.iter().flat_map(|files| files.list());
        files.flat_map(|(path, dev, bytes)| medium.file(&path, dev, bytes)).collect()
    }
}
