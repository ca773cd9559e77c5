//! A RAM disk, the leaf of stacks that need a block device. It is simulated in process, or the
//! driver `rdd` in the kernel.

use std::rc::Rc;

use explode_kernel::{CompletionTiming, DiskModel, KernelDisks};
use explode_ramdisk::{Flushes, RamDisk};
use explode_runtime::base::{Blame, OptionDef, Options, StepError, UsageError};
use explode_runtime::faults::kernel::KernelFaults;
use explode_runtime::faults::media::{MEDIA_OPTIONS, MediaFaults, MediaSite, MediaView};
use explode_runtime::stack::{
    Abilities, AsShell, Below, Component, ComponentDef, ComponentMaker, Facts, Inspect, ShellLayer,
    StackSpec, Surface,
};

/// The name in the registry.
pub const NAME: &str = "ramdisk";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "a block device in memory with a volatile write cache",
        build,
    )
    .options([
        OptionDef { name: "sectors", about: "size in sectors of 512 bytes", default: "32768" },
        OptionDef { name: "size", about: "size with its unit: 16MiB, 512KiB", default: "16MiB" },
        OptionDef { name: "flushes", about: "kept, or dropped (the disk lies)", default: "kept" },
        OptionDef {
            name: "buffers",
            about: "count dirty buffers of the kernel as pending writes: true, false",
            default: "true",
        },
        OptionDef {
            name: "completes",
            about: "completion of writes in a guest: at-once, late (when no task can run), choice \
                    (either)",
            default: "at-once",
        },
        OptionDef {
            name: "most_late",
            about: "with completes=choice: maximum number of late writes on a path",
            default: "1",
        },
        MEDIA_OPTIONS[0],
        MEDIA_OPTIONS[1],
    ])
}

struct RamDiskComponent {
    sectors: u64,
    model: DiskModel,
    media: MediaFaults,
    /// The writes that may complete late.
    late: KernelFaults,
    surface: Surface,
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let buffers = options.bool("buffers", true)?;
    let flushes =
        options.one_of("flushes", &[("kept", Flushes::Kept), ("dropped", Flushes::Dropped)])?;
    let completes = [
        ("at-once", CompletionTiming::AtOnce),
        ("late", CompletionTiming::Late),
        ("choice", CompletionTiming::Choice),
    ];
    let completes = options.one_of("completes", &completes)?;
    let late = match (completes, options.int("most_late", 1)?) {
        (CompletionTiming::Choice, most) => KernelFaults::late(
            u32::try_from(most)
                .map_err(|_| UsageError(format!("most_late of {most}; use less than 2^32")))?,
        ),
        _ => KernelFaults::default(),
    };
    match size(options)? {
        sectors if sectors == 0 || !sectors.is_multiple_of(8) => Err(UsageError(format!(
            "{sectors} sectors; use a multiple of 8 (a block has 4096 bytes)"
        ))),
        sectors => {
            let (model, media) =
                (DiskModel { flushes, buffers, completes }, MediaFaults::of(options)?);
            Ok(Rc::new(move || {
                let (late, surface) = (late.clone(), Surface::Child);
                Box::new(RamDiskComponent { sectors, model, late, media, surface })
            }))
        }
    }
}

/// Returns the size of all RAM disks of a stack, in MiB.
pub fn sizes_mib(stack: &StackSpec) -> u64 {
    let disks = stack.0.iter().filter(|layer| layer.component == NAME);
    // A wrong size is refused when the stack is built.
    disks.map(|disk| size(&disk.options).unwrap_or(0)).sum::<u64>().div_ceil(2048)
}

/// Reads the size in sectors.
fn size(options: &Options) -> Result<u64, UsageError> {
    if !options.contains("size") {
        return options.int("sectors", 32_768);
    }
    if options.contains("sectors") {
        return Err(UsageError("a disk has 'sectors' or 'size', and this one has both".to_owned()));
    }
    let text = options.text("size", "")?;
    let units = [("KiB", 2), ("MiB", 2 << 10), ("GiB", 2 << 20)];
    let sectors = units.iter().find_map(|(unit, sectors)| {
        let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*sectors)
    });
    sectors.ok_or_else(|| {
        UsageError(format!("size '{text}': write it as 32MiB, with KiB, MiB or GiB"))
    })
}

impl Component for RamDiskComponent {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        if let Some(disks) = below.devices.of_type::<KernelDisks>() {
            let model = DiskModel { buffers: self.model.buffers && below.buffers, ..self.model };
            self.surface = Surface::Block(disks.attach(below.first_device, self.sectors, model)?);
            return Ok(());
        }
        if self.model.completes != CompletionTiming::AtOnce {
            let why = "late completion is only for guests (--in vm): in process no call returns \
                       before its write has ended";
            return Err(StepError::new(why).blame(Blame::Tool));
        }
        let storage = below.devices.storage()?.clone();
        let disk = RamDisk::new(storage, below.first_device, self.sectors);
        self.surface = Surface::Disk(disk.with_flushes(self.model.flushes));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.surface = Surface::Child;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.surface.clone()
    }

    fn facts(&self) -> Facts {
        Facts::default().devices(1).media(self.media).kernel_failures(self.late.clone())
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().inspect(self).as_shell(self)
    }
}

impl AsShell for RamDiskComponent {
    fn as_shell(&self) -> ShellLayer {
        ShellLayer::Disk(self.sectors * 512)
    }
}

impl Inspect for RamDiskComponent {
    fn media_sites(&self, medium: &MediaView<'_>) -> Vec<MediaSite> {
        medium.disk(self.sectors)
    }
}
