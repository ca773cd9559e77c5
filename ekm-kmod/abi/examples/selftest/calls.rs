//! Cases about the calls of both devices: rejected calls, the log, and random calls.

use std::fs::File;
use std::io::{Read as _, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::*;
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags};

use crate::Case;
use crate::Outcome::{self, Good, Note, Skip};
use crate::device::{Aligned, Disk, Ekm, Map, Record, any_call, raw_open};

pub(crate) const CASES: &[Case] = &[
    ("calls before hello", hello),
    ("calls that are none", unknown),
    ("one opener of ekm", opener),
    ("watches", watches),
    ("log of direct requests", requests),
    ("programs ask for crash checks", marks),
    ("log of two processors", race),
    ("log overflow", overflow),
    ("log sizes and maps", log_sizes),
    ("closing ends all", closing),
    ("modules in use stay", in_use),
    ("random calls", fuzz),
    ("log costs", costs),
];

const ALL_CALLS: [u32; 14] = [
    RDD_HELLO,
    RDD_CREATE,
    RDD_REMOVE,
    RDD_BLOCKS,
    RDD_FAULT,
    EKM_HELLO,
    EKM_WATCH,
    EKM_RECORD,
    EKM_MARK,
    EKM_BUFFERS,
    EKM_RESET,
    EKM_CLOCK,
    EKM_RANDOM,
    EKM_LOG,
];

fn hello() -> Outcome {
    for (path, number) in [("/dev/rdd-control", RDD_HELLO), ("/dev/ekm", EKM_HELLO)] {
        let file = raw_open(path).unwrap();
        for call in ALL_CALLS.into_iter().filter(|&call| call != number) {
            assert_eq!(any_call(&file, call, &mut [0u64; 8]), Err(Errno::EPROTO), "{call:#x}");
        }
        assert_eq!(Map::new(&file, 0, 4096, false).map(drop), Err(Errno::EPROTO));
        let mut hello = Hello { version: ABI_VERSION + 1, reserved: 0 };
        assert_eq!(any_call(&file, number, &mut hello), Err(Errno::EPROTO));
        assert_eq!(hello.version, ABI_VERSION, "says its own");
        assert_eq!(any_call(&file, RDD_CREATE, &mut [0u64; 8]), Err(Errno::EPROTO), "still");
        let mut hello = Hello { version: ABI_VERSION, reserved: 1 };
        assert_eq!(any_call(&file, number, &mut hello), Err(Errno::EINVAL));
        let mut hello = Hello { version: ABI_VERSION, reserved: 0 };
        assert_eq!(any_call(&file, number, &mut hello), Ok(()));
    }
    Good
}

fn unknown() -> Outcome {
    let (rdd, ekm) = (crate::device::Rdd::open(), Ekm::open());
    for (file, kind) in [(&rdd.0, RDD_TYPE), (&ekm.file, EKM_TYPE)] {
        let of = |nr: u32, size: u32| 3 << 30 | size << 16 | u32::from(kind) << 8 | nr;
        for wrong in [of(0, 8), of(0x11, 8), of(0x12, 9), of(0x13, 0), of(0xff, 8), 1 << 30, 0x5401]
        {
            assert_eq!(any_call(file, wrong, &mut [0u64; 8]), Err(Errno::ENOTTY), "{wrong:#x}");
        }
    }
    // A structure whose address is not mapped or not writable.
    let nowhere = |file: &File, number: u32| {
        // SAFETY: nothing is mapped at the address, and the kernel detects that.
        Errno::result(unsafe {
            ioctl_sys::ioctl(std::os::fd::AsRawFd::as_raw_fd(file), number.into(), 16)
        })
    };
    for call in ALL_CALLS {
        let file = if (call >> 8) as u8 == RDD_TYPE { &rdd.0 } else { &ekm.file };
        assert_eq!(nowhere(file, call), Err(Errno::EFAULT), "{call:#x}");
    }
    let free = || {
        let disk = user::create(rdd.fd(), 8).unwrap().disk;
        user::remove(rdd.fd(), disk).unwrap();
        disk
    };
    let first = free();
    static READ_ONLY: DiskSpec = DiskSpec { disk: 0, major: 0, minor: 0, reserved: 0, sectors: 8 };
    // SAFETY: the structure may be read, and the kernel detects that it may not be written.
    let result = Errno::result(unsafe {
        ioctl_sys::ioctl(
            std::os::fd::AsRawFd::as_raw_fd(&rdd.0),
            RDD_CREATE.into(),
            std::ptr::from_ref(&READ_ONLY),
        )
    });
    assert_eq!(result, Err(Errno::EFAULT));
    assert_eq!(free(), first, "no disk was made");
    Good
}

fn opener() -> Outcome {
    let ekm = Ekm::open();
    let error = raw_open("/dev/ekm").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::EBUSY as i32));
    drop(ekm);
    Ekm::open();
    Good
}

fn watches() -> Outcome {
    let (disk, ekm) = (Disk::new(1), Ekm::open());
    let both = WATCH_BUFFERS | WATCH_REQUESTS;
    let watch = |watch| user::watch(ekm.fd(), watch);
    assert_eq!(watch(disk.watch(WATCHES_MAX as u32, both)), Err(Errno::EINVAL));
    assert_eq!(watch(disk.watch(0, 4)), Err(Errno::EINVAL));
    assert_eq!(watch(disk.watch(0, 0)), Err(Errno::EINVAL));
    assert_eq!(watch(Watch { major: 200, minor: 7, device: 0, what: both }), Err(Errno::ENODEV));
    assert_eq!(watch(Watch { major: 4096, minor: 1, device: 0, what: both }), Err(Errno::EINVAL));
    assert_eq!(user::buffers(ekm.fd(), 5), Err(Errno::ENODEV));
    assert_eq!(user::buffers(ekm.fd(), 500), Err(Errno::EINVAL));
    watch(disk.watch(5, both)).unwrap();
    assert_eq!(user::buffers(ekm.fd(), 5), Ok(0));
    assert_eq!(watch(disk.watch(6, both)), Err(Errno::EEXIST));
    watch(disk.watch(5, WATCH_REQUESTS)).unwrap();
    assert_eq!(user::record(ekm.fd(), true), Ok(false));
    let write = || disk.direct().write_all_at(&Aligned([1; 512]).0, 0).unwrap();
    write();
    let kinds: Vec<_> =
        ekm.take().iter().map(|record| (record.head.device, record.head.kind)).collect();
    assert_eq!(kinds, [(5, KIND_SUBMIT), (5, KIND_COMPLETE)]);
    watch(Watch { device: 5, ..Watch::default() }).unwrap();
    write();
    watch(disk.watch(63, WATCH_BUFFERS)).unwrap();
    write();
    assert!(ekm.take().is_empty());
    assert_eq!(user::record(ekm.fd(), false), Ok(true));
    // The disk is removed while it is watched.
    drop(disk);
    assert_eq!(user::buffers(ekm.fd(), 63), Err(Errno::ENODEV));
    Good
}

fn requests() -> Outcome {
    let disk = Disk::new(1);
    let ekm = Ekm::recording(&disk);
    let device = disk.direct();
    let mut buffer = Aligned([9; 4096]);
    user::mark(ekm.fd(), 77).unwrap();
    device.write_all_at(&buffer.0[..1536], 512 * 3).unwrap();
    device.read_exact_at(&mut buffer.0, 0).unwrap();
    device.sync_all().unwrap();
    const DISCARD: u32 = ioctl_sys::io!(0x12, 119);
    const ZERO: u32 = ioctl_sys::io!(0x12, 127);
    any_call(&device, DISCARD, &mut [4096u64, 8192]).unwrap();
    any_call(&device, ZERO, &mut [8192u64, 512]).unwrap();
    let spec =
        FaultSpec { disk: disk.spec.disk, kind: FAULT_WRITE_ERROR, sector: 8, sectors: 1, seed: 0 };
    user::fault(disk.control.fd(), spec).unwrap();
    device.write_all_at(&buffer.0[..512], 4096).unwrap_err();

    let records = ekm.take();
    let heads: Vec<_> = records
        .iter()
        .map(|Record { head, data }| (head.kind, head.flags, head.sector, head.len, data.len()))
        .filter(|&(kind, flags, ..)| kind != KIND_COMPLETE || flags != 0)
        .collect();
    assert_eq!(
        heads,
        [
            (KIND_MARK, 0, 77, 0, 0),
            (KIND_SUBMIT, 0, 3, 1536, 1536),
            (KIND_SUBMIT, FLAG_PREFLUSH, 0, 0, 0),
            (KIND_SUBMIT, FLAG_DISCARD, 8, 8192, 0),
            (KIND_SUBMIT, FLAG_ZEROES, 16, 512, 0),
            (KIND_SUBMIT, 0, 8, 512, 512),
            (KIND_COMPLETE, FLAG_ERROR, 0, 0, 0),
        ]
    );
    assert_eq!(records[1].data, [9; 1536]);
    assert!(records.iter().all(|record| record.head.pid == std::process::id()));
    // The completion of each request follows it and has its number.
    for pair in records[1..].chunks(2) {
        assert_eq!((pair[0].head.kind, pair[1].head.kind), (KIND_SUBMIT, KIND_COMPLETE));
        assert_eq!(pair[0].head.request, pair[1].head.request);
    }
    user::record(ekm.fd(), false).unwrap();
    device.write_all_at(&buffer.0[..512], 0).unwrap();
    user::mark(ekm.fd(), 1).unwrap();
    assert_eq!(ekm.take().len(), 1, "marks are put in any case, requests are not");
    Good
}

/// Writes lines to [`MARKS`]. The dirty buffers are logged before the request.
fn marks() -> Outcome {
    let disk = Disk::new(1);
    let mut program = File::options().write(true).open(MARKS).unwrap();
    let mut ask = |line: &[u8]| program.write(line).map_err(|error| error.raw_os_error());
    assert_eq!(ask(b"crash early\n"), Ok(12), "nothing records");
    let ekm = Ekm::recording(&disk);
    let buffered = File::options().write(true).open(disk.path()).unwrap();
    buffered.write_all_at(&[7; 4096], 8192).unwrap();
    ekm.take();
    assert_eq!(ask(b"crash half\n"), Ok(11));
    let longest = [MARK_CRASH, &[b'n'; ASKED_MAX]].concat();
    assert_eq!(ask(&longest), Ok(longest.len()));
    let records = ekm.take();
    let told = |record: &Record| {
        let RecordHeader { kind, flags, device, sector, len, .. } = record.head;
        (kind, flags, device, sector, len, record.data.clone())
    };
    let dirty = (KIND_BUFFER, FLAG_ASKED, 0, 16, 4096, vec![7; 4096]);
    let asked =
        |name: &[u8]| (KIND_ASKED, FLAG_PROGRAM, NO_DEVICE, 0, name.len() as u64, name.to_vec());
    let expected = [dirty.clone(), asked(b"half"), dirty, asked(&[b'n'; ASKED_MAX])];
    assert_eq!(records.iter().map(told).collect::<Vec<_>>(), expected);
    let too_long = [&longest[..], b"n"].concat();
    for line in [
        &b"crash "[..],
        b"crash \n",
        b"",
        b"half",
        b"crash a b",
        b"crash a/b",
        b"crash h\xe4lf",
        &too_long,
    ] {
        assert_eq!(ask(line), Err(Some(Errno::EINVAL as i32)), "{line:?}");
    }
    assert!(ekm.take().is_empty());
    assert!(
        File::open(MARKS).and_then(|mut file| file.read(&mut [0; 8])).is_err(),
        "there is nothing to read"
    );
    Good
}

/// Checks with threads that write concurrently that every record is whole and every request has its
/// completion.
fn race() -> Outcome {
    const THREADS: u64 = 4;
    const WRITES: u64 = 500;
    let disk = Disk::new(4);
    let ekm = Ekm::recording(&disk);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let device = disk.direct();
            scope.spawn(move || {
                for write in 0..WRITES {
                    let buffer = Aligned([(thread * 50 + write % 50) as u8; 4096]);
                    device
                        .write_all_at(&buffer.0, (thread * WRITES + write) % 1000 * 4096)
                        .unwrap();
                }
            });
        }
    });
    let records = ekm.take();
    let of = |kind| records.iter().filter(move |record| record.head.kind == kind);
    assert_eq!(of(KIND_SUBMIT).count() as u64, THREADS * WRITES);
    assert_eq!(of(KIND_COMPLETE).count() as u64, THREADS * WRITES);
    assert!(of(KIND_SUBMIT).all(|record| record.data == [record.data[0]; 4096]));
    let mut changed = disk.changed();
    changed.sort_unstable();
    assert_eq!(changed, (0..1000).collect::<Vec<u32>>());
    Note(format!("{} processors", thread::available_parallelism().unwrap()))
}

fn overflow() -> Outcome {
    let disk = Disk::new(1);
    let ekm = Ekm::with_log(1 << 16);
    user::watch(ekm.fd(), disk.watch(0, WATCH_REQUESTS)).unwrap();
    user::record(ekm.fd(), true).unwrap();
    let device = disk.direct();
    for byte in 0..100 {
        device.write_all_at(&Aligned([byte; 4096]).0, 0).unwrap();
    }
    let header = ekm.header();
    assert!(header.lost > 0 && header.used <= header.capacity && header.capacity == 1 << 16);
    assert_eq!(header.records + header.lost, 200);
    let kept = ekm.records();
    let data = kept.iter().filter(|record| record.head.kind == KIND_SUBMIT);
    assert!(
        data.enumerate().all(|(byte, record)| record.data == [byte as u8; 4096]),
        "the first stay"
    );
    assert_eq!(
        user::reset_read(ekm.fd(), header.used),
        Err(Errno::EAGAIN),
        "what was lost is not forgotten so"
    );
    user::reset(ekm.fd()).unwrap();
    assert_eq!((ekm.header().lost, ekm.header().records, ekm.header().used), (0, 0, 0));
    device.write_all_at(&Aligned([1; 4096]).0, 0).unwrap();
    assert_eq!(user::reset_read(ekm.fd(), ekm.header().used - 8), Err(Errno::EAGAIN));
    assert_eq!(ekm.take().len(), 2);
    Good
}

fn log_sizes() -> Outcome {
    let file = raw_open("/dev/ekm").unwrap();
    user::hello_ekm(file.as_fd()).unwrap();
    let size = |bytes| user::log_size(file.as_fd(), bytes);
    size(8192).unwrap();
    assert_eq!(size(1 << 20), Ok(8192));
    for wrong in [0, 1, 4095, 4097, u64::MAX] {
        assert_eq!(size(wrong), Err(Errno::EINVAL), "{wrong}");
    }
    assert_eq!(size(u64::MAX - 4095), Err(Errno::EINVAL));
    assert_eq!(size(1 << 40), Err(Errno::ENOMEM));
    let map = |len, prot, flags| Map::with(&file, 0, len, prot, flags);
    let (read, shared) = (ProtFlags::PROT_READ, MapFlags::MAP_SHARED);
    let whole = (1 << 20) + 4096;
    assert_eq!(map(whole + 4096, read, shared).map(drop), Err(Errno::EINVAL));
    assert_eq!(map(whole, read | ProtFlags::PROT_WRITE, shared).map(drop), Err(Errno::EINVAL));
    assert_eq!(map(whole, read, MapFlags::MAP_PRIVATE).map(drop), Err(Errno::EINVAL));
    assert_eq!(Map::new(&file, 4096, 4096, false).map(drop), Err(Errno::EINVAL));
    let mapped = map(whole, read, shared).unwrap();
    assert_eq!(size(4096), Err(Errno::EBUSY), "mapped");
    drop(mapped);
    user::record(file.as_fd(), true).unwrap();
    assert_eq!(size(4096), Err(Errno::EBUSY), "records");
    user::record(file.as_fd(), false).unwrap();
    assert_eq!(size(LOG_DEFAULT), Ok(1 << 20));
    Good
}

fn closing() -> Outcome {
    let disk = Disk::new(1);
    let ekm = Ekm::recording(&disk);
    user::mark(ekm.fd(), 1).unwrap();
    drop(ekm);
    let ekm = Ekm::open();
    assert!(ekm.records().is_empty());
    assert_eq!(user::buffers(ekm.fd(), 0), Err(Errno::ENODEV), "no watch");
    assert_eq!(user::record(ekm.fd(), true), Ok(false), "did not record");
    Good
}

/// Checks that modules with an open file or disk cannot be unloaded.
fn in_use() -> Outcome {
    let unload = |module| {
        let mut rmmod = Command::new("rmmod");
        rmmod.arg(module).stderr(Stdio::null()).status().map(|status| status.success())
    };
    let ekm = Ekm::open();
    match unload("ekm") {
        Err(error) => return Skip(format!("rmmod: {error}")),
        Ok(unloaded) => assert!(!unloaded),
    }
    drop(ekm);
    let disk = Disk::new(1);
    let device = disk.direct();
    assert!(!unload("rdd").unwrap());
    drop(device);
    assert!(!unload("rdd").unwrap(), "the control device is open");
    Good
}

/// Makes random calls with random values in several threads while disks are used. The calls must be
/// rejected or take effect, and the machine must survive.
fn fuzz() -> Outcome {
    const THREADS: u64 = 3;
    const CALLS: usize = 10_000;
    let (rdd, ekm, disk) = (crate::device::Rdd::open(), Ekm::with_log(1 << 20), Disk::new(1));
    let succeeded: usize = thread::scope(|scope| {
        let (ekm, spec) = (&ekm.file, &disk.spec);
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                scope.spawn(move || confused(0x2545_f491_4f6c_dd1d ^ seed << 40, CALLS, ekm, spec))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // Removes the disks that the threads have made.
    for number in (0..1 << 12).filter(|&number| number != disk.spec.disk) {
        user::remove(rdd.fd(), number).ok();
    }
    Note(format!("{succeeded} of {} succeeded", THREADS as usize * CALLS))
}

/// Makes random calls. Returns the number of calls that succeeded.
fn confused(seed: u64, calls: usize, ekm: &File, spec: &DiskSpec) -> usize {
    const INTERESTING: [u64; 14] =
        [0, 1, 2, 3, 8, 63, 64, 512, 4096, 1 << 20, 1 << 32, u64::MAX, u64::MAX - 7, 1 << 63];
    let rdd = crate::device::Rdd::open();
    let mut state = seed;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut succeeded = 0;
    let mut maps = Vec::new();
    for _ in 0..calls {
        let call = ALL_CALLS[next() as usize % ALL_CALLS.len()];
        let mut value = [0u32; 16];
        for word in &mut value {
            let large = INTERESTING[next() as usize % INTERESTING.len()];
            *word = match next() % 4 {
                0 => next() as u32,
                1 => (large >> 32) as u32,
                2 => spec.major * u32::from(next() % 2 == 0) + spec.minor,
                _ => large as u32,
            };
        }
        match call {
            // Small sizes, or sizes that are rejected, because calls that succeed take memory.
            RDD_CREATE => (value[4], value[5]) = (value[4] % (1 << 12), value[5] & 0xffff_0000),
            EKM_LOG => (value[0], value[1]) = (value[0] % (1 << 16), value[1] & 0xffff_0000),
            // An address that is not in this process.
            RDD_BLOCKS => value[3] |= 0x8000_0000,
            // The number of a disk that may exist.
            RDD_REMOVE | RDD_FAULT if next() % 2 == 0 => value[0] = next() as u32 % 16,
            _ => {}
        }
        let file = if next() % 8 != 0 && (call >> 8) as u8 == EKM_TYPE { ekm } else { &rdd.0 };
        succeeded += usize::from(any_call(file, call, &mut value).is_ok());
        let number = next() as i64 % 16;
        match next() % 32 {
            0 => {
                if let Ok(device) = raw_open(&format!("/dev/rdd{}", number.abs())) {
                    device.write_all_at(&[1; 3000], 512 * (next() % 2000)).ok();
                }
            }
            1 => maps.extend(Map::new(&rdd.0, number << RDD_MMAP_SHIFT, 4096, next() % 2 == 0)),
            2 => maps.extend(Map::new(ekm, 0, 4096, false)),
            3 => maps.clear(),
            _ => {}
        }
    }
    succeeded
}

fn costs() -> Outcome {
    const MIB: usize = 1 << 20;
    let disk = Disk::new(32);
    let buffer = vec![Aligned([5; 4096]); 256];
    // SAFETY: consecutive bytes without padding.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), MIB) };
    let write = |what: &[u8], times: u64| {
        let device = disk.direct();
        let start = Instant::now();
        for at in 0..times {
            device.write_all_at(what, at * what.len() as u64).unwrap();
        }
        start.elapsed() / times as u32
    };
    write(bytes, 32);
    let plain = (write(&bytes[..4096], 2000), write(bytes, 32));
    let ekm = Ekm::recording(&disk);
    write(bytes, 32);
    user::reset(ekm.fd()).unwrap();
    let small = write(&bytes[..4096], 2000);
    user::reset(ekm.fd()).unwrap();
    let large = write(bytes, 32);
    user::reset(ekm.fd()).unwrap();
    let mut cached = File::options().write(true).open(disk.path()).unwrap();
    cached.write_all(&bytes[..32 * 4096]).unwrap();
    let start = Instant::now();
    for _ in 0..100 {
        user::buffers(ekm.fd(), 0).unwrap();
    }
    let walk = start.elapsed() / 100;
    cached.sync_all().unwrap();
    let start = Instant::now();
    for _ in 0..1000 {
        user::buffers(ekm.fd(), 0).unwrap();
    }
    let none = start.elapsed() / 1000;
    let start = Instant::now();
    for _ in 0..1000 {
        user::mark(ekm.fd(), 1).unwrap();
    }
    let mark = start.elapsed() / 1000;
    Note(format!(
        "write of 4 KiB {:.1?}, logged {small:.1?}; of 1 MiB {:.1?}, logged {large:.1?}; 32 dirty \
         pages {walk:.1?}, none {none:.1?}; mark {mark:.1?}",
        plain.0, plain.1
    ))
}
