// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The structures and numbers that the kernel modules and their user share. They need only `core`.
//! Both modules include these files.
//!
//! There are two devices with calls, and one for lines ([`MARKS`]). `/dev/rdd-control` makes RAM
//! disks (`/dev/rdd<N>`) and maps their contents. `/dev/ekm` has one event log for all watched
//! disks, which is read by mmap: a [`LogHeader`] in the first page, and records from [`LOG_DATA`]
//! on, each a [`RecordHeader`] and its data. Byte order and sizes are those of the machine.
//!
//! Every structure is plain integers without padding, so any bytes are valid. An invalid call
//! returns `EINVAL` (or `ENODEV`: no such device) and changes nothing.

// By path, because the modules include this file by path, from another folder.
#[path = "wire/followed.rs"]
mod followed;

pub use followed::*;

/// The version of the interface. It changes with every relevant change of these files.
pub const ABI_VERSION: u32 = 4;

/// The size of a sector in bytes.
pub const SECTOR: u64 = 512;
/// The size in bytes of a block in [`BlockList`]: eight sectors.
pub const BLOCK: u64 = 4096;

/// The first call, with the version that the caller was built for. The module returns its own
/// version, and `EPROTO` if they differ. Other calls before a matching `Hello` return `EPROTO`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// In: the caller's [`ABI_VERSION`]. Out: that of the module.
    pub version: u32,
    /// Always 0.
    pub reserved: u32,
}

// --- /dev/rdd-control

/// A RAM disk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSpec {
    /// Out: the number N of `/dev/rdd<N>`, the lowest free one. In, for [`RDD_REMOVE`]: the number.
    pub disk: u32,
    /// Out: the major number of the node.
    pub major: u32,
    /// Out: the minor number of the node.
    pub minor: u32,
    /// Always 0.
    pub reserved: u32,
    /// In: the size in sectors, a multiple of 8, not 0.
    pub sectors: u64,
}

/// A list of blocks, which is emptied when it is taken.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockList {
    /// The number of the disk.
    pub disk: u32,
    /// [`BLOCKS_CHANGED`] or [`BLOCKS_READ`].
    pub which: u32,
    /// In: a user pointer to `capacity` numbers of type `u32`.
    pub blocks: u64,
    /// In: the size of the user's array in numbers.
    pub capacity: u64,
    /// Out: the number of blocks. They are in order of their first touch, each once. If it exceeds
    /// `capacity`, the call fails with `ENOSPC` and the list stays.
    pub count: u64,
}

/// Blocks that requests wrote since this list was last taken, without writes through mmap.
pub const BLOCKS_CHANGED: u32 = 0;
/// Blocks that requests read since this list was last taken.
pub const BLOCKS_READ: u32 = 1;

/// A fault of a medium. It affects requests that touch the range, until it is cleared.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultSpec {
    /// The number of the disk.
    pub disk: u32,
    /// [`FAULT_CLEAR`], [`FAULT_READ_ERROR`], [`FAULT_WRITE_ERROR`], [`FAULT_READ_GARBAGE`],
    /// [`FAULT_UNREADABLE`] or [`FAULT_GONE`].
    pub kind: u32,
    /// The first sector.
    pub sector: u64,
    /// The number of sectors; 0 with [`FAULT_CLEAR`].
    pub sectors: u64,
    /// The seed of the garbage. Each read of a sector returns the same bytes for the same seed.
    pub seed: u64,
}

/// Removes every fault of the disk.
pub const FAULT_CLEAR: u32 = 0;
/// Reads fail with an I/O error.
pub const FAULT_READ_ERROR: u32 = 1;
/// Writes, discards and write-zeroes fail with an I/O error and change nothing.
pub const FAULT_WRITE_ERROR: u32 = 2;
/// Reads succeed and return garbage.
pub const FAULT_READ_GARBAGE: u32 = 3;
/// Reads fail with an I/O error until the sector is written. Each sector counts as a fault.
pub const FAULT_UNREADABLE: u32 = 4;
/// Every request fails with an I/O error and changes nothing, flushes included. The range is that
/// of the whole disk.
pub const FAULT_GONE: u32 = 5;
/// The largest number of faults of a disk; one more is `ENOSPC`.
pub const FAULTS_MAX: usize = 64;

/// The time at which the writes of a disk complete.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The number of the disk.
    pub disk: u32,
    /// One of `ENDS_*`.
    pub when: u32,
}

/// Each write completes when it is submitted. This is the initial state. Writes that were held back
/// complete now.
pub const ENDS_AT_ONCE: u32 = 0;
/// A write, discard or write-zeroes is done when it is submitted and completes when no other task
/// of the processor can run. Reads and flushes without data complete at once.
pub const ENDS_LATE: u32 = 1;
/// As [`ENDS_LATE`], but nothing completes before this setting changes.
pub const ENDS_NOT_YET: u32 = 2;
/// Writes chosen by EKM's user ([`LATE`]) complete late, the others at once.
pub const ENDS_BY_CHOICE: u32 = 3;
/// As [`ENDS_BY_CHOICE`], but no chosen write completes before this setting changes.
pub const ENDS_BY_CHOICE_NOT_YET: u32 = 4;

/// The name of the thread that completes writes late, with a zero at its end. The thread must stay
/// an ordinary task.
pub const LATE_THREAD: &[u8] = b"rdd-late\0";

/// The offset of the contents of disk N in the `mmap` of `/dev/rdd-control` is
/// `N << RDD_MMAP_SHIFT`. A mapping may be shorter than the disk.
pub const RDD_MMAP_SHIFT: u32 = 44;

// --- /dev/ekm

/// Makes the events of a block device be logged. The device is identified by its numbers, so a new
/// device with the same numbers is watched as well.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The number of the device in the log, below [`WATCHES_MAX`]. A second watch of a number
    /// replaces the first.
    pub device: u32,
    /// The major number of the device. 0:0 ends the watch. `EEXIST` if another number watches it.
    pub major: u32,
    /// The minor number of the device.
    pub minor: u32,
    /// [`WATCH_BUFFERS`], [`WATCH_REQUESTS`], or both.
    pub what: u32,
}

/// Logs buffers of the buffer cache that become dirty or are forgotten.
pub const WATCH_BUFFERS: u32 = 1;
/// Logs requests and completions.
pub const WATCH_REQUESTS: u32 = 2;
/// The number of watches.
pub const WATCHES_MAX: usize = 64;

/// The size of the log.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSize {
    /// In: the bytes for records, a multiple of 4096, not 0. Out: the previous size, 0 without a
    /// log.
    pub bytes: u64,
}

/// The size of the log before any [`EKM_LOG`].
pub const LOG_DEFAULT: u64 = 64 << 20;

/// A switch with the states on (1) and off (0): [`EKM_RECORD`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// In: the new state. Out: the previous one.
    pub on: u32,
    /// Always 0.
    pub reserved: u32,
}

/// Empties the log if the caller has read all of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reset {
    /// In: [`LogHeader::used`] when the caller read it, or [`RESET_ALL`]. If the log has more
    /// records by now, or any was lost, the call fails with `EAGAIN` and the log stays. Out: the
    /// current value.
    pub used: u64,
}

/// Empties the log unconditionally.
pub const RESET_ALL: u64 = u64::MAX;

/// Puts a mark into the log.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// A number of the caller's choice. It is in the record's `sector`.
    pub value: u64,
}

/// Logs the buffers of a watched device that are dirty now, each as a [`KIND_BUFFER`] record, in
/// order of sectors.
///
/// They are copied first and logged afterwards. Another processor can dirty one in between. Its
/// DIRTY record is then before the BUFFER record with the older contents. With a single processor
/// no other task runs in between.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// In: the number of the device.
    pub device: u32,
    /// Out: the number of appended records.
    pub count: u32,
}

/// The clock of file systems, which `current_time`, superblocks and journals read. User programs
/// that read the time get the real one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// 1: the clock is frozen at `seconds`. 0: it runs.
    pub frozen: u32,
    /// Always 0.
    pub reserved: u32,
    /// Seconds since 1970.
    pub seconds: u64,
}

/// The kernel's random numbers, as callers of `get_random_*` in the kernel get them.
/// `get_random_bytes` draws one number for each eight bytes or part of them, and every other call
/// one number. User programs get real random numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random {
    /// In: 1: number n is a function of `seed` and n. 0: the numbers are random. Out: the previous
    /// state.
    pub seeded: u32,
    /// Always 0.
    pub reserved: u32,
    /// In: the seed. Out: the previous one.
    pub seed: u64,
    /// In: the numbers drawn so far, to resume a sequence. Out: those drawn under the previous
    /// seed.
    pub drawn: u64,
}

/// The first page of the choices: after [`EKM_CHOICES`], `mmap` of `/dev/ekm` at offset
/// [`CHOICES_MMAP`]. [`ChoiceSlot`]s follow from [`LOG_DATA`] on.
///
/// The user writes the kinds, the answers to the first choices, and `armed` last. While `armed` is
/// 1, the module takes slot after slot. Then the user sets `armed` to 0 and reads the choices. Both
/// sides run in the same thread, `task`, so accesses do not overlap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChoiceHeader {
    /// 1: functions may fail.
    pub armed: u32,
    /// The kinds that may fail: `FAIL_*`, [`LATE`].
    pub kinds: u32,
    /// The thread whose system calls they may fail in (gettid(2)).
    pub task: u32,
    /// The number of slots with an answer.
    pub scripted: u32,
    /// The number of answers that may differ from the normal run. After them there are no choices.
    pub failures: u32,
    /// The number of slots taken.
    pub taken: u32,
    /// The number of choices without a slot, which ran normally. Unless 0, discard all choices.
    pub lost: u32,
    /// Always 0.
    pub reserved: u32,
}

/// A choice in the kernel. Of two options, 0 is to fail (or complete late), and 1 is to run
/// normally. Of more options, the last one is to run normally.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChoiceSlot {
    /// One of `FAIL_*`, or [`LATE`].
    pub kind: u32,
    /// The number of options. A choice with more than [`OPTIONS_MAX`] has run normally. Use no
    /// choices then.
    pub options: u32,
    /// The answer. The user's counts only if the slot has this kind and number of options.
    pub answer: u32,
    /// Always 0.
    pub reserved: u32,
    /// The number of the watched device concerned, or [`NO_DEVICE`].
    pub device: u32,
    /// The number of valid `frames`.
    pub depth: u32,
    /// The addresses that lead to the choice, innermost first: the function, then its return
    /// address, and so on.
    pub frames: [u64; FRAMES_MAX],
}

/// The offset of the choices in the mmap.
pub const CHOICES_MMAP: u64 = 1 << 44;
/// The largest number of options of a choice (`EKM_CHOOSE_MAX` of explode.h).
pub const OPTIONS_MAX: u32 = 65536;
/// The number of slots.
pub const CHOICES_MAX: usize = 4096;
/// The largest number of addresses in a slot.
pub const FRAMES_MAX: usize = 30;
/// The device of a choice that concerns no device.
pub const NO_DEVICE: u32 = u32::MAX;

/// A slab allocation, `kmalloc` among them (`should_failslab`): `ENOMEM`. Not with `__GFP_NOFAIL`.
pub const FAIL_SLAB: u32 = 1;
/// A page allocation (`should_fail_alloc_page`): `ENOMEM`. Not with `__GFP_NOFAIL`, and not for the
/// slab allocator.
pub const FAIL_PAGE: u32 = 2;
/// A copy from user memory: `EFAULT`.
pub const FAIL_COPY: u32 = 4;
/// A block that is read into the buffer cache: `EIO`.
pub const FAIL_BUFFER: u32 = 8;
/// A page that is read into the page cache: `EIO`.
pub const FAIL_CACHE: u32 = 16;
/// A request to a watched device (`should_fail_bio`): it fails with `EIO` and is not passed on.
pub const FAIL_REQUEST: u32 = 32;
/// A choice of a module by `ekm_choose`, which defines its options.
pub const FAIL_MODULE: u32 = 64;
/// A function that the user names ([`Site`]): it returns a value set by the user.
pub const FAIL_PROBE: u32 = 128;
/// Every kind.
pub const FAIL_ALL: u32 = 511;

/// The kinds of functions that are probed: [`EKM_CHOICES`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// In: the kinds to probe (`FAIL_*`), 0 for none. Out: the kinds among them for which this
    /// kernel has functions that can be probed.
    pub kinds: u32,
    /// Out: the kinds among them whose functions exist without the function tracer, which their
    /// probes need.
    pub untraced: u32,
}

/// A function of the kernel that fails by choice, of kind [`FAIL_PROBE`]: [`EKM_SITE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// In: the name, then at least one zero byte.
    pub symbol: [[u8; 32]; 4],
    /// In: the value of the return register when the function fails.
    pub returns: u64,
    /// In: 1 to accept a function or value that is not in the kernel's list of functions that may
    /// fail. Else 0.
    pub unlisted: u32,
    /// Out: the function's entry in that list (`LISTED_*`).
    pub listed: u32,
}

/// The function is not in the list (`ALLOW_ERROR_INJECTION`).
pub const LISTED_NOT: u32 = 0;
/// The function fails with null or 0.
pub const LISTED_NULL: u32 = 1;
/// The function fails with a negative error number.
pub const LISTED_ERRNO: u32 = 2;
/// The function fails with a negative error number or null.
pub const LISTED_ERRNO_NULL: u32 = 3;
/// The function fails with true or 1.
pub const LISTED_TRUE: u32 = 4;
/// The largest number of sites.
pub const SITES_MAX: usize = 64;

/// A write, discard or write-zeroes to a watched disk of rdd whose writes complete by choice
/// ([`ENDS_BY_CHOICE`]): it completes late.
pub const LATE: u32 = 256;

/// Returns the name of an address of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// In: the address.
    pub address: u64,
    /// Out: `name+0xoffset/0xsize`, and ` [module]`, truncated if too long, then zeroes.
    pub text: [[u8; 32]; 4],
}

/// A file of the caller, for calls on its file system.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFile {
    /// In: the descriptor.
    pub fd: u32,
    /// Always 0.
    pub reserved: u32,
}

/// The first page of `/dev/ekm`'s mmap. Only the module writes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogHeader {
    /// [`LOG_MAGIC`].
    pub magic: u64,
    /// [`ABI_VERSION`].
    pub version: u32,
    /// The size of [`RecordHeader`].
    pub record_header: u32,
    /// The number of bytes for records.
    pub capacity: u64,
    /// The number of bytes of the records so far.
    pub used: u64,
    /// The number of records.
    pub records: u64,
    /// The number of records for which there was no room. The log is unusable unless this is 0.
    pub lost: u64,
}

/// "EKMLOG\0\0", little-endian.
pub const LOG_MAGIC: u64 = 0x0000_474f_4c4d_4b45;
/// The offset of the records in the mmap. The header has the bytes before it.
pub const LOG_DATA: u64 = 4096;

/// An event. Its data, if any, follows. The next record begins at the next multiple of 8.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// The size of this header and the data in bytes, without the padding to a multiple of 8.
    pub bytes: u32,
    /// One of `KIND_*`.
    pub kind: u16,
    /// A set of `FLAG_*`.
    pub flags: u16,
    /// The number of the watched device.
    pub device: u32,
    /// The thread that caused it (`current->pid`).
    pub pid: u32,
    /// The first sector of the range, or the value of a mark.
    pub sector: u64,
    /// The length of the range in bytes.
    pub len: u64,
    /// A number that connects a request with its completion. It is unique among the requests in
    /// flight.
    pub request: u64,
}

/// A buffer with these contents has become dirty, or is dirty and has changed
/// (`mark_buffer_dirty`). With data. A file system may change it afterwards (fat does, if a
/// directory grows). A later [`KIND_BUFFER`] or [`KIND_SUBMIT`] then has the final contents.
pub const KIND_DIRTY: u16 = 1;
/// A buffer's changes are forgotten before they are written (`__bforget`, `block_invalidate_folio`,
/// `clean_bdev_aliases`), or a journal has taken them over and writes them first. The buffer need
/// not have been dirty.
pub const KIND_FORGET: u16 = 2;
/// A request other than a read is submitted to the device (`submit_bio`). A write with data has its
/// data here. For others `len` is the length.
pub const KIND_SUBMIT: u16 = 3;
/// A request has completed (`bio_endio`). `request` identifies it. `sector` and `len` are 0,
/// because a bio does not keep them.
pub const KIND_COMPLETE: u16 = 4;
/// A mark of the user. It is logged even without recording, like the results of [`EKM_BUFFERS`].
pub const KIND_MARK: u16 = 5;
/// A buffer that is dirty now, with its contents; a result of [`EKM_BUFFERS`].
pub const KIND_BUFFER: u16 = 6;
/// A call has changed a followed file system. `device` is the number of the file system, `sector`
/// one of `CALL_*`, `len` the length of the written data, `request` the inode number. The records
/// are in the order in which the calls took effect.
pub const KIND_CALL: u16 = 7;
/// A request for crash checks at this place. The data is the name, of `len` bytes. `device` is
/// [`NO_DEVICE`]. With [`FLAG_PROGRAM`] it is a program's line to [`MARKS`], and the records with
/// [`FLAG_ASKED`] before it belong to it. Else it is kernel code (`ekm_check_crashes`) with the
/// return address `request`. A name that is too long is cut to [`ASKED_MAX`] + 1 bytes.
pub const KIND_ASKED: u16 = 8;
/// The largest length in bytes of the name of a request for crash checks.
pub const ASKED_MAX: usize = 255;

/// For [`KIND_ASKED`]: the request is from a program.
pub const FLAG_PROGRAM: u16 = 64;
/// For [`KIND_BUFFER`]: the record is not a result of [`EKM_BUFFERS`]. Such records of all dirty
/// buffers of all watched devices precede the [`KIND_ASKED`] of a program.
pub const FLAG_ASKED: u16 = 128;

/// `REQ_FUA`.
pub const FLAG_FUA: u16 = 1;
/// `REQ_PREFLUSH`, or a flush alone (`REQ_OP_FLUSH`), for which `len` is 0.
pub const FLAG_PREFLUSH: u16 = 2;
/// `REQ_OP_WRITE_ZEROES`: no data.
pub const FLAG_ZEROES: u16 = 4;
/// `REQ_OP_DISCARD` or `REQ_OP_SECURE_ERASE`: no data.
pub const FLAG_DISCARD: u16 = 8;
/// The request has failed.
pub const FLAG_ERROR: u16 = 16;
/// For [`KIND_CALL`]: the name of the file is gone. Only the inode number identifies it.
pub const FLAG_NAMELESS: u16 = 32;

/// The device for requests of programs for crash checks. One write(2) of [`MARK_CRASH`], a name,
/// and an optional newline is one request. A name is 1 to [`ASKED_MAX`] letters, digits, `.`, `_`
/// and `-`. Anything else is `EINVAL`. Without recording it has no effect.
pub const MARKS: &str = "/dev/explode-mark";
/// The start of such a line.
pub const MARK_CRASH: &[u8] = b"crash ";

/// The type ("magic") of the calls of `/dev/rdd-control`.
pub const RDD_TYPE: u8 = 0xd5;
/// The type of the calls of `/dev/ekm`.
pub const EKM_TYPE: u8 = 0xd6;

/// Returns `_IOWR(type, nr, T)`. All calls read and write their structure.
const fn iowr<T>(kind: u8, nr: u8) -> u32 {
    (3 << 30) | ((core::mem::size_of::<T>() as u32) << 16) | ((kind as u32) << 8) | nr as u32
}

/// [`Hello`] to `/dev/rdd-control`.
pub const RDD_HELLO: u32 = iowr::<Hello>(RDD_TYPE, 0x10);
/// Makes a disk of zeroes ([`DiskSpec`]).
pub const RDD_CREATE: u32 = iowr::<DiskSpec>(RDD_TYPE, 0x11);
/// Removes a disk. `EBUSY` while it is open or mapped.
pub const RDD_REMOVE: u32 = iowr::<DiskSpec>(RDD_TYPE, 0x12);
/// Takes a [`BlockList`].
pub const RDD_BLOCKS: u32 = iowr::<BlockList>(RDD_TYPE, 0x13);
/// Adds a fault, or clears all faults ([`FaultSpec`]).
pub const RDD_FAULT: u32 = iowr::<FaultSpec>(RDD_TYPE, 0x14);
/// Sets when writes complete ([`Ends`]).
pub const RDD_ENDS: u32 = iowr::<Ends>(RDD_TYPE, 0x15);

/// [`Hello`] to `/dev/ekm`.
pub const EKM_HELLO: u32 = iowr::<Hello>(EKM_TYPE, 0x10);
/// Sets a watch ([`Watch`]).
pub const EKM_WATCH: u32 = iowr::<Watch>(EKM_TYPE, 0x11);
/// Starts or stops recording ([`Switch`]). Closing the device stops it.
pub const EKM_RECORD: u32 = iowr::<Switch>(EKM_TYPE, 0x12);
/// Logs a mark ([`Mark`]).
pub const EKM_MARK: u32 = iowr::<Mark>(EKM_TYPE, 0x13);
/// Logs the dirty buffers of a device ([`Buffers`]).
pub const EKM_BUFFERS: u32 = iowr::<Buffers>(EKM_TYPE, 0x14);
/// Empties the log ([`Reset`]).
pub const EKM_RESET: u32 = iowr::<Reset>(EKM_TYPE, 0x15);
/// Sets the clock of file systems ([`Clock`]).
pub const EKM_CLOCK: u32 = iowr::<Clock>(EKM_TYPE, 0x16);
/// Sets the source of random numbers ([`Random`]).
pub const EKM_RANDOM: u32 = iowr::<Random>(EKM_TYPE, 0x17);
/// Makes a new, empty log with another size ([`LogSize`]). `EBUSY` while it records or is mapped.
/// The first call that needs a log makes one. It stays until the module is unloaded.
pub const EKM_LOG: u32 = iowr::<LogSize>(EKM_TYPE, 0x18);
/// Returns the name of an address ([`Symbol`]).
pub const EKM_SYMBOL: u32 = iowr::<Symbol>(EKM_TYPE, 0x19);
/// Probes functions that may fail ([`Kinds`]), until the device is closed, and removes all sites.
/// Without probes the kernel runs at full speed and there are no choices to map. `ENODEV` if this
/// kernel cannot unwind stacks.
pub const EKM_CHOICES: u32 = iowr::<Kinds>(EKM_TYPE, 0x1a);
/// Probes one more function ([`Site`]) until the next [`EKM_CHOICES`]. The last one must include
/// [`FAIL_PROBE`] (`EINVAL`). `ENOENT`: no such function. `EPERM`: not in the kernel's list, or not
/// with this value; see `listed`. `EEXIST`: already a site. `ENOSPC`: too many sites. Other errors
/// are those of `register_kprobe`.
pub const EKM_SITE: u32 = iowr::<Site>(EKM_TYPE, 0x1b);
/// Makes the file system of an [`OpenFile`] start a commit, without waiting for it
/// (`super_operations::sync_fs` without `wait`, which promises nothing). ext4 wakes its journal's
/// thread if there is anything to commit. `EOPNOTSUPP` without that operation. Other errors are
/// those of the file system.
pub const EKM_START_COMMIT: u32 = iowr::<OpenFile>(EKM_TYPE, 0x1c);
/// Follows a file system ([`Follow`]). The first call takes a while, because it probes functions,
/// until the device is closed.
pub const EKM_FOLLOW: u32 = iowr::<Follow>(EKM_TYPE, 0x1d);

// Both sides compile this file, so a different layout is a compile error.
const _: () = {
    use core::mem::size_of;
    assert!(size_of::<Hello>() == 8);
    assert!(size_of::<DiskSpec>() == 24);
    assert!(size_of::<BlockList>() == 32);
    assert!(size_of::<FaultSpec>() == 32);
    assert!(size_of::<Ends>() == 8);
    assert!(size_of::<Watch>() == 16);
    assert!(size_of::<Switch>() == 8);
    assert!(size_of::<Reset>() == 8);
    assert!(size_of::<Mark>() == 8);
    assert!(size_of::<Buffers>() == 8);
    assert!(size_of::<Clock>() == 16);
    assert!(size_of::<Random>() == 24);
    assert!(size_of::<LogSize>() == 8);
    assert!(size_of::<LogHeader>() == 48);
    assert!(size_of::<ChoiceHeader>() == 32);
    assert!(size_of::<ChoiceSlot>() == 264);
    assert!(size_of::<Kinds>() == 8);
    assert!(size_of::<Site>() == 144);
    assert!(size_of::<Symbol>() == 136);
    assert!(size_of::<OpenFile>() == 8);
    assert!(size_of::<Follow>() == 16);
    assert!(size_of::<CallDetail>() == 72);
    assert!(size_of::<RecordHeader>() == 40);
};
