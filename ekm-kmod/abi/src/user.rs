//! The calls of `/dev/rdd-control` and `/dev/ekm`. Each is an ioctl with one structure that is read
//! and written.
//!
//! Another device rejects these calls, because their numbers contain types that only these devices
//! use, and the size of the structure.

use std::ffi::c_int;
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;

use crate::wire::{
    ABI_VERSION, BlockList, Buffers, Clock, DiskSpec, Ends, FaultSpec, Follow, Hello, Kinds,
    LogSize, Mark, OpenFile, RESET_ALL, Random, Reset, Site, Switch, Symbol, Watch,
};

/// The calls as `ioctl-sys` makes them.
mod raw {
    use ioctl_sys::ioctl;

    use crate::wire::{
        BlockList, Buffers, Clock, DiskSpec, EKM_TYPE, Ends, FaultSpec, Follow, Hello, Kinds,
        LogSize, Mark, OpenFile, RDD_TYPE, Random, Reset, Site, Switch, Symbol, Watch,
    };

    ioctl!(readwrite rdd_hello with RDD_TYPE, 0x10; Hello);
    ioctl!(readwrite rdd_create with RDD_TYPE, 0x11; DiskSpec);
    ioctl!(readwrite rdd_remove with RDD_TYPE, 0x12; DiskSpec);
    ioctl!(readwrite rdd_blocks with RDD_TYPE, 0x13; BlockList);
    ioctl!(readwrite rdd_fault with RDD_TYPE, 0x14; FaultSpec);
    ioctl!(readwrite rdd_ends with RDD_TYPE, 0x15; Ends);
    ioctl!(readwrite ekm_hello with EKM_TYPE, 0x10; Hello);
    ioctl!(readwrite ekm_watch with EKM_TYPE, 0x11; Watch);
    ioctl!(readwrite ekm_record with EKM_TYPE, 0x12; Switch);
    ioctl!(readwrite ekm_mark with EKM_TYPE, 0x13; Mark);
    ioctl!(readwrite ekm_buffers with EKM_TYPE, 0x14; Buffers);
    ioctl!(readwrite ekm_reset with EKM_TYPE, 0x15; Reset);
    ioctl!(readwrite ekm_clock with EKM_TYPE, 0x16; Clock);
    ioctl!(readwrite ekm_random with EKM_TYPE, 0x17; Random);
    ioctl!(readwrite ekm_log with EKM_TYPE, 0x18; LogSize);
    ioctl!(readwrite ekm_symbol with EKM_TYPE, 0x19; Symbol);
    ioctl!(readwrite ekm_choices with EKM_TYPE, 0x1a; Kinds);
    ioctl!(readwrite ekm_site with EKM_TYPE, 0x1b; Site);
    ioctl!(readwrite ekm_start_commit with EKM_TYPE, 0x1c; OpenFile);
    ioctl!(readwrite ekm_follow with EKM_TYPE, 0x1d; Follow);
}

/// The error of a `Hello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelloError {
    /// The module was built for another version of [`crate::wire`].
    Version {
        /// The version of the module.
        module: u32,
        /// The version of this program.
        ours: u32,
    },
    /// The module rejects the call.
    Refused(Errno),
}

impl fmt::Display for HelloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HelloError::Version { module, ours } => write!(
                f,
                "the kernel module speaks version {module}, this program version {ours}; build \
                 both from one source"
            ),
            HelloError::Refused(errno) => {
                write!(f, "the kernel module does not answer: {}", errno.desc())
            }
        }
    }
}

impl std::error::Error for HelloError {}

/// Makes one call. The results are in `value`, even if the call fails.
fn call<T>(
    raw: unsafe fn(c_int, *mut T) -> c_int,
    device: BorrowedFd<'_>,
    value: &mut T,
) -> Result<(), Errno> {
    // SAFETY: `raw` is one of the functions above. Its number means that the kernel reads and
    // writes one `T`, which `value` is. Any bytes are a valid `T`. `take_blocks` ensures that the
    // address in a `BlockList` is valid.
    Errno::result(unsafe { raw(device.as_raw_fd(), value) }).map(drop)
}

fn hello(
    raw: unsafe fn(c_int, *mut Hello) -> c_int,
    device: BorrowedFd<'_>,
    version: u32,
) -> Result<(), HelloError> {
    let mut hello = Hello { version, reserved: 0 };
    call(raw, device, &mut hello).map_err(|errno| match errno {
        Errno::EPROTO if hello.version != version => {
            HelloError::Version { module: hello.version, ours: version }
        }
        errno => HelloError::Refused(errno),
    })
}

/// Sends a `Hello` to `/dev/rdd-control`.
///
/// # Errors
/// The module has another version, or the file is not that device.
pub fn hello_rdd(control: BorrowedFd<'_>) -> Result<(), HelloError> {
    hello(raw::rdd_hello, control, ABI_VERSION)
}

/// Sends a `Hello` to `/dev/ekm`.
///
/// # Errors
/// The module has another version, or the file is not that device.
pub fn hello_ekm(ekm: BorrowedFd<'_>) -> Result<(), HelloError> {
    hello(raw::ekm_hello, ekm, ABI_VERSION)
}

/// Makes a disk of zeroes.
///
/// # Errors
/// `EINVAL`: `sectors` is 0, not a multiple of 8, or too large. `ENOMEM`: not enough memory.
pub fn create(control: BorrowedFd<'_>, sectors: u64) -> Result<DiskSpec, Errno> {
    let mut spec = DiskSpec { sectors, ..DiskSpec::default() };
    call(raw::rdd_create, control, &mut spec)?;
    Ok(spec)
}

/// Removes a disk.
///
/// # Errors
/// `EBUSY`: the disk is open or mapped. `ENODEV`: no such disk.
pub fn remove(control: BorrowedFd<'_>, disk: u32) -> Result<(), Errno> {
    call(raw::rdd_remove, control, &mut DiskSpec { disk, ..DiskSpec::default() })
}

/// Takes a list of blocks ([`crate::wire::BLOCKS_CHANGED`] or [`crate::wire::BLOCKS_READ`]) into
/// `blocks`, whose old contents are discarded. Its capacity grows if necessary, so pass the same
/// vector each time.
///
/// # Errors
/// `ENODEV`: no such disk. `EINVAL`: no such list.
pub fn take_blocks(
    control: BorrowedFd<'_>,
    disk: u32,
    which: u32,
    blocks: &mut Vec<u32>,
) -> Result<(), Errno> {
    blocks.clear();
    loop {
        let capacity = blocks.capacity() as u64;
        let mut list =
            BlockList { disk, which, blocks: blocks.as_mut_ptr() as u64, capacity, count: 0 };
        match call(raw::rdd_blocks, control, &mut list) {
            Ok(()) => {
                // SAFETY: the kernel has written `count` numbers, at most `capacity`.
                unsafe { blocks.set_len(list.count as usize) };
                return Ok(());
            }
            Err(Errno::ENOSPC) if list.count > capacity => blocks.reserve(list.count as usize),
            Err(errno) => return Err(errno),
        }
    }
}

/// Adds a fault, or clears all faults.
///
/// # Errors
/// `ENODEV`: no such disk. `EINVAL`: no such kind, or the range is empty or beyond the end.
/// `ENOSPC`: the disk already has [`crate::wire::FAULTS_MAX`] faults.
pub fn fault(control: BorrowedFd<'_>, mut fault: FaultSpec) -> Result<(), Errno> {
    call(raw::rdd_fault, control, &mut fault)
}

/// Sets when the writes of a disk complete.
///
/// # Errors
/// `ENODEV`: no such disk. `EINVAL`: not one of `ENDS_*`.
pub fn ends(control: BorrowedFd<'_>, disk: u32, when: u32) -> Result<(), Errno> {
    call(raw::rdd_ends, control, &mut Ends { disk, when })
}

/// Makes a new log with `bytes` for records. Returns the size of the old log.
///
/// # Errors
/// `EBUSY`: the log records or is mapped. `EINVAL`: `bytes` is 0 or not a multiple of 4096.
/// `ENOMEM`: not enough memory; the old log remains.
pub fn log_size(ekm: BorrowedFd<'_>, bytes: u64) -> Result<u64, Errno> {
    let mut size = LogSize { bytes };
    call(raw::ekm_log, ekm, &mut size)?;
    Ok(size.bytes)
}

/// Watches a block device, or stops the watch of a number.
///
/// # Errors
/// `ENODEV`: no such device. `EEXIST`: another number watches it. `EINVAL`: an invalid number.
pub fn watch(ekm: BorrowedFd<'_>, mut watch: Watch) -> Result<(), Errno> {
    call(raw::ekm_watch, ekm, &mut watch)
}

/// Starts or stops recording. Returns the previous state.
///
/// # Errors
/// `ENOMEM`: not enough memory for a log.
pub fn record(ekm: BorrowedFd<'_>, on: bool) -> Result<bool, Errno> {
    let mut switch = Switch { on: on.into(), reserved: 0 };
    call(raw::ekm_record, ekm, &mut switch)?;
    Ok(switch.on != 0)
}

/// Puts a mark into the log.
///
/// # Errors
/// `ENOMEM`: not enough memory for a log.
pub fn mark(ekm: BorrowedFd<'_>, value: u64) -> Result<(), Errno> {
    call(raw::ekm_mark, ekm, &mut Mark { value })
}

/// Appends a record for each buffer of a watched device that is dirty now. Returns their number.
///
/// # Errors
/// `ENODEV`: the device is not watched or no longer exists.
pub fn buffers(ekm: BorrowedFd<'_>, device: u32) -> Result<u32, Errno> {
    let mut buffers = Buffers { device, count: 0 };
    call(raw::ekm_buffers, ekm, &mut buffers)?;
    Ok(buffers.count)
}

/// Empties the log.
///
/// # Errors
/// The file is not EKM.
pub fn reset(ekm: BorrowedFd<'_>) -> Result<(), Errno> {
    call(raw::ekm_reset, ekm, &mut Reset { used: RESET_ALL })
}

/// Empties the log if the caller has read all of it. `used` is that of [`crate::wire::LogHeader`]
/// when the caller read it.
///
/// # Errors
/// `EAGAIN`: the log has more records by now, or some were lost. Read it again.
pub fn reset_read(ekm: BorrowedFd<'_>, used: u64) -> Result<(), Errno> {
    call(raw::ekm_reset, ekm, &mut Reset { used })
}

/// Freezes or unfreezes the clock of file systems.
///
/// # Errors
/// `EINVAL`: not a valid time.
pub fn clock(ekm: BorrowedFd<'_>, mut clock: Clock) -> Result<(), Errno> {
    call(raw::ekm_clock, ekm, &mut clock)
}

/// Sets the source of the kernel's random numbers. Returns the previous source.
///
/// # Errors
/// `EINVAL`: an invalid value.
pub fn random(ekm: BorrowedFd<'_>, mut random: Random) -> Result<Random, Errno> {
    call(raw::ekm_random, ekm, &mut random)?;
    Ok(random)
}

/// Probes the functions of these kinds that may fail, and no others. 0 probes none. Returns the
/// kinds that this kernel has.
///
/// # Errors
/// `ENODEV`: this kernel cannot unwind stacks. `ENOMEM`: not enough memory for choices.
pub fn choices(ekm: BorrowedFd<'_>, kinds: u32) -> Result<Kinds, Errno> {
    let mut kinds = Kinds { kinds, untraced: 0 };
    call(raw::ekm_choices, ekm, &mut kinds)?;
    Ok(kinds)
}

/// Probes one more function, which may fail by returning `returns`. With `unlisted` the kernel's
/// list need not contain it. Also returns its entry in the list (`LISTED_*` of [`crate::wire`]).
///
/// # Errors
/// Those of [`crate::wire::EKM_SITE`]. `ENOENT` also for a name that is empty or too long.
pub fn site(
    ekm: BorrowedFd<'_>,
    symbol: &str,
    returns: i64,
    unlisted: bool,
) -> (Result<(), Errno>, u32) {
    let mut site = Site { returns: returns as u64, unlisted: unlisted.into(), ..Site::default() };
    let text = site.symbol.as_flattened_mut();
    let fits = symbol.len() < text.len() && !symbol.is_empty() && !symbol.contains('\0');
    if !fits {
        return (Err(Errno::ENOENT), site.listed);
    }
    text[..symbol.len()].copy_from_slice(symbol.as_bytes());
    (call(raw::ekm_site, ekm, &mut site), site.listed)
}

/// Starts or stops to follow the calls that change a file system, or changes nothing. Returns the
/// number of missed calls.
///
/// # Errors
/// `EINVAL`: an invalid number. `EBADF`: not an open file. `EEXIST`: another number follows the
/// file system. `ENOENT`: this kernel lacks a function that is needed to follow calls.
pub fn follow(ekm: BorrowedFd<'_>, mut follow: Follow) -> Result<u32, Errno> {
    call(raw::ekm_follow, ekm, &mut follow)?;
    Ok(follow.missed)
}

/// Returns the name of an address of the kernel: `name+0xoffset/0xsize`, and ` [module]`. The
/// address itself if it has no name.
///
/// # Errors
/// The file is not EKM.
pub fn symbol(ekm: BorrowedFd<'_>, address: u64) -> Result<String, Errno> {
    let mut symbol = Symbol { address, ..Symbol::default() };
    call(raw::ekm_symbol, ekm, &mut symbol)?;
    let text = symbol.text.concat();
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// Makes the file system of an open file start a commit, without waiting for it.
///
/// # Errors
/// `EOPNOTSUPP`: the file system has no such operation. Other errors are those of the file system.
pub fn start_commit(ekm: BorrowedFd<'_>, file: BorrowedFd<'_>) -> Result<(), Errno> {
    let fd = u32::try_from(file.as_raw_fd()).map_err(|_| Errno::EBADF)?;
    call(raw::ekm_start_commit, ekm, &mut OpenFile { fd, reserved: 0 })
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use ioctl_sys::iorw;
    use nix::request_code_readwrite;

    use super::*;
    use crate::wire::*;

    /// The number in `wire`, according to ioctl-sys and according to nix.
    macro_rules! numbers {
        ($($name:ident: $kind:ident $nr:literal $type:ident),* $(,)?) => {
            [$((
                $name,
                iorw!($kind, $nr, size_of::<$type>()),
                request_code_readwrite!($kind, $nr, size_of::<$type>()) as u32,
            )),*]
        };
    }

    #[test]
    fn numbers_are_those_of_iowr() {
        let numbers = numbers![
            RDD_HELLO: RDD_TYPE 0x10 Hello,
            RDD_CREATE: RDD_TYPE 0x11 DiskSpec,
            RDD_REMOVE: RDD_TYPE 0x12 DiskSpec,
            RDD_BLOCKS: RDD_TYPE 0x13 BlockList,
            RDD_FAULT: RDD_TYPE 0x14 FaultSpec,
            EKM_HELLO: EKM_TYPE 0x10 Hello,
            EKM_WATCH: EKM_TYPE 0x11 Watch,
            EKM_RECORD: EKM_TYPE 0x12 Switch,
            EKM_MARK: EKM_TYPE 0x13 Mark,
            EKM_BUFFERS: EKM_TYPE 0x14 Buffers,
            EKM_RESET: EKM_TYPE 0x15 Reset,
            EKM_CLOCK: EKM_TYPE 0x16 Clock,
            EKM_RANDOM: EKM_TYPE 0x17 Random,
            EKM_LOG: EKM_TYPE 0x18 LogSize,
            EKM_SYMBOL: EKM_TYPE 0x19 Symbol,
            EKM_CHOICES: EKM_TYPE 0x1a Kinds,
            EKM_SITE: EKM_TYPE 0x1b Site,
            EKM_START_COMMIT: EKM_TYPE 0x1c OpenFile,
            EKM_FOLLOW: EKM_TYPE 0x1d Follow,
        ];
        for (ours, ioctl_sys, nix) in numbers {
            assert_eq!(ours, ioctl_sys, "{ours:#x}");
            assert_eq!(ours, nix, "{ours:#x}");
        }
        let mut distinct: Vec<u32> = numbers.iter().map(|numbers| numbers.0).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), numbers.len());
        assert_eq!(RDD_HELLO, 0xc008_d510, "by hand: read and write, 8 bytes, type d5, number 10");
    }

    #[test]
    fn records_begin_at_multiples_of_eight() {
        assert_eq!(size_of::<RecordHeader>() % 8, 0);
        assert_eq!(LOG_DATA % 8, 0);
        assert!(size_of::<LogHeader>() as u64 <= LOG_DATA);
    }

    /// Checks the offsets that a reader of the log uses.
    #[test]
    fn offsets() {
        assert_eq!(
            [
                offset_of!(LogHeader, magic),
                offset_of!(LogHeader, version),
                offset_of!(LogHeader, record_header),
                offset_of!(LogHeader, capacity),
                offset_of!(LogHeader, used),
                offset_of!(LogHeader, records),
                offset_of!(LogHeader, lost),
            ],
            [0, 8, 12, 16, 24, 32, 40]
        );
        assert_eq!(
            [
                offset_of!(RecordHeader, bytes),
                offset_of!(RecordHeader, kind),
                offset_of!(RecordHeader, flags),
                offset_of!(RecordHeader, device),
                offset_of!(RecordHeader, pid),
                offset_of!(RecordHeader, sector),
                offset_of!(RecordHeader, len),
                offset_of!(RecordHeader, request),
            ],
            [0, 4, 6, 8, 12, 16, 24, 32]
        );
        assert_eq!(
            [
                offset_of!(CallDetail, path),
                offset_of!(CallDetail, other),
                offset_of!(CallDetail, flags),
                offset_of!(CallDetail, mode),
                offset_of!(CallDetail, uid),
                offset_of!(CallDetail, gid),
                offset_of!(CallDetail, missing),
                offset_of!(CallDetail, atime_nsec),
                offset_of!(CallDetail, atime),
                offset_of!(CallDetail, mtime),
                offset_of!(CallDetail, mtime_nsec),
                offset_of!(CallDetail, device),
                offset_of!(CallDetail, position),
                offset_of!(CallDetail, length),
            ],
            [0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 52, 56, 64]
        );
        assert_eq!(LOG_MAGIC.to_le_bytes(), *b"EKMLOG\0\0");
    }

    #[test]
    fn another_device_refuses() {
        use std::os::fd::AsFd;
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(hello_ekm(null.as_fd()), Err(HelloError::Refused(Errno::ENOTTY)));
        assert_eq!(hello_rdd(null.as_fd()), Err(HelloError::Refused(Errno::ENOTTY)));
        assert_eq!(create(null.as_fd(), 8), Err(Errno::ENOTTY));
        assert_eq!(take_blocks(null.as_fd(), 0, 0, &mut vec![1]), Err(Errno::ENOTTY));
    }

    #[test]
    fn a_wrong_version_names_both() {
        let error = HelloError::Version { module: 2, ours: 1 };
        assert!(error.to_string().contains("version 2"), "{error}");
        assert!(error.to_string().contains("version 1"), "{error}");
    }
}
