//! Tests of disks and images against flat byte arrays.

use std::collections::BTreeMap;
use std::sync::Arc;

use explode_ramdisk::{
    BLOCK_BYTES, Condition, Damage, Disk, DiskFault, Flags, Identity, Image, Payload, RamDisk,
    ReadFault, Recording, SECTOR_BYTES, Storage, sector_identity,
};
use proptest::prelude::*;

const SECTORS: usize = 64;

/// Returns a strategy for writes of few different bytes and many zeroes, so that earlier contents
/// recur.
fn write() -> impl Strategy<Value = (usize, Vec<u8>)> {
    (0..SECTORS, prop::collection::vec(0u8..3, 1..20)).prop_map(|(first, sectors)| {
        let sectors = sectors.into_iter().take(SECTORS - first);
        (first, sectors.flat_map(|byte| [byte; SECTOR_BYTES]).collect())
    })
}

fn put(flat: &mut [u8], first: usize, data: &[u8]) {
    let at = first * SECTOR_BYTES;
    flat[at..at + data.len()].copy_from_slice(data);
}

fn bytes(disk: &Disk) -> Vec<u8> {
    let mut all = vec![7; SECTORS * SECTOR_BYTES];
    disk.read(0, &mut all);
    all
}

/// Returns the identity as defined: the sum over the sectors.
fn identity(flat: &[u8]) -> Identity {
    let sectors = flat.chunks_exact(SECTOR_BYTES).enumerate();
    sectors.fold(Identity::default(), |sum, (at, bytes)| sum + sector_identity(at as u64, bytes))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_write_with_a_known_hash_equals_a_hashed_write(before in write(), after in write(),
        shared in 0..SECTORS as u64 / 8) {
        let mut hashed = Disk::new();
        hashed.write(before.0 as u64, &before.1);
        let (mut known, old) = (hashed.clone(), hashed.identity());
        hashed.write(after.0 as u64, &after.1);
        known.write_known(after.0 as u64, &after.1, hashed.identity() - old);
        prop_assert_eq!((bytes(&known), known.identity()), (bytes(&hashed), hashed.identity()));

        let (old, block) = (hashed.identity(), Arc::new([after.1[0]; BLOCK_BYTES]));
        hashed.write(shared * 8, &block[..]);
        known.share_known(shared, &block, hashed.identity() - old);
        prop_assert_eq!((bytes(&known), known.identity()), (bytes(&hashed), hashed.identity()));
        prop_assert_eq!(&known, &hashed);
    }

    #[test]
    fn a_disk_is_its_bytes(
        writes in prop::collection::vec(write(), 0..30),
        reads in prop::collection::vec((0..SECTORS * SECTOR_BYTES, 0usize..10_000), 10),
    ) {
        let mut flat = vec![0; SECTORS * SECTOR_BYTES];
        let mut disk = Disk::new();
        for (first, data) in writes {
            put(&mut flat, first, &data);
            disk.write(first as u64, &data);
            prop_assert_eq!(disk.identity(), identity(&flat));
        }
        prop_assert!(bytes(&disk) == flat);
        prop_assert!(disk == Disk::from_bytes(&flat));
        for (offset, len) in reads {
            let end = flat.len().min(offset + len);
            let mut buf = vec![7; end - offset];
            disk.read(offset as u64, &mut buf);
            prop_assert!(buf == flat[offset..end]);
        }
        for (at, sector) in flat.chunks_exact(SECTOR_BYTES).enumerate() {
            prop_assert!(disk.sector(at as u64) == sector);
        }
    }

    #[test]
    fn shares_add_up_to_the_identity(
        writes in prop::collection::vec(write(), 0..6),
        bad in prop::collection::btree_set(0..SECTORS as u64, 0..4),
        cut in (0..SECTORS as u64, 0..SECTORS as u64),
    ) {
        let mut disk = Disk::new();
        for (first, data) in &writes {
            disk.write(*first as u64, data);
        }
        for sector in &bad {
            disk.damage(&Damage::Sectors(*sector..sector + 1, ReadFault::Unreadable));
        }
        let all = disk.shares(0..SECTORS as u64);
        let sum = all.iter().fold(Identity::default(), |sum, (_, share)| sum + *share);
        prop_assert_eq!(sum, disk.identity());
        let is_written = |sector: &u64| disk.sector(*sector) != [0; SECTOR_BYTES];
        let has_share = |sector: &u64| bad.contains(sector) || is_written(sector);
        let sectors: Vec<u64> = (0..SECTORS as u64).filter(has_share).collect();
        prop_assert_eq!(all.iter().map(|(sector, _)| *sector).collect::<Vec<_>>(), sectors);
        let range = cut.0.min(cut.1)..cut.0.max(cut.1);
        let within: Vec<_> = all.into_iter().filter(|(sector, _)| range.contains(sector)).collect();
        prop_assert_eq!(disk.shares(range), within);
    }

    #[test]
    fn equal_identities_are_equal_contents(
        one in prop::collection::vec(write(), 0..6),
        other in prop::collection::vec(write(), 0..6),
    ) {
        let after = |writes: &[(usize, Vec<u8>)]| {
            let (mut flat, mut disk) = (vec![0; SECTORS * SECTOR_BYTES], Disk::new());
            for (first, data) in writes {
                put(&mut flat, *first, data);
                disk.write(*first as u64, data);
            }
            (flat, disk)
        };
        let ((flat, disk), (other_flat, other_disk)) = (after(&one), after(&other));
        prop_assert_eq!(disk.identity() == other_disk.identity(), flat == other_flat);
        prop_assert_eq!(disk == other_disk, flat == other_flat);
    }

    #[test]
    fn a_snapshot_is_unchanged_and_lists_changed_sectors(
        before in prop::collection::vec(write(), 0..10),
        after in prop::collection::vec(write(), 0..10),
    ) {
        let mut disk = Disk::new();
        for (first, data) in before {
            disk.write(first as u64, &data);
        }
        let snapshot = disk.clone();
        let (old, who) = (bytes(&snapshot), snapshot.identity());
        for (first, data) in after {
            disk.write(first as u64, &data);
        }
        prop_assert!(bytes(&snapshot) == old);
        prop_assert_eq!(snapshot.identity(), who);

        let new = bytes(&disk);
        let blocks = |flat: &[u8]| {
            flat.chunks_exact(BLOCK_BYTES).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let pairs = blocks(&old).into_iter().zip(blocks(&new));
        let differ: Vec<u64> =
            (0..).zip(pairs).filter(|(_, (old, new))| old != new).map(|(at, _)| at).collect();
        for changed in [disk.changed_blocks(&snapshot), snapshot.changed_blocks(&disk)] {
            prop_assert!(differ.iter().all(|block| changed.contains(block)), "{differ:?} in \
                {changed:?}");
            prop_assert!(changed.is_sorted());
            // The only other blocks are blocks of zeroes that are in only one of the two maps.
            let kept = |disk: &Disk| disk.blocks().collect::<Vec<_>>();
            let in_one =
                |block: &u64| kept(&disk).contains(block) != kept(&snapshot).contains(block);
            prop_assert!(changed.iter().all(|block| differ.contains(block) || in_one(block)));
        }

        // A restore copies the changed blocks.
        let mut restored = disk.clone();
        for block in disk.changed_blocks(&snapshot) {
            let mut contents = [0; BLOCK_BYTES];
            snapshot.read(block * BLOCK_BYTES as u64, &mut contents);
            restored.write(block * (BLOCK_BYTES / SECTOR_BYTES) as u64, &contents);
        }
        prop_assert!(restored == snapshot);
    }

    #[test]
    fn used_sectors_and_zeroes(
        writes in prop::collection::vec(write(), 0..6),
        from in 0u64..SECTORS as u64 + 9,
        len in 0u64..SECTORS as u64,
    ) {
        let mut flat = vec![0; SECTORS * SECTOR_BYTES];
        let mut disk = Disk::new();
        for (first, data) in writes {
            put(&mut flat, first, &data);
            disk.write(first as u64, &data);
        }
        let range = from..from + len;
        let used = |flat: &[u8]| {
            let sectors = (0..).zip(flat.chunks_exact(SECTOR_BYTES));
            let written = sectors.filter(|(_, bytes)| **bytes != [0; SECTOR_BYTES]);
            written.map(|(at, _)| at).collect::<Vec<u64>>()
        };
        let expected: Vec<u64> = used(&flat).into_iter().filter(|at| range.contains(at)).collect();
        prop_assert_eq!(disk.used_sectors(range.clone()).collect::<Vec<_>>(), expected);
        prop_assert_eq!(disk.used_sectors(0..u64::MAX).collect::<Vec<_>>(), used(&flat));

        disk.write_zeroes(range.clone());
        for (at, sector) in (0..).zip(flat.chunks_exact_mut(SECTOR_BYTES)) {
            if range.contains(&at) {
                sector.fill(0);
            }
        }
        prop_assert!(bytes(&disk) == flat);
        prop_assert_eq!(disk.identity(), identity(&flat));
    }

    #[test]
    fn an_image_is_its_disks(
        one in prop::collection::vec((0u32..3, write()), 0..4),
        other in prop::collection::vec((0u32..3, write()), 0..4),
    ) {
        let after = |writes: &[(u32, (usize, Vec<u8>))]| {
            let mut image = Image::new();
            let mut flat = BTreeMap::new();
            for (dev, (first, data)) in writes {
                image.disk_mut(*dev).write(*first as u64, data);
                put(flat.entry(*dev).or_insert_with(|| vec![0; SECTORS * SECTOR_BYTES]), *first,
                    data);
            }
            flat.retain(|_, bytes| bytes.iter().any(|byte| *byte != 0));
            (image, flat)
        };
        let ((image, flat), (other_image, other_flat)) = (after(&one), after(&other));
        prop_assert_eq!(image.identity() == other_image.identity(), flat == other_flat);
    }
}

#[test]
fn blocks_of_zeroes_equal_absent_blocks() {
    let mut disk = Disk::new();
    disk.write(0, &[0; 2 * BLOCK_BYTES]);
    assert_eq!(disk.blocks().count(), 0);
    assert_eq!(disk.identity(), Identity::default());
    disk.write(1 << 50, &[1; SECTOR_BYTES]);
    disk.write(1 << 50, &[0; SECTOR_BYTES]);
    assert_eq!(disk.identity(), Identity::default());
    assert!(disk == Disk::new());
    assert_eq!(Image::from_iter([(3, disk)]).identity(), Identity::default());
}

#[test]
fn the_same_bytes_elsewhere_are_another_disk() {
    let at = |sector| {
        let mut disk = Disk::new();
        disk.write(sector, &[1; SECTOR_BYTES]);
        disk
    };
    assert_ne!(at(0).identity(), at(1).identity());
    let on = |dev| Image::from_iter([(dev, at(0))]);
    assert_ne!(on(0).identity(), on(1).identity());
    assert_eq!(on(4).identity().to_string().len(), 32);
}

#[test]
#[should_panic(expected = "not whole sectors")]
fn a_part_of_a_sector_cannot_be_written() {
    Disk::new().write(0, &[0; 100]);
}

#[test]
fn the_cost_of_a_discard_depends_on_the_contents() {
    let disk = RamDisk::new(Storage::new(Image::new(), Recording::On), 0, 1 << 45);
    disk.write(77, &[1; SECTOR_BYTES], Flags::NONE);
    for payload in [Payload::Discard(1 << 54), Payload::Zeroes(1 << 54)] {
        let request = disk.submit(0, payload, Flags::NONE);
        disk.complete(request);
    }
    let mut sector = [7; SECTOR_BYTES];
    disk.read(77, &mut sector);
    assert_eq!(sector, [0; SECTOR_BYTES]);
}

#[test]
#[should_panic(expected = "beyond a device of 8 sectors")]
fn a_read_that_ends_within_a_sector_behind_the_device() {
    let disk = RamDisk::new(Storage::new(Image::new(), Recording::On), 0, 8);
    disk.read(8, &mut [0; 100]);
}

/// Reads of a device that is pulled out fail and writes are lost. Its contents are unchanged after
/// it is put back.
#[test]
fn a_device_that_was_pulled_out() {
    let storage = Storage::new(Image::new(), Recording::On);
    let disk = RamDisk::new(storage.clone(), 1, 8);
    disk.write(0, &[1; SECTOR_BYTES], Flags::NONE);
    let before = (storage.image(), storage.take_log().len());
    storage.pull_out(1);
    let mut sector = [7; SECTOR_BYTES];
    assert_eq!(disk.try_read(0, &mut sector), Err(nix::errno::Errno::EIO));
    disk.write(0, &[2; SECTOR_BYTES], Flags::FUA);
    disk.dirty(1, vec![2; SECTOR_BYTES].into());
    disk.forget(1, SECTOR_BYTES as u64);
    disk.flush();
    assert_eq!((storage.take_log().len(), before.1), (0, 2));
    RamDisk::new(storage.clone(), 0, 8).try_read(0, &mut sector).unwrap();
    storage.put_back(1);
    assert_eq!(storage.image().identity(), before.0.identity());
    disk.read(0, &mut sector);
    assert_eq!(sector, [1; SECTOR_BYTES]);
}

/// A disk that fails answers no request and keeps nothing, one that is stale answers after the crash
/// with what it held, and one that is missing answers until then.
#[test]
fn a_disk_fails_as_a_whole() {
    let sound = Disk::from_bytes(&[1; SECTOR_BYTES]);
    let faults = [DiskFault::Failed, DiskFault::Stale, DiskFault::Missing];
    for (fault, live, after) in faults
        .into_iter()
        .zip([(0, 0), (0, 1), (1, 0)])
        .map(|(fault, (live, after))| (Damage::Disk(fault), live == 1, after == 1))
    {
        let storage = Storage::new(Image::from_iter([(0, sound.clone())]), Recording::On);
        let disk = RamDisk::new(storage.clone(), 0, 8);
        storage.damage(0, &fault);
        let mut sector = [0; SECTOR_BYTES];
        let read = disk.try_read(0, &mut sector).is_ok();
        assert_eq!((read, disk.answers()), (live, live), "{fault:?}");
        disk.write(1, &[2; SECTOR_BYTES], Flags::FUA);
        assert_eq!(storage.take_log().len(), if live { 2 } else { 0 }, "{fault:?}");

        let mut crashed = sound.clone();
        crashed.damage(&fault);
        assert_eq!(crashed.readable(0, 1).is_ok(), after, "{fault:?}");
        assert!(crashed.is_damaged() && crashed.identity() != sound.identity(), "{fault:?}");
        let storage = Storage::new(Image::from_iter([(0, crashed)]), Recording::On);
        assert_eq!((storage.answers(0), storage.has_lost_disk()), (after, true), "{fault:?}");
        // What was written makes no disk good again.
        RamDisk::new(storage.clone(), 0, 8).write(0, &[3; SECTOR_BYTES], Flags::FUA);
        assert_eq!(storage.answers(0), after, "{fault:?}");
    }
}

/// An image that is taken of devices with a fault keeps the fault.
#[test]
fn conditions_are_carried_over() {
    let image = || Image::from_iter([(0, Disk::from_bytes(&[1; SECTOR_BYTES]))]);
    let faults = [
        (DiskFault::Failed, Condition::Failed),
        (DiskFault::Missing, Condition::Failed),
        (DiskFault::Stale, Condition::Stale),
    ];
    for (fault, condition) in faults {
        let mut damaged = image();
        damaged.disk_mut(0).damage(&Damage::Disk(fault));
        let carried = image().in_condition_of(&damaged);
        assert_eq!((carried.condition(0), carried.identity()), (condition, damaged.identity()));
        assert_eq!(damaged.clone().in_condition_of(&image()).identity(), damaged.identity());
    }
    assert_eq!(image().in_condition_of(&image()).identity(), image().identity());
}
