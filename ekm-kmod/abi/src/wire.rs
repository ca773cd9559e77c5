// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The structures and numbers that the kernel modules and their user share; `core` only. Both
//! modules include these very files.
//!
//! Two devices with calls, and one for lines ([`MARKS`]). `/dev/rdd-control` makes RAM disks
//! (`/dev/rdd<N>`), and gives their contents by mmap. `/dev/ekm` keeps one event log for all
//! watched disks, read by mmap: a [`LogHeader`] in the first page, records from [`LOG_DATA`] on,
//! each a [`RecordHeader`] and its data. Byte order and sizes are those of the machine.
//!
//! Every structure is plain integers without padding, so any bytes are a value. A call that makes
//! no sense is refused with `EINVAL` (or `ENODEV`: no such device) and changes nothing.

// By path, since the modules include this file by path: there its folder is another one.
#[path = "wire/followed.rs"]
mod followed;

pub use followed::*;

/// Changes with every change of these files that matters to either side. [`Hello`] compares it.
pub const ABI_VERSION: u32 = 4;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Bytes of a block in [`BlockList`]: eight sectors.
pub const BLOCK: u64 = 4096;

/// Opens the conversation: what the caller was built for. The module answers with its own version,
/// and `EPROTO` if it is another one. Every other call before a `Hello` that matched is refused
/// with `EPROTO`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// In: the caller's [`ABI_VERSION`]. Out: the module's.
    pub version: u32,
    /// Always 0.
    pub reserved: u32,
}

// --- /dev/rdd-control

/// A RAM disk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSpec {
    /// Out: the number N of `/dev/rdd<N>`, the lowest free one. In, for [`RDD_REMOVE`]: which one.
    pub disk: u32,
    /// Out: device numbers of the node.
    pub major: u32,
    /// Out.
    pub minor: u32,
    /// Always 0.
    pub reserved: u32,
    /// In: size in sectors, a multiple of 8, not 0.
    pub sectors: u64,
}

/// A list of blocks, taken and begun anew.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockList {
    /// Which disk.
    pub disk: u32,
    /// [`BLOCKS_CHANGED`] or [`BLOCKS_READ`].
    pub which: u32,
    /// In: a user pointer to `capacity` numbers of type `u32`.
    pub blocks: u64,
    /// In: how many fit.
    pub capacity: u64,
    /// Out: how many there are, in order of their first touch, each once. Above `capacity` the call
    /// fails with `ENOSPC`, and the list stays.
    pub count: u64,
}

/// Blocks that requests wrote since this list was last taken. Writes through mmap are the owner's
/// own, and are not in it.
pub const BLOCKS_CHANGED: u32 = 0;
/// Blocks that requests read since this list was last taken.
pub const BLOCKS_READ: u32 = 1;

/// A fault of a medium: requests that touch the range meet it, until it is cleared.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultSpec {
    /// Which disk.
    pub disk: u32,
    /// [`FAULT_CLEAR`], [`FAULT_READ_ERROR`], [`FAULT_WRITE_ERROR`], [`FAULT_READ_GARBAGE`] or
    /// [`FAULT_UNREADABLE`].
    pub kind: u32,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; 0 with [`FAULT_CLEAR`].
    pub sectors: u64,
    /// Seeds the garbage: the same bytes for the same (seed, sector), at each read.
    pub seed: u64,
}

/// Forgets every fault of the disk.
pub const FAULT_CLEAR: u32 = 0;
/// Reads end with an I/O error.
pub const FAULT_READ_ERROR: u32 = 1;
/// Writes, discards and write-zeroes end with an I/O error, and change nothing.
pub const FAULT_WRITE_ERROR: u32 = 2;
/// Reads succeed, and give garbage.
pub const FAULT_READ_GARBAGE: u32 = 3;
/// Reads end with an I/O error until the sector is written. Each sector of the range counts as a
/// fault.
pub const FAULT_UNREADABLE: u32 = 4;
/// So many faults a disk has at most; one more is `ENOSPC`.
pub const FAULTS_MAX: usize = 64;

/// When the writes of a disk end.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Which disk.
    pub disk: u32,
    /// One of `ENDS_*`.
    pub when: u32,
}

/// Each write is completed when it is submitted, as every disk does at first; those that were held
/// back are completed now.
pub const ENDS_AT_ONCE: u32 = 0;
/// A write, discard or write-zeroes is done when it is submitted, and completed when no other task
/// of the processor can run. Reads and flushes without data end at once.
pub const ENDS_LATE: u32 = 1;
/// The same, but nothing is completed before this changes.
pub const ENDS_NOT_YET: u32 = 2;
/// A write for which EKM's user chooses so ([`LATE`]) ends late, each other one at once.
pub const ENDS_BY_CHOICE: u32 = 3;
/// The same, but of those that end late none is completed before this changes.
pub const ENDS_BY_CHOICE_NOT_YET: u32 = 4;

/// The name of the thread that completes late, with a zero at its end. It must stay an ordinary
/// task.
pub const LATE_THREAD: &[u8] = b"rdd-late\0";

/// `mmap` of `/dev/rdd-control` at offset `N << RDD_MMAP_SHIFT` gives the contents of disk N, whole
/// or a part from its beginning.
pub const RDD_MMAP_SHIFT: u32 = 44;

// --- /dev/ekm

/// Makes a block device one whose events are logged. It is known by its numbers: a new device that
/// gets the same is watched too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The number that the log gives it, below [`WATCHES_MAX`]; a second watch of a number replaces
    /// the first.
    pub device: u32,
    /// The block device; 0:0 ends the watch. One that another number watches already is `EEXIST`.
    pub major: u32,
    /// The block device.
    pub minor: u32,
    /// [`WATCH_BUFFERS`] and [`WATCH_REQUESTS`], or one of them.
    pub what: u32,
}

/// Log what becomes dirty in the buffer cache, and what of it is forgotten.
pub const WATCH_BUFFERS: u32 = 1;
/// Log requests and completions.
pub const WATCH_REQUESTS: u32 = 2;
/// So many numbers there are.
pub const WATCHES_MAX: usize = 64;

/// How large the log is to be.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSize {
    /// In: bytes for records, a multiple of 4096, not 0. Out: the size before, 0 if there was no
    /// log yet.
    pub bytes: u64,
}

/// The log's size unless [`EKM_LOG`] has said another.
pub const LOG_DEFAULT: u64 = 64 << 20;

/// Something to switch on (1) or off (0): [`EKM_RECORD`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// In: the new state. Out: the one before.
    pub on: u32,
    /// Always 0.
    pub reserved: u32,
}

/// Empties the log, of which the caller has read so much.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reset {
    /// In: what [`LogHeader::used`] was when the caller read it, or [`RESET_ALL`]. If there is more
    /// by now, or anything was lost, the call fails with `EAGAIN` and the log stays. Out: what it
    /// is.
    pub used: u64,
}

/// Whatever there is in the log, it goes.
pub const RESET_ALL: u64 = u64::MAX;

/// Puts a mark into the log.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The caller's own number; it stands in the record's `sector`.
    pub value: u64,
}

/// Asks for the buffers of a watched device that are dirty now: a [`KIND_BUFFER`] record each, in
/// order of sector.
///
/// They are copied first and logged then. Another processor can dirty one in between: its DIRTY
/// then stands before the BUFFER with the older contents. One processor does both without letting
/// anybody else run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Its number.
    pub device: u32,
    /// Out: how many records were appended.
    pub count: u32,
}

/// The clock of file systems: what `current_time`, superblocks and journals read. User programs
/// that ask for the time see the real one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// 1: it stands still at `seconds`; 0: it runs.
    pub frozen: u32,
    /// Always 0.
    pub reserved: u32,
    /// Seconds since 1970.
    pub seconds: u64,
}

/// The kernel's random numbers, as `get_random_*` gives them to callers in the kernel.
/// `get_random_bytes` draws one number for each eight bytes or part of them, every other one call
/// one number. What user programs read is really random.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random {
    /// In: 1: number n is a function of `seed` and n; 0: really random. Out: the state before.
    pub seeded: u32,
    /// Always 0.
    pub reserved: u32,
    /// In: the seed. Out: the one before.
    pub seed: u64,
    /// In: numbers drawn so far, for going on where one left off. Out: those drawn under the seed
    /// before.
    pub drawn: u64,
}

/// The first page of the choices: after [`EKM_CHOICES`], `mmap` of `/dev/ekm` at offset
/// [`CHOICES_MMAP`], then [`ChoiceSlot`]s from [`LOG_DATA`] on.
///
/// The user writes which choices there are, the answers to the first of them, and `armed` last; as
/// long as that is 1 the module takes slot after slot. The user sets `armed` to 0 and reads what
/// was asked. Both sides are the same thread, `task`: one at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChoiceHeader {
    /// 1: functions may fail.
    pub armed: u32,
    /// Which: `FAIL_*`, [`LATE`].
    pub kinds: u32,
    /// The thread whose system calls they may fail in (gettid(2)).
    pub task: u32,
    /// So many answers stand in the first slots.
    pub scripted: u32,
    /// So many answers may be another than to run normally; after the last one nothing is asked.
    pub failures: u32,
    /// So many slots are taken.
    pub taken: u32,
    /// How many more were asked for and found no slot; they ran normally, and the choices are worth
    /// nothing.
    pub lost: u32,
    /// Always 0.
    pub reserved: u32,
}

/// A choice in the kernel: of two options, 0 to fail (to end late), 1 to run normally; of more, the
/// last one is to run normally.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChoiceSlot {
    /// One of `FAIL_*`, or [`LATE`].
    pub kind: u32,
    /// How many options there are. More than [`OPTIONS_MAX`] are refused: it has run normally, and
    /// the choices are worth nothing.
    pub options: u32,
    /// The answer. That of the script counts only if the script has this kind and so many options
    /// there.
    pub answer: u32,
    /// Always 0.
    pub reserved: u32,
    /// The number of the watched device that it is about, or [`NO_DEVICE`].
    pub device: u32,
    /// So many of `frames` are there.
    pub depth: u32,
    /// The addresses that lead there, innermost first: of the function itself, then where its
    /// caller goes on, and so on.
    pub frames: [u64; FRAMES_MAX],
}

/// Where in the mmap the choices are.
pub const CHOICES_MMAP: u64 = 1 << 44;
/// So many options a choice has at most (`EKM_CHOOSE_MAX` of explode.h).
pub const OPTIONS_MAX: u32 = 65536;
/// So many slots there are.
pub const CHOICES_MAX: usize = 4096;
/// So much of a stack is kept.
pub const FRAMES_MAX: usize = 30;
/// A choice that is about no device in particular.
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
/// A request to a watched device (`should_fail_bio`): it ends with `EIO`, and never gets there.
pub const FAIL_REQUEST: u32 = 32;
/// What a module asks by `ekm_choose`: it knows what its options are.
pub const FAIL_MODULE: u32 = 64;
/// A function that the user has named ([`Site`]): it returns what the user says.
pub const FAIL_PROBE: u32 = 128;
/// Every kind.
pub const FAIL_ALL: u32 = 511;

/// Which functions are probed: [`EKM_CHOICES`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// In: those of these kinds (`FAIL_*`), 0 for none. Out: the kinds among them of which this
    /// kernel has functions that can be probed.
    pub kinds: u32,
    /// Out: the kinds among them whose functions are there, but not for the function tracer, which
    /// their probes need.
    pub untraced: u32,
}

/// A function of the kernel that fails by choice, of kind [`FAIL_PROBE`]: [`EKM_SITE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// In: its name, then zeroes, at least one.
    pub symbol: [[u8; 32]; 4],
    /// In: what it returns when it fails, as it stands in the register.
    pub returns: u64,
    /// In: 1 to take it though the kernel's own list of functions that may fail has it not, or with
    /// another value. Else 0.
    pub unlisted: u32,
    /// Out: what that list says of it (`LISTED_*`).
    pub listed: u32,
}

/// It is not in the list (`ALLOW_ERROR_INJECTION`).
pub const LISTED_NOT: u32 = 0;
/// It fails with null, or 0.
pub const LISTED_NULL: u32 = 1;
/// It fails with the negative number of an error.
pub const LISTED_ERRNO: u32 = 2;
/// It fails with the negative number of an error, or null.
pub const LISTED_ERRNO_NULL: u32 = 3;
/// It fails with true, or 1.
pub const LISTED_TRUE: u32 = 4;
/// So many sites there are at most.
pub const SITES_MAX: usize = 64;

/// A write, discard or write-zeroes to a watched disk of rdd's whose writes end by choice: late
/// ([`ENDS_BY_CHOICE`]).
pub const LATE: u32 = 256;

/// Asks what stands at an address of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// In: the address.
    pub address: u64,
    /// Out: `name+0xoffset/0xsize`, and ` [module]`; cut off where it is too long, then zeroes.
    pub text: [[u8; 32]; 4],
}

/// A file of the caller's, for what is asked of its file system.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFile {
    /// In: its descriptor.
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
    /// Size of [`RecordHeader`].
    pub record_header: u32,
    /// Bytes there are for records.
    pub capacity: u64,
    /// Bytes of records that are there.
    pub used: u64,
    /// How many records.
    pub records: u64,
    /// How many more there would be if they had found room. The log is worth nothing unless this is
    /// 0.
    pub lost: u64,
}

/// "EKMLOG\0\0", little-endian.
pub const LOG_MAGIC: u64 = 0x0000_474f_4c4d_4b45;
/// Where in the mmap the records begin; the header has this to itself.
pub const LOG_DATA: u64 = 4096;

/// One event. Its data, if any, follows; the next record begins at the next multiple of 8.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// Bytes of the record: this header and the data, without what fills it up to a multiple of 8.
    pub bytes: u32,
    /// One of `KIND_*`.
    pub kind: u16,
    /// `FLAG_*`.
    pub flags: u16,
    /// The watched device's number.
    pub device: u32,
    /// The thread that caused it (`current->pid`).
    pub pid: u32,
    /// The range's first sector; a mark's value.
    pub sector: u64,
    /// The range's length in bytes.
    pub len: u64,
    /// The same for a request and its completion, and for no other request in between. Says nothing
    /// else.
    pub request: u64,
}

/// A buffer with these contents has become dirty, or is dirty and has changed
/// (`mark_buffer_dirty`). With data. Who marks it may go on to change it (fat does, where a
/// directory grows); then a later [`KIND_BUFFER`] or [`KIND_SUBMIT`] has the final contents.
pub const KIND_DIRTY: u16 = 1;
/// A buffer's changes are forgotten, unwritten (`__bforget`, `block_invalidate_folio`,
/// `clean_bdev_aliases`), or a journal has taken them over, so that the buffer is not written
/// before they are in the journal. There may be one where nothing was dirty.
pub const KIND_FORGET: u16 = 2;
/// A request other than a read is handed to the device (`submit_bio`). With data if it is a write
/// with any; else `len` says how much.
pub const KIND_SUBMIT: u16 = 3;
/// A request has ended (`bio_endio`). Which one, `request` says; `sector` and `len` are 0, as a bio
/// forgets them on its way.
pub const KIND_COMPLETE: u16 = 4;
/// The user's own mark. It is put whether the log records or not, as are the answers to
/// [`EKM_BUFFERS`].
pub const KIND_MARK: u16 = 5;
/// A buffer that is dirty now, with its contents; the answer to [`EKM_BUFFERS`].
pub const KIND_BUFFER: u16 = 6;
/// A call has changed a followed file system. `device` is our number of that, `sector` one of
/// `CALL_*`, `len` the length of the data that was written, `request` the number of the inode. The
/// records are in the order in which the calls took effect.
pub const KIND_CALL: u16 = 7;
/// Crash checks are asked for at this place. The data is the name, of `len` bytes. `device` is
/// [`NO_DEVICE`]. With [`FLAG_PROGRAM`] a program has asked, by a line to [`MARKS`]; records of
/// [`FLAG_ASKED`] belong to it. Else code of the kernel has (`ekm_check_crashes`), and goes on at
/// the address `request`; of a name that is too long one byte more than [`ASKED_MAX`] is there.
pub const KIND_ASKED: u16 = 8;
/// So many bytes the name of a request for crash checks has at most.
pub const ASKED_MAX: usize = 255;

/// Of a [`KIND_ASKED`]: a program has asked.
pub const FLAG_PROGRAM: u16 = 64;
/// Of a [`KIND_BUFFER`]: it is no answer to [`EKM_BUFFERS`]. The next [`KIND_ASKED`] of a program
/// stands behind such records of all dirty buffers of all watched devices.
pub const FLAG_ASKED: u16 = 128;

/// `REQ_FUA`.
pub const FLAG_FUA: u16 = 1;
/// `REQ_PREFLUSH`, or a flush alone (`REQ_OP_FLUSH`): then `len` is 0.
pub const FLAG_PREFLUSH: u16 = 2;
/// `REQ_OP_WRITE_ZEROES`: no data.
pub const FLAG_ZEROES: u16 = 4;
/// `REQ_OP_DISCARD` or `REQ_OP_SECURE_ERASE`: no data.
pub const FLAG_DISCARD: u16 = 8;
/// The request has failed.
pub const FLAG_ERROR: u16 = 16;
/// Of a [`KIND_CALL`]: the name by which the file was found is gone; which file it is, only the
/// number of its inode says.
pub const FLAG_NAMELESS: u16 = 32;

/// Where programs ask for crash checks: one write(2) of [`MARK_CRASH`], a name, and a newline or
/// none is one request. Names are made of 1 to [`ASKED_MAX`] letters, digits, `.`, `_` and `-`; all
/// else is `EINVAL`. While nothing is recorded it does nothing.
pub const MARKS: &str = "/dev/explode-mark";
/// How such a line begins.
pub const MARK_CRASH: &[u8] = b"crash ";

/// The type ("magic") of the calls of `/dev/rdd-control`.
pub const RDD_TYPE: u8 = 0xd5;
/// The type of the calls of `/dev/ekm`.
pub const EKM_TYPE: u8 = 0xd6;

/// `_IOWR(type, nr, T)`: all calls read and write their structure.
const fn iowr<T>(kind: u8, nr: u8) -> u32 {
    (3 << 30) | ((core::mem::size_of::<T>() as u32) << 16) | ((kind as u32) << 8) | nr as u32
}

/// [`Hello`] to `/dev/rdd-control`.
pub const RDD_HELLO: u32 = iowr::<Hello>(RDD_TYPE, 0x10);
/// Makes a disk of zeroes ([`DiskSpec`]).
pub const RDD_CREATE: u32 = iowr::<DiskSpec>(RDD_TYPE, 0x11);
/// Removes a disk; `EBUSY` while it is open or mapped.
pub const RDD_REMOVE: u32 = iowr::<DiskSpec>(RDD_TYPE, 0x12);
/// Takes a [`BlockList`].
pub const RDD_BLOCKS: u32 = iowr::<BlockList>(RDD_TYPE, 0x13);
/// Adds a fault, or clears all ([`FaultSpec`]).
pub const RDD_FAULT: u32 = iowr::<FaultSpec>(RDD_TYPE, 0x14);
/// Changes when writes end ([`Ends`]).
pub const RDD_ENDS: u32 = iowr::<Ends>(RDD_TYPE, 0x15);

/// [`Hello`] to `/dev/ekm`.
pub const EKM_HELLO: u32 = iowr::<Hello>(EKM_TYPE, 0x10);
/// [`Watch`].
pub const EKM_WATCH: u32 = iowr::<Watch>(EKM_TYPE, 0x11);
/// Recording on or off ([`Switch`]); off when the device is closed.
pub const EKM_RECORD: u32 = iowr::<Switch>(EKM_TYPE, 0x12);
/// [`Mark`].
pub const EKM_MARK: u32 = iowr::<Mark>(EKM_TYPE, 0x13);
/// [`Buffers`].
pub const EKM_BUFFERS: u32 = iowr::<Buffers>(EKM_TYPE, 0x14);
/// Empties the log ([`Reset`]).
pub const EKM_RESET: u32 = iowr::<Reset>(EKM_TYPE, 0x15);
/// [`Clock`].
pub const EKM_CLOCK: u32 = iowr::<Clock>(EKM_TYPE, 0x16);
/// [`Random`].
pub const EKM_RANDOM: u32 = iowr::<Random>(EKM_TYPE, 0x17);
/// Makes the log anew, empty, with another size ([`LogSize`]); `EBUSY` while it records or is
/// mapped. A log that does not exist yet is made by the first call that needs one, and is there
/// until the module goes.
pub const EKM_LOG: u32 = iowr::<LogSize>(EKM_TYPE, 0x18);
/// [`Symbol`].
pub const EKM_SYMBOL: u32 = iowr::<Symbol>(EKM_TYPE, 0x19);
/// Functions that may fail are probed ([`Kinds`]), or not; not when the device is closed. Sites are
/// forgotten. Without it the kernel runs as fast as it can, and has no choices to map. `ENODEV` if
/// this kernel cannot say who calls them.
pub const EKM_CHOICES: u32 = iowr::<Kinds>(EKM_TYPE, 0x1a);
/// One more function is probed ([`Site`]), until the next [`EKM_CHOICES`], which must have asked
/// for [`FAIL_PROBE`] (`EINVAL`). `ENOENT`: there is none of this name. `EPERM`: it is not in the
/// kernel's list, or the value is none that it fails with; `listed` says which. `EEXIST`: there is
/// such a site. `ENOSPC`: too many. Other errors are those of `register_kprobe`: it cannot be
/// probed.
pub const EKM_SITE: u32 = iowr::<Site>(EKM_TYPE, 0x1b);
/// Asks the file system of an [`OpenFile`] to begin to commit what it has, and does not wait for
/// that (`super_operations::sync_fs` without `wait`, which promises nothing): ext4 wakes its
/// journal's thread if there is anything to commit. `EOPNOTSUPP` if it cannot be asked; what it
/// says is what the call says.
pub const EKM_START_COMMIT: u32 = iowr::<OpenFile>(EKM_TYPE, 0x1c);
/// [`Follow`]. The first one takes a while: functions are probed from then on, until the device is
/// closed.
pub const EKM_FOLLOW: u32 = iowr::<Follow>(EKM_TYPE, 0x1d);

// Both sides compile this file. A layout that differs does not compile.
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
