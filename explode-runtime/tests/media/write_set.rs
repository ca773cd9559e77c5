//! Faults on crash disks: a block is bad until a write has reached it, and nothing reaches a disk
//! that has failed.

use explode_ramdisk::{Damage, Disk, DiskFault, Event, Flags, Image, Payload, ReadFault};
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

/// Returns the crash disks of this instant, in order.
fn disks_of(write_set: &WriteSet) -> Vec<Image> {
    let mut found = Vec::new();
    let limits = SampleLimits::default();
    walk(&mut write_set.clone(), &[], Instants::Now, &limits, |disk| found.push(disk.image()))
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
    write_set.damage(0, &Damage::Sectors(0..8, ReadFault::Unreadable));
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
    disk.damage(&Damage::Sectors(0..8, ReadFault::Unreadable));
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
        disk.damage(&Damage::Sectors(0..8, ReadFault::Garbage { seed }));
        disk
    };
    let (disk, again, other) = (spoilt(1), spoilt(1), spoilt(2));
    assert_eq!(disk, again);
    assert_ne!(disk, other);
    assert_ne!(disk.sector(0), disk.sector(1));
    let mut write_set = WriteSet::new(image(1), DeviceRules::default());
    write_set.damage(0, &Damage::Sectors(0..8, ReadFault::Garbage { seed: 1 }));
    write(1, 2).iter().for_each(|event| write_set.apply(event).unwrap());
    assert_eq!(disks(&write_set), [(true, disk.sector(0)[0]), (true, 2)]);
}

/// Nothing that is sent to a failed disk later is on a crash disk. What a stale disk had in its cache
/// may be there; a later flush has no effect on it.
#[test]
fn nothing_reaches_a_disk_that_has_failed() {
    for (fault, after) in [
        (DiskFault::Failed, vec![(false, 1)]),
        (DiskFault::Missing, vec![(false, 1)]),
        (DiskFault::Stale, vec![(true, 1), (true, 2)]),
    ] {
        let mut write_set = WriteSet::new(image(1), DeviceRules::default());
        let apply = |write_set: &mut WriteSet, events: &[Event]| {
            events.iter().for_each(|event| write_set.apply(event).unwrap());
        };
        apply(&mut write_set, &write(1, 2));
        let dirty = Event::Dirty { dev: 0, sector: 0, data: vec![3; 4096].into() };
        apply(&mut write_set, &[dirty]);
        let [submit, complete] = write(2, 4);
        write_set.damage(0, &Damage::Disk(fault));
        assert_eq!(disks(&write_set), after, "{fault:?}");
        apply(&mut write_set, &[submit, complete]);
        apply(&mut write_set, &flush(3));
        assert_eq!(disks(&write_set), after, "{fault:?}");
        // A crash during recovery: a stale disk is written again.
        let base = disks_of(&write_set).swap_remove(0);
        let mut nested = WriteSet::new(base, DeviceRules::default());
        apply(&mut nested, &write(1, 5));
        let kept = disks(&nested).iter().any(|(_, letter)| *letter == 5);
        assert_eq!(kept, fault == DiskFault::Stale, "{fault:?}");
    }
}

/// A request that is in flight when its disk fails ends without an effect.
#[test]
fn a_request_in_flight_fails_with_its_disk() {
    let mut write_set = WriteSet::new(image(1), DeviceRules::default());
    let [submit, complete] = write(1, 2);
    write_set.apply(&submit).unwrap();
    write_set.damage(0, &Damage::Disk(DiskFault::Failed));
    write_set.apply(&complete).unwrap();
    assert_eq!(disks(&write_set), [(false, 1)]);
}
