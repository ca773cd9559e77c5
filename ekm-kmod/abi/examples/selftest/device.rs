//! The devices as the tests use them: disks that are removed on drop, and decoded log records.

use std::fs::{File, OpenOptions};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::ptr::NonNull;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::*;
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// A shared mapping of a device.
pub(crate) struct Map {
    at: NonNull<u8>,
    len: usize,
}

impl Map {
    pub(crate) fn new(
        device: &File,
        offset: i64,
        len: usize,
        writable: bool,
    ) -> Result<Map, Errno> {
        let write = if writable { ProtFlags::PROT_WRITE } else { ProtFlags::empty() };
        Map::with(device, offset, len, ProtFlags::PROT_READ | write, MapFlags::MAP_SHARED)
    }

    pub(crate) fn with(
        device: &File,
        offset: i64,
        len: usize,
        prot: ProtFlags,
        flags: MapFlags,
    ) -> Result<Map, Errno> {
        let length = NonZeroUsize::new(len).unwrap();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let at = unsafe { mmap(None, length, prot, flags, device, offset) }?;
        Ok(Map { at: at.cast(), len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: this mapping has that length. The kernel writes to it only during calls of this
        // thread.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.len);
        // SAFETY: inside this mapping. It is writable, or the test crashes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at.as_ptr().add(at), bytes.len())
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: this mapping. `bytes` borrows it.
        unsafe { munmap(self.at.cast(), self.len) }.unwrap();
    }
}

/// An open `/dev/rdd-control` after its `Hello`.
pub(crate) struct Rdd(pub(crate) File);

impl Rdd {
    pub(crate) fn open() -> Rdd {
        let file = raw_open("/dev/rdd-control").unwrap();
        user::hello_rdd(file.as_fd()).unwrap();
        Rdd(file)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub(crate) fn take(&self, disk: u32, which: u32) -> Vec<u32> {
        let mut blocks = Vec::new();
        user::take_blocks(self.fd(), disk, which, &mut blocks).unwrap();
        blocks
    }
}

/// A disk. A drop removes it.
pub(crate) struct Disk {
    pub(crate) control: Rdd,
    pub(crate) spec: DiskSpec,
    pub(crate) map: Option<Map>,
}

impl Disk {
    pub(crate) fn new(mib: u64) -> Disk {
        let control = Rdd::open();
        let spec = user::create(control.fd(), mib * 2048).unwrap();
        let map = Map::new(
            &control.0,
            i64::from(spec.disk) << RDD_MMAP_SHIFT,
            (spec.sectors * SECTOR) as usize,
            true,
        );
        Disk { map: Some(map.unwrap()), control, spec }
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/rdd{}", self.spec.disk))
    }

    pub(crate) fn contents(&self) -> &[u8] {
        self.map.as_ref().unwrap().bytes()
    }

    /// Opens the block device for I/O that bypasses the page cache.
    pub(crate) fn direct(&self) -> File {
        const O_DIRECT: i32 = 0o40000;
        OpenOptions::new().read(true).write(true).custom_flags(O_DIRECT).open(self.path()).unwrap()
    }

    pub(crate) fn changed(&self) -> Vec<u32> {
        self.control.take(self.spec.disk, BLOCKS_CHANGED)
    }

    pub(crate) fn read(&self) -> Vec<u32> {
        self.control.take(self.spec.disk, BLOCKS_READ)
    }

    pub(crate) fn watch(&self, device: u32, what: u32) -> Watch {
        Watch { device, major: self.spec.major, minor: self.spec.minor, what }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.map = None;
        if let Err(errno) = user::remove(self.control.fd(), self.spec.disk) {
            // After a failed case the disk may still be in use.
            println!("  {} stays: {errno}", self.path().display());
        }
    }
}

/// Memory with the alignment of direct I/O.
#[repr(C, align(4096))]
#[derive(Clone)]
pub(crate) struct Aligned<const N: usize>(pub(crate) [u8; N]);

/// An open `/dev/ekm` after its `Hello`, and its log.
pub(crate) struct Ekm {
    pub(crate) file: File,
    log: Map,
}

/// A record of the log.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) head: RecordHeader,
    pub(crate) data: Vec<u8>,
}

impl Ekm {
    pub(crate) fn open() -> Ekm {
        Ekm::with_log(LOG_DEFAULT)
    }

    pub(crate) fn with_log(bytes: u64) -> Ekm {
        let file = raw_open("/dev/ekm").unwrap();
        user::hello_ekm(file.as_fd()).unwrap();
        user::log_size(file.as_fd(), bytes).unwrap();
        let log = Map::new(&file, 0, (LOG_DATA + bytes) as usize, false).unwrap();
        Ekm { file, log }
    }

    /// Watches everything on a disk as device 0, and records.
    pub(crate) fn recording(disk: &Disk) -> Ekm {
        let ekm = Ekm::open();
        user::watch(ekm.fd(), disk.watch(0, WATCH_BUFFERS | WATCH_REQUESTS)).unwrap();
        user::record(ekm.fd(), true).unwrap();
        ekm
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn header(&self) -> LogHeader {
        // SAFETY: the aligned header is at the start of the mapping, and any bytes are valid.
        unsafe { self.log.at.as_ptr().cast::<LogHeader>().read_volatile() }
    }

    /// Returns all records so far.
    pub(crate) fn records(&self) -> Vec<Record> {
        // The records that the header counts are complete. More may be appended meanwhile.
        let header = self.header();
        assert_eq!((header.magic, header.version), (LOG_MAGIC, ABI_VERSION));
        assert_eq!(header.record_header as usize, size_of::<RecordHeader>());
        let (mut at, end) = (LOG_DATA as usize, (LOG_DATA + header.used) as usize);
        let mut records = Vec::new();
        while at < end {
            let bytes = &self.log.bytes()[at..end];
            // SAFETY: according to the kernel a record starts here. There are that many bytes, and
            // any bytes are valid.
            let head = unsafe {
                bytes[..size_of::<RecordHeader>()].as_ptr().cast::<RecordHeader>().read()
            };
            let data = bytes[size_of::<RecordHeader>()..head.bytes as usize].to_vec();
            records.push(Record { head, data });
            at += (head.bytes as usize).next_multiple_of(8);
        }
        assert_eq!(at, end);
        records
    }

    /// Returns all records and empties the log. No record may be lost.
    pub(crate) fn take(&self) -> Vec<Record> {
        loop {
            let used = self.header().used;
            assert_eq!(self.header().lost, 0);
            let records = self.records();
            match user::reset_read(self.fd(), used) {
                Ok(()) => return records,
                Err(errno) => assert_eq!(errno, Errno::EAGAIN),
            }
        }
    }
}

pub(crate) fn raw_open(path: &str) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Makes any call with any structure, as a faulty program might.
pub(crate) fn any_call<T>(file: &File, number: u32, value: &mut T) -> Result<(), Errno> {
    // SAFETY: the modules must survive this. `value` is at least as long as the size in any call
    // number of the modules that it is used with.
    Errno::result(unsafe { ioctl_sys::ioctl(file.as_raw_fd(), number.into(), value as *mut T) })
        .map(drop)
}
