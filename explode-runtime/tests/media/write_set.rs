//! A bad block on crash disks: it is bad until a write has reached it.

use explode_ramdisk::{Disk, Event, Flags, Image, Payload, ReadFault};
use explode_runtime::crash::{Instants, SampleLimits, walk};
use explode_runtime::writeset::{DeviceRules, WriteSet};

fn image(letter: u8) -> Image {
    Image::from_iter([(0, Disk::from_bytes(&[letter; 8192]))])
}

/// Returns for each crash disk of this instant, in order, whether block 0 can be read, and its
/// first byte. The image must have the identity that the disk reports.
fn disks(write_set: &WriteSet) -> Vec<(bool, u8)> {
    let mut found = Vec::new();
    walk(&mut write_set.clone(), &[], Instants::Now, &SampleLimits::default(), |disk| {
        let image = disk.image();
        assert_eq!(image.identity(), disk.identity());
        let block = image.disk(0).unwrap();
        found.push((block.readable(0, 4096).is_ok(), block.sector(0)[0]));
    })
    .unwrap();
    found
}

fn write(id: u64, letter: u8) -> [Event; 2] {
    let payload = Payload::Data(vec![letter; 4096].into());
    [
        Event::Submit { id, dev: 0, sector: 0, payload, flags: Flags::NONE },
        Event::Complete { id, error: false },
    ]
}

fn flush(id: u64) -> [Event; 2] {
    [Event::Flush { id, dev: 0 }, Event::Complete { id, error: false }]
}

/// A scrub writes the same bytes again, and leaves another disk.
#[test]
fn a_block_is_bad_until_a_write_has_reached_it() {
    let mut write_set = WriteSet::new(image(1), DeviceRules::default());
    let sound = write_set.durable().identity();
    write_set.damage(0, 0..8, ReadFault::Unreadable);
    assert_ne!(write_set.durable().identity(), sound);
    assert_eq!(disks(&write_set), [(false, 1)]);
    let mut apply = |events: [Event; 2]| {
        events.iter().for_each(|event| write_set.apply(event).unwrap());
        disks(&write_set)
    };
    assert_eq!(apply(write(1, 1)), [(false, 1), (true, 1)]);
    assert_eq!(apply(write(2, 2)), [(false, 1), (true, 1), (true, 2)]);
    assert_eq!(apply(flush(3)), [(true, 2)]);
    assert_eq!(write_set.durable().identity(), {
        let mut image = image(1);
        image.disk_mut(0).write(0, &[2; 4096]);
        image.identity()
    });
}

/// If a bad block is overwritten in part, the rest stays bad.
#[test]
fn each_sector_heals_by_itself() {
    let mut disk = Disk::from_bytes(&[1; 4096]);
    let sound = disk.identity();
    disk.damage(0..8, ReadFault::Unreadable);
    disk.write(2, &[1; 1024]);
    assert_eq!(disk.unreadable().collect::<Vec<_>>(), [0, 1, 4, 5, 6, 7]);
    assert!(
        disk.readable(1024, 1024).is_ok()
            && disk.readable(1023, 1).is_err()
            && disk.readable(2047, 2).is_err()
    );
    disk.write_zeroes(0..2);
    disk.write(4, &[1; 2048]);
    disk.write(0, &[1; 1024]);
    assert_eq!((disk.unreadable().next(), disk.identity()), (None, sound));
}

#[test]
fn garbage_is_the_same_for_the_same_seed_and_goes_when_it_is_overwritten() {
    let spoilt = |seed| {
        let mut disk = Disk::from_bytes(&[1; 4096]);
        disk.damage(0..8, ReadFault::Garbage { seed });
        disk
    };
    let (disk, again, other) = (spoilt(1), spoilt(1), spoilt(2));
    assert_eq!(disk, again);
    assert_ne!(disk, other);
    assert_ne!(disk.sector(0), disk.sector(1));
    let mut write_set = WriteSet::new(image(1), DeviceRules::default());
    write_set.damage(0, 0..8, ReadFault::Garbage { seed: 1 });
    write(1, 2).iter().for_each(|event| write_set.apply(event).unwrap());
    assert_eq!(disks(&write_set), [(true, disk.sector(0)[0]), (true, 2)]);
}
