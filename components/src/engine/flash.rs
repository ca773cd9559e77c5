//! Raw NOR flash on a [RAM disk](crate::vdisk::ramdisk), for engines for microcontrollers.
//!
//! An erase sets all bits of a block. A program clears bits of erased bytes, and of no others.
//! Operations are made one after the other, and each is durable when it returns, so a crash
//! interrupts at most one operation:
//!
//! - A program is made from its first byte to its last, `tear` bytes at a time. A crash can stop it
//!   after each of these steps.
//! - An erase that a crash interrupts has erased any of the block's sectors of 512 bytes
//!   (`erase=any`), or those from its beginning up to one (`erase=ascending`).
//!
//! Every step is a write with FUA, so the device model needs no rule for flash. Bytes that are half
//! programmed or half erased, and read differently each time, are not modelled. The traits for
//! flash allow more than this model (embedded-storage: "If power is lost during erase, contents of
//! the page are undefined", "If power is lost during write, the contents of the written words are
//! undefined"). So an engine that relies only on the traits must work here.
//!
//! With `cache=volatile` operations become durable in any order, and only a sync guarantees it.
//! With `erase=none` as well, the device is a disk with a write cache: an erase does nothing, and a
//! program overwrites the contents.

use std::rc::Rc;

use bytes::Bytes;
use explode_ramdisk::{Flags, Payload, RamDisk, SECTOR_BYTES};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Surface};
use nix::errno::Errno;

/// The name in the registry.
pub const NAME: &str = "flash";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "raw NOR flash, which keeps the order of operations, on the disk below",
        build,
    )
    .modes([Mode::Mem])
    .on("ramdisk")
    .options([
        OptionDef {
            name: "block",
            about: "erase size in bytes, a multiple of 512",
            default: "1024",
        },
        OptionDef { name: "blocks", about: "number of erase blocks", default: "64" },
        OptionDef { name: "tear", about: "program size in bytes, a divisor of 512", default: "16" },
        OptionDef {
            name: "erase",
            about: "sectors that an interrupted erase has erased: any, ascending; none: a disk \
                    without erase",
            default: "any",
        },
        OptionDef {
            name: "cache",
            about: "none, or volatile: unsynced writes can be lost in any order",
            default: "none",
        },
    ])
}

/// The time at which an operation is durable.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cache {
    /// The operation is durable when it returns.
    None,
    /// The operation is durable when a later sync returns.
    Volatile,
}

/// The order in which the sectors of a block are erased.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Erase {
    Any,
    Ascending,
    /// An erase does nothing, and a program needs no erase before it.
    None,
}

/// A flash device. All its errors are errors of the disk below.
#[derive(Debug)]
pub struct Flash {
    disk: RamDisk,
    block: usize,
    blocks: usize,
    tear: usize,
    erase: Erase,
    cache: Cache,
}

impl Flash {
    /// Returns the flash below a component.
    ///
    /// # Errors
    /// The first child is not flash.
    pub fn below(below: &Below<'_>) -> Result<Rc<Flash>, StepError> {
        let flash = match below.children.first() {
            Some(Surface::Engine(engine)) => Rc::clone(engine).downcast().ok(),
            _ => None,
        };
        flash.ok_or_else(|| StepError::new("needs flash below it"))
    }

    /// Returns the size of an erase block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.block
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Reads from byte `at` on into `buf`.
    ///
    /// # Errors
    /// `EIO`.
    pub fn read(&self, at: usize, buf: &mut [u8]) -> Result<(), Errno> {
        let (first, within) = (at / SECTOR_BYTES, at % SECTOR_BYTES);
        let mut sectors = vec![0; (within + buf.len()).next_multiple_of(SECTOR_BYTES)];
        self.disk.try_read(first as u64, &mut sectors)?;
        buf.copy_from_slice(&sectors[within..within + buf.len()]);
        Ok(())
    }

    /// Clears the bits that are not set in `data`, from byte `at` on.
    ///
    /// # Errors
    /// `EIO`.
    pub fn program(&self, at: usize, data: &[u8]) -> Result<(), Errno> {
        let (mut at, mut rest) = (at, data);
        while !rest.is_empty() {
            let unit = if self.cache == Cache::None { self.tear } else { SECTOR_BYTES };
            let (now, behind) = rest.split_at(rest.len().min(unit - at % unit));
            let (sector, within) = ((at / SECTOR_BYTES) as u64, at % SECTOR_BYTES);
            let mut bytes = [0; SECTOR_BYTES];
            self.disk.try_read(sector, &mut bytes)?;
            let kept = if self.erase == Erase::None { 0 } else { 0xff };
            bytes[within..]
                .iter_mut()
                .zip(now)
                .for_each(|(byte, new)| *byte = *byte & kept & new | *new & !kept);
            self.disk.write(sector, &bytes, self.flags());
            (at, rest) = (at + now.len(), behind);
        }
        Ok(())
    }

    /// Sets all bits of a block.
    pub fn erase(&self, block: usize) {
        let sectors = self.block / SECTOR_BYTES;
        let erased = Bytes::from_static(&[0xff; SECTOR_BYTES]);
        let submit = |sector: usize| {
            self.disk.submit(
                (block * sectors + sector) as u64,
                Payload::Data(erased.clone()),
                self.flags(),
            )
        };
        match self.erase {
            Erase::Any => {
                let requests: Vec<_> = (0..sectors).map(submit).collect();
                requests.into_iter().for_each(|request| self.disk.complete(request));
            }
            Erase::None => {}
            Erase::Ascending => (0..sectors).for_each(|sector| self.disk.complete(submit(sector))),
        }
    }

    /// Makes all operations durable.
    pub fn sync(&self) {
        if self.cache == Cache::Volatile {
            self.disk.flush();
        }
    }

    fn flags(&self) -> Flags {
        if self.cache == Cache::None { Flags::FUA } else { Flags::NONE }
    }
}

struct FlashComponent {
    block: usize,
    blocks: usize,
    tear: usize,
    erase: Erase,
    cache: Cache,
    flash: Option<Rc<Flash>>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let cache = options.one_of("cache", &[("none", Cache::None), ("volatile", Cache::Volatile)])?;
    let erase = options.one_of(
        "erase",
        &[("any", Erase::Any), ("ascending", Erase::Ascending), ("none", Erase::None)],
    )?;
    let [block, blocks, tear] =
        [("block", 1024), ("blocks", 64), ("tear", 16)].map(|(name, default)| {
            let number = options.int(name, default)?;
            let fits = usize::try_from(number).ok().filter(|number| (1..=1 << 20).contains(number));
            fits.ok_or_else(|| {
                UsageError(format!("{name} {number} of flash; use 1 to {}", 1 << 20))
            })
        });
    let (block, blocks, tear) = (block?, blocks?, tear?);
    if !block.is_multiple_of(SECTOR_BYTES) || !SECTOR_BYTES.is_multiple_of(tear) {
        let text = format!(
            "flash with blocks of {block} bytes that tears at {tear}; use a multiple and a \
             divisor of 512"
        );
        return Err(UsageError(text));
    }
    Ok(Box::new(FlashComponent { block, blocks, tear, erase, cache, flash: None }))
}

impl Component for FlashComponent {
    /// Erases all blocks, because flash is delivered erased.
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.mount(below)?;
        self.flash.iter().for_each(|flash| (0..flash.blocks).for_each(|block| flash.erase(block)));
        Ok(())
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let FlashComponent { block, blocks, tear, erase, cache, .. } = *self;
        let disk = below.disk(0)?;
        let bytes = block as u64 * blocks as u64;
        if bytes > disk.sectors() * SECTOR_BYTES as u64 {
            return Err(StepError::new(format!(
                "{bytes} bytes of flash do not fit on {} sectors",
                disk.sectors()
            )));
        }
        self.flash = Some(Rc::new(Flash { disk, block, blocks, tear, erase, cache }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.flash = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.flash.clone().map_or(Surface::Child, |flash| Surface::Engine(flash))
    }
}
