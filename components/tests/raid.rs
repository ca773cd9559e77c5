//! Tests of arrays on disks with bad sectors or without one of the disks. They return everything
//! that they still have.

use std::path::Path;

use explode_components::broken::raid::{mirror, parity};
use explode_ramdisk::{Damage, Flags, Image, Payload, RamDisk, ReadFault, Recording, Storage};
use explode_runtime::base::Options;
use explode_runtime::stack::{
    Asks, Below, Component, ComponentDef, LayerPaths, LazyLayerPaths, Surface,
};
use explode_runtime::writeset::DeviceRules;
use nix::errno::Errno;

const SECTORS: u64 = 64;
const BLOCK: usize = 4096;

/// An array on disks of [`SECTORS`] sectors, and the disks.
struct Array {
    storage: Storage,
    disks: Vec<Surface>,
    component: Box<dyn Component>,
}

impl Array {
    fn new(def: ComponentDef, disks: u32) -> Array {
        let storage = Storage::new(Image::new(), Recording::Off);
        let disk = |dev| Surface::Disk(RamDisk::new(storage.clone(), dev, SECTORS));
        let disks = (0..disks).map(disk).collect();
        let mut array = Array { storage, disks, component: def.make(&Options::none()).unwrap() };
        array.call(|component, below| component.init(below).unwrap());
        array.call(|component, below| component.mount(below).unwrap());
        array
    }

    fn call<T>(&mut self, step: impl FnOnce(&mut dyn Component, &Below<'_>) -> T) -> T {
        let paths = || vec![LayerPaths::default(); self.disks.len()];
        let below = Below {
            children: &self.disks,
            paths: &LazyLayerPaths::new(&paths),
            devices: &self.storage,
            first_device: 0,
            buffers: true,
            place: Path::new("/nonexistent"),
            rules: DeviceRules::default(),
            seed: 0,
            asks: Asks::default(),
            calls: None,
        };
        step(self.component.as_mut(), &below)
    }

    fn disk(&self) -> RamDisk {
        match self.component.surface() {
            Surface::Disk(disk) => disk,
            other => panic!("it offers {other:?}"),
        }
    }

    fn write(&self, block: u64, letter: u8) {
        self.disk().write(block * 8, &[letter; BLOCK], Flags::NONE);
    }

    /// Returns the letter that a block is full of.
    fn read(&self, block: u64) -> Result<u8, Errno> {
        let mut bytes = [0; BLOCK];
        self.disk().try_read(block * 8, &mut bytes)?;
        assert_eq!(bytes, [bytes[0]; BLOCK]);
        Ok(bytes[0])
    }

    fn spoil(&self, dev: u32, sectors: std::ops::Range<u64>) {
        self.storage.damage(dev, &Damage::Sectors(sectors, ReadFault::Unreadable));
    }
}

fn both() -> [Array; 2] {
    [Array::new(mirror::def(), 2), Array::new(parity::def(), 3)]
}

#[test]
fn arrays_have_the_size_that_they_report() {
    let [mirror, parity] = both();
    assert_eq!((mirror.disk().sectors(), parity.disk().sectors()), (7 * 8, 14 * 8));
    for array in [mirror, parity] {
        let blocks = array.disk().sectors() / 8;
        (0..blocks).for_each(|block| array.write(block, block as u8 + 1));
        for dev in 0..array.disks.len() as u32 {
            array.storage.pull_out(dev);
            (0..blocks).for_each(|block| assert_eq!(array.read(block), Ok(block as u8 + 1)));
            array.storage.put_back(dev);
        }
    }
}

/// Writes parts of blocks, across blocks, and zeroes.
#[test]
fn parts_of_blocks_are_as_they_were_written() {
    for array in both() {
        let disk = array.disk();
        (0..3).for_each(|block| array.write(block, 1));
        disk.write(6, &[2; 10 * 512 + 512], Flags { fua: true, preflush: true });
        let zeroes = disk.submit(9, Payload::Zeroes(1024), Flags::NONE);
        disk.complete(zeroes);
        for dev in 0..array.disks.len() as u32 {
            array.storage.pull_out(dev);
            let mut bytes = vec![9; 3 * BLOCK - 100];
            disk.read(0, &mut bytes);
            let letter = |sector: usize| match sector {
                9 | 10 => 0,
                6..=16 => 2,
                _ => 1,
            };
            assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == letter(at / 512)));
            array.storage.put_back(dev);
        }
    }
}

/// A bad sector does not make a bad disk. It is written again when it is read, and two of them at
/// different places lose nothing.
#[test]
fn bad_sectors_on_two_disks_are_read_and_healed() {
    for array in both() {
        (0..4).for_each(|block| array.write(block, 7));
        array.spoil(0, 8..9);
        array.spoil(1, 10..12);
        for _ in 0..2 {
            (0..4).for_each(|block| assert_eq!(array.read(block), Ok(7)));
        }
        (0..4).for_each(|block| array.write(block, 7));
        let left: Vec<u64> =
            (0..array.disks.len() as u32).flat_map(|dev| array.storage.unreadable(dev)).collect();
        assert_eq!(left, [0; 0]);
    }
}

/// Blocks lost on two disks are reported as lost until they are written. All others are there.
#[test]
fn blocks_lost_on_two_disks_are_unreadable_until_written() {
    let [mirror, parity] = both();
    for (array, lost) in [(mirror, vec![1]), (parity, vec![2, 3])] {
        (0..6).for_each(|block| array.write(block, 7));
        array.disk().flush();
        (0..array.disks.len() as u32).for_each(|dev| array.spoil(dev, 16..24));
        for block in 0..6 {
            let expected = if lost.contains(&block) { Err(Errno::EIO) } else { Ok(7) };
            assert_eq!(array.read(block), expected);
        }
        let (last, others) = lost.split_last().unwrap();
        for block in others {
            array.write(*block, 8);
            assert_eq!((array.read(*block), array.read(*last)), (Ok(8), Err(Errno::EIO)));
        }
        array.write(*last, 9);
        assert_eq!(array.read(*last), Ok(9));
        array.storage.pull_out(1);
        assert_eq!(array.read(*last), Ok(9));
    }
}

/// Stale parity does not restore a block, neither before nor after an unmount.
#[test]
fn a_block_whose_parity_is_stale_is_not_made_up() {
    let mut array = Array::new(parity::def(), 3);
    (0..2).for_each(|block| array.write(block, 7));
    // Blocks 0 and 1 are in row 0. Its parity is on disk 0, its blocks are on disks 1 and 2.
    array.spoil(1, 8..16);
    array.call(|component, below| component.recover(below).unwrap());
    for _ in 0..2 {
        array.call(|component, below| component.mount(below).unwrap());
        assert_eq!((array.read(0), array.read(1)), (Err(Errno::EIO), Ok(7)));
        array.write(1, 7);
        array.call(|component, below| component.unmount(below).unwrap());
    }
    array.call(|component, below| component.mount(below).unwrap());
    array.write(0, 5);
    array.storage.pull_out(1);
    assert_eq!((array.read(0), array.read(1)), (Ok(5), Ok(7)));
}

#[test]
fn an_array_needs_its_disks() {
    let refused = |def: ComponentDef, disks: u32, sectors: u64, options: Options| {
        let storage = Storage::new(Image::new(), Recording::Off);
        let disks = (0..disks)
            .map(|dev| Surface::Disk(RamDisk::new(storage.clone(), dev, sectors)))
            .collect();
        let mut array = Array { storage, disks, component: def.make(&options).unwrap() };
        array.call(|component, below| component.mount(below)).unwrap_err().to_string()
    };
    let none = Options::none;
    let fault = refused(mirror::def(), 1, SECTORS, none());
    assert!(fault.starts_with("needs 2 disks below it, and has 1"), "{fault}");
    assert_eq!(refused(mirror::def(), 2, 8, none()), "needs disks of 16 sectors at least");
    let journal = none().with("writes", "journal");
    assert_eq!(refused(parity::def(), 3, 32, journal), "needs disks of 40 sectors at least");
}
