//! Simulated files under the model `posix` (fault-model.md, section 7): the leaf of stacks that want files.

use std::rc::Rc;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{Files, Granule};
use explode_runtime::recover::{Below, Component, Fault, Surface};
use explode_runtime::run::{ComponentDef, Mode, Options, UsageError};
use explode_runtime::writeset::{Atom, Rules};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "simfiles",
    about: "simulated files that promise what POSIX does, and no more",
    modes: &[Mode::Mem],
    on: None,
    options: &[],
    build,
};

/// Every inode is a device, so this many numbers are its own.
const DEVICES: u32 = 1 << 20;

#[derive(Default)]
struct SimFilesComponent {
    files: Option<Rc<SimFiles>>,
    first_device: u32,
}

fn build(_options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(SimFilesComponent::default()))
}

/// What is written as a whole: the block, or the sector where sectors tear.
fn granule(rules: &Rules) -> Granule {
    Granule(match rules.atom {
        Atom::Sector => 512,
        Atom::Block | Atom::Request => rules.block_bytes,
    })
}

impl Component for SimFilesComponent {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let files =
            SimFiles::mount(below.devices.storage()?.clone(), below.first_device, granule(&below.rules))?;
        self.files = Some(Rc::new(files));
        self.first_device = below.first_device;
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        // A clean end leaves nothing unsynced, as umount(2) does.
        if let Some(files) = self.files.take() {
            files.sync()?;
        }
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, |files| Surface::Files(files))
    }

    fn devices(&self) -> u32 {
        DEVICES
    }

    fn whose(&self, device: u32, sector: u64) -> Option<String> {
        self.files.as_ref()?.whose(self.first_device + device, sector)
    }
}
