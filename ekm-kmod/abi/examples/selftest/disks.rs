//! Cases about RAM disks.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use explode_ekm_abi::user;
use explode_ekm_abi::wire::*;
use nix::errno::Errno;

use crate::Case;
use crate::Outcome::{self, Good, Note};
use crate::device::{Aligned, Disk, Map, Rdd, any_call};

pub(crate) const CASES: &[Case] = &[
    ("disk attributes", attributes),
    ("disk numbers and removal", numbers),
    ("disk contents by requests and by mmap", contents),
    ("disk block lists", lists),
    ("disk discard and write zeroes", zeroes),
    ("disk faults", faults),
    ("a disk that is gone", gone),
    ("disk writes that end late", late),
    ("disk limits", limits),
    ("disk costs", costs),
];

fn attributes() -> Outcome {
    let disk = Disk::new(16);
    let get = |name: &str| {
        let path = format!("/sys/block/rdd{}/{name}", disk.spec.disk);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{path}: {error}"))
            .trim()
            .to_owned()
    };
    assert_eq!(get("size"), "32768");
    assert_eq!(get("dev"), format!("{}:{}", disk.spec.major, disk.spec.minor));
    assert_eq!(get("queue/logical_block_size"), "512");
    assert_eq!(get("queue/physical_block_size"), "512");
    assert_eq!(get("queue/write_cache"), "write back");
    assert_eq!(get("queue/fua"), "1");
    assert_eq!(get("queue/discard_granularity"), "512");
    assert_ne!(get("queue/discard_max_bytes"), "0");
    assert_ne!(get("queue/write_zeroes_max_bytes"), "0");
    Good
}

fn numbers() -> Outcome {
    let control = Rdd::open();
    let make = || user::create(control.fd(), 8).unwrap().disk;
    let (first, second, third) = (make(), make(), make());
    assert!(first < second && second < third);
    user::remove(control.fd(), second).unwrap();
    assert_eq!(user::remove(control.fd(), second), Err(Errno::ENODEV));
    assert!(!fs::exists(format!("/dev/rdd{second}")).unwrap());
    assert_eq!(make(), second, "the lowest free one");

    let open = File::open(format!("/dev/rdd{second}")).unwrap();
    assert_eq!(user::remove(control.fd(), second), Err(Errno::EBUSY));
    drop(open);
    let map = Map::new(&control.0, i64::from(second) << RDD_MMAP_SHIFT, 4096, true).unwrap();
    assert_eq!(user::remove(control.fd(), second), Err(Errno::EBUSY));
    drop(map);
    for disk in [first, second, third] {
        user::remove(control.fd(), disk).unwrap();
    }
    Good
}

fn contents() -> Outcome {
    let mut disk = Disk::new(1);
    assert!(disk.contents().iter().all(|&byte| byte == 0), "begins with zeroes");
    let device = disk.direct();
    let mut buffer = Aligned([7; 8192]);
    device.write_all_at(&buffer.0, 512 * 5).unwrap();
    assert_eq!(&disk.contents()[512 * 5..][..8192], &buffer.0);
    assert!(disk.contents()[..512 * 5].iter().all(|&byte| byte == 0));
    disk.map.as_mut().unwrap().write(100, b"hello");
    device.read_exact_at(&mut buffer.0[..512], 0).unwrap();
    assert_eq!(&buffer.0[100..105], b"hello");
    device.sync_all().unwrap();
    // Beyond the end.
    assert_eq!(device.read_at(&mut buffer.0, 1 << 20).unwrap(), 0);
    assert!(device.write_at(&buffer.0, 1 << 20).is_err());
    Good
}

fn lists() -> Outcome {
    let mut disk = Disk::new(1);
    let device = disk.direct();
    // An open reads the disk in search of a file system or partitions.
    disk.read();
    disk.changed();
    let mut buffer = Aligned([1; 8192]);
    device.write_all_at(&buffer.0, 4096 * 20).unwrap();
    device.write_all_at(&buffer.0[..512], 4096 * 3 + 512).unwrap();
    device.write_all_at(&buffer.0[..1024], 4096 * 20 - 512).unwrap();
    device.read_exact_at(&mut buffer.0[..4096], 4096 * 200).unwrap();
    disk.map.as_mut().unwrap().write(4096 * 100, b"mine");

    let mut room = [0u32; 8];
    let mut list = |capacity: u64| BlockList {
        disk: disk.spec.disk,
        which: BLOCKS_CHANGED,
        blocks: room.as_mut_ptr() as u64,
        capacity,
        count: 99,
    };
    let mut short = list(3);
    assert_eq!(any_call(&disk.control.0, RDD_BLOCKS, &mut short), Err(Errno::ENOSPC));
    assert_eq!(short.count, 4);
    let mut bad = BlockList { blocks: 16, ..list(8) };
    assert_eq!(any_call(&disk.control.0, RDD_BLOCKS, &mut bad), Err(Errno::EFAULT));
    assert_eq!(disk.changed(), [20, 21, 3, 19], "in order of first touch, each once; kept so far");
    assert!(disk.changed().is_empty());
    device.write_all_at(&buffer.0[..512], 4096 * 20).unwrap();
    assert_eq!(disk.changed(), [20], "begun anew");
    assert_eq!(disk.read(), [200]);
    assert!(disk.read().is_empty());

    // More blocks than the first capacity of a vector.
    let large = Disk::new(16);
    let device = large.direct();
    let zeroes = vec![Aligned([2; 4096]); 256];
    // SAFETY: the elements are consecutive bytes without padding.
    let bytes = unsafe { std::slice::from_raw_parts(zeroes.as_ptr().cast::<u8>(), 256 * 4096) };
    for mib in 0..16 {
        device.write_all_at(bytes, mib << 20).unwrap();
    }
    assert_eq!(large.changed(), (0..4096).collect::<Vec<u32>>());
    Good
}

mod block {
    use ioctl_sys::io;

    /// `BLKDISCARD`, `BLKSECDISCARD`, `BLKZEROOUT`. Each takes an offset and a length in bytes.
    pub(super) const DISCARD: u32 = io!(0x12, 119);
    pub(super) const SECURE: u32 = io!(0x12, 125);
    pub(super) const ZERO: u32 = io!(0x12, 127);
}

fn zeroes() -> Outcome {
    for call in [block::DISCARD, block::SECURE, block::ZERO] {
        let mut disk = Disk::new(1);
        let ones = vec![1; 1 << 20];
        disk.map.as_mut().unwrap().write(0, &ones);
        let device = disk.direct();
        any_call(&device, call, &mut [4096u64 + 512, 8192]).unwrap();
        let zero: Vec<bool> =
            disk.contents().chunks(512).map(|sector| sector == [0; 512]).collect();
        assert!(
            zero.iter().enumerate().all(|(sector, &zero)| zero == (9..25).contains(&sector)),
            "{call}"
        );
        assert_eq!(disk.changed(), [1, 2, 3]);
    }
    Good
}

fn faults() -> Outcome {
    let mut disk = Disk::new(1);
    let number = disk.spec.disk;
    let pattern: Vec<u8> = (0..1 << 20).map(|at| (at / 512 % 251) as u8).collect();
    disk.map.as_mut().unwrap().write(0, &pattern);
    let device = disk.direct();
    disk.changed();
    let set = |kind, sector, sectors, seed| {
        user::fault(disk.control.fd(), FaultSpec { disk: number, kind, sector, sectors, seed })
    };
    let failed = |result: std::io::Result<()>| {
        let error = result.expect_err("the fault was not met");
        assert_eq!(error.raw_os_error(), Some(Errno::EIO as i32), "{error}");
    };
    let mut buffer = Aligned([0xee; 8192]);

    set(FAULT_WRITE_ERROR, 100, 1, 0).unwrap();
    // A request that touches the range changes nothing, even outside the range.
    failed(device.write_all_at(&buffer.0, 96 * 512));
    failed(any_call(&device, block::DISCARD, &mut [96u64 * 512, 8192]).map_err(Into::into));
    assert_eq!(disk.contents(), pattern);
    assert!(disk.changed().is_empty());
    device.write_all_at(&buffer.0[..512], 99 * 512).unwrap();
    device.write_all_at(&buffer.0[..512], 101 * 512).unwrap();
    device.read_exact_at(&mut buffer.0, 96 * 512).unwrap();
    assert_eq!(disk.changed(), [12]);

    set(FAULT_READ_ERROR, 200, 2, 0).unwrap();
    failed(device.read_exact_at(&mut buffer.0[..512], 201 * 512));
    failed(device.read_exact_at(&mut buffer.0, 190 * 512));
    device.read_exact_at(&mut buffer.0[..512], 202 * 512).unwrap();
    device.write_all_at(&buffer.0[..512], 200 * 512).unwrap();

    // Written sectors can be read again, whichever way they are written.
    set(FAULT_UNREADABLE, 400, 8, 0).unwrap();
    failed(device.read_exact_at(&mut buffer.0[..512], 407 * 512));
    device.write_all_at(&buffer.0[..1024], 402 * 512).unwrap();
    device.read_exact_at(&mut buffer.0[..1024], 402 * 512).unwrap();
    failed(device.read_exact_at(&mut buffer.0[..512], 401 * 512));
    failed(device.read_exact_at(&mut buffer.0[..512], 404 * 512));
    any_call(&device, block::DISCARD, &mut [400u64 * 512, 4096]).unwrap();
    device.read_exact_at(&mut buffer.0[..4096], 400 * 512).unwrap();
    assert_eq!(set(FAULT_UNREADABLE, 0, FAULTS_MAX as u64, 0), Err(Errno::ENOSPC));

    set(FAULT_READ_GARBAGE, 300, 2, 5).unwrap();
    let mut first = Aligned([0; 2048]);
    let mut second = Aligned([0; 512]);
    device.read_exact_at(&mut first.0, 299 * 512).unwrap();
    device.read_exact_at(&mut second.0, 301 * 512).unwrap();
    assert_eq!(first.0[..512], pattern[299 * 512..][..512]);
    assert_eq!(first.0[1536..], pattern[302 * 512..][..512]);
    assert_ne!(first.0[512..1024], first.0[1024..1536]);
    assert_ne!(first.0[512..1024], pattern[300 * 512..][..512]);
    assert_eq!(first.0[1024..1536], second.0, "the same for the same seed and sector");

    assert_eq!(set(FAULT_READ_ERROR, 2047, 2, 0), Err(Errno::EINVAL));
    assert_eq!(set(FAULT_READ_ERROR, u64::MAX, 2, 0), Err(Errno::EINVAL));
    assert_eq!(set(FAULT_READ_ERROR, 0, 0, 0), Err(Errno::EINVAL));
    assert_eq!(set(9, 0, 1, 0), Err(Errno::EINVAL));
    for _ in 3..FAULTS_MAX {
        set(FAULT_READ_ERROR, 0, 1, 0).unwrap();
    }
    assert_eq!(set(FAULT_READ_ERROR, 0, 1, 0), Err(Errno::ENOSPC));
    set(FAULT_CLEAR, 0, 0, 0).unwrap();
    device.read_exact_at(&mut buffer.0, 296 * 512).unwrap();
    assert_eq!(buffer.0[..], pattern[296 * 512..][..8192]);
    device.write_all_at(&buffer.0, 96 * 512).unwrap();
    Good
}

/// A disk that is gone fails every request and changes nothing.
fn gone() -> Outcome {
    let mut disk = Disk::new(1);
    disk.map.as_mut().unwrap().write(0, &[7; 4096]);
    let device = disk.direct();
    let set = |kind, sectors| {
        let disk_fault = FaultSpec { disk: disk.spec.disk, kind, sectors, ..FaultSpec::default() };
        user::fault(disk.control.fd(), disk_fault)
    };
    let mut buffer = Aligned([1; 4096]);
    assert_eq!(set(FAULT_GONE, 2047), Err(Errno::EINVAL), "it is the whole disk or none");
    set(FAULT_GONE, 2048).unwrap();
    for result in [
        device.read_exact_at(&mut buffer.0, 0),
        device.write_all_at(&Aligned([2; 4096]).0, 0),
        device.sync_all(),
    ] {
        assert_eq!(result.unwrap_err().raw_os_error(), Some(Errno::EIO as i32));
    }
    set(FAULT_CLEAR, 0).unwrap();
    device.sync_all().unwrap();
    device.read_exact_at(&mut buffer.0, 0).unwrap();
    assert_eq!(buffer.0, [7; 4096]);
    Good
}

fn late() -> Outcome {
    let disk = Disk::new(1);
    let set = |when| user::ends(disk.control.fd(), disk.spec.disk, when);
    assert_eq!(user::ends(disk.control.fd(), 999, ENDS_LATE), Err(Errno::ENODEV));
    assert_eq!(set(ENDS_BY_CHOICE_NOT_YET + 1), Err(Errno::EINVAL));
    let write = |byte: u8, at: u64| {
        let device = disk.direct();
        thread::spawn(move || device.write_all_at(&Aligned([byte; 4096]).0, at).unwrap())
    };
    // The write completes when nothing else can run.
    set(ENDS_LATE).unwrap();
    write(1, 0).join().unwrap();
    // Writes are done but not completed until that is allowed. Then the older one completes first.
    // Flushes complete at once meanwhile.
    set(ENDS_NOT_YET).unwrap();
    let (one, other) = (write(2, 4096), write(3, 8192));
    thread::sleep(Duration::from_millis(300));
    assert!(!one.is_finished() && !other.is_finished());
    let mut read = Aligned([0; 8192]);
    disk.direct().read_exact_at(&mut read.0, 4096).unwrap();
    assert!(read.0[..4096] == [2; 4096] && read.0[4096..] == [3; 4096]);
    disk.direct().sync_all().unwrap();
    assert!(!one.is_finished() && !other.is_finished());
    set(ENDS_LATE).unwrap();
    one.join().unwrap();
    other.join().unwrap();
    // `ENDS_AT_ONCE` also completes the writes that were held back.
    set(ENDS_NOT_YET).unwrap();
    let held = write(4, 0);
    thread::sleep(Duration::from_millis(300));
    assert!(!held.is_finished());
    set(ENDS_AT_ONCE).unwrap();
    held.join().unwrap();
    assert_eq!(disk.contents()[..4096], [4; 4096]);
    // By choice, without a choice that is armed.
    set(ENDS_BY_CHOICE_NOT_YET).unwrap();
    write(5, 0).join().unwrap();
    assert_eq!(disk.contents()[..4096], [5; 4096]);
    Good
}

fn limits() -> Outcome {
    let control = Rdd::open();
    let create = |sectors| user::create(control.fd(), sectors).map(drop);
    for wrong in [0, 1, 7, 9, u64::MAX, u64::MAX - 7, 1 << 63, (1 << 35) + 8] {
        assert_eq!(create(wrong), Err(Errno::EINVAL), "{wrong}");
    }
    for large in [1 << 35, 1 << 30] {
        assert_eq!(create(large), Err(Errno::ENOMEM), "{large}");
    }
    let disk = Disk::new(1);
    let at = i64::from(disk.spec.disk) << RDD_MMAP_SHIFT;
    let map = |offset: i64, len| Map::new(&disk.control.0, offset, len, false).map(drop);
    assert_eq!(map(at, 4096), Ok(()), "a part");
    assert_eq!(map(at, (1 << 20) + 4096), Err(Errno::EINVAL));
    assert_eq!(map(at + 4096, 4096), Err(Errno::EINVAL));
    assert_eq!(map(4000 << RDD_MMAP_SHIFT, 4096), Err(Errno::ENODEV));
    let error = File::open("/dev/rdd99999").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    Good
}

/// Measures the cost of a list with few blocks on small and large disks.
fn costs() -> Outcome {
    let mut note = String::new();
    for mib in [16, 128, 1024] {
        let control = Rdd::open();
        let start = Instant::now();
        match user::create(control.fd(), mib * 2048) {
            Ok(spec) => user::remove(control.fd(), spec.disk).unwrap(),
            Err(errno) => {
                note += &format!("{mib} MiB: {errno}");
                break;
            }
        }
        let made = start.elapsed();
        let start = Instant::now();
        let disk = Disk::new(mib);
        let mapped = start.elapsed();
        let device = disk.direct();
        let buffer = Aligned([3; 4096]);
        disk.changed();
        let mut blocks = Vec::with_capacity(64);
        // Sums, because the clock of a guest may have steps of milliseconds.
        let (mut empty, mut twenty) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..2000 {
            for block in 0..20 {
                device.write_all_at(&buffer.0, block * 4096 * 31).unwrap();
            }
            for sum in [&mut twenty, &mut empty] {
                let start = Instant::now();
                user::take_blocks(control.fd(), disk.spec.disk, BLOCKS_CHANGED, &mut blocks)
                    .unwrap();
                *sum += start.elapsed();
            }
        }
        drop(device);
        let start = Instant::now();
        drop(disk);
        note += &format!(
            "{mib} MiB: made and removed in {made:.1?}, made and mapped in {mapped:.1?}, list of \
             20 {:.1?}, of none {:.1?}, gone in {:.1?}; ",
            twenty / 2000,
            empty / 2000,
            start.elapsed()
        );
    }
    Note(note)
}
