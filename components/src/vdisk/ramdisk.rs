//! A RAM disk in process: the leaf of stacks that want a block device.

use explode_ramdisk::RamDisk;
use explode_runtime::recover::{Below, Component, Fault, Surface};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options, UsageError};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "ramdisk",
    about: "a block device in memory with a volatile write cache",
    modes: &[Mode::Mem],
    options: &[OptionDef { name: "sectors", about: "its size in sectors of 512 bytes", default: "65536" }],
    build,
};

struct RamDiskComponent {
    sectors: u64,
    disk: Option<RamDisk>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(RamDiskComponent { sectors: options.int("sectors", 65536)?, disk: None }))
}

impl Component for RamDiskComponent {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.disk = Some(RamDisk::new(below.storage.clone(), below.first_device, self.sectors));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        self.disk = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.disk.clone().map_or(Surface::Child, Surface::Disk)
    }

    fn devices(&self) -> u32 {
        1
    }
}
