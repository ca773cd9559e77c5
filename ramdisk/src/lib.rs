//! Simulated storage on which crashes can be simulated: copy-on-write disks, a file system that
//! gives no guarantee beyond POSIX, and the recorder of what happens to them.
//!
//! The path of the data: a system under test writes through a [`RamDisk`] or through [`SimFiles`].
//! Both keep the contents that the system sees in a [`Storage`], which logs an [`Event`] for each
//! change. This crate does not decide what the events mean for a crash. The write set of
//! `explode-runtime` does that, from the log alone. `docs/model/fault-model.md` describes both.
//!
//! # Rooms, bottom first
//!
//! - [`kmod`]: the sources of the RAM disk driver of guests
//! - `sector`: sectors and blocks: their sizes and their bytes
//! - `identity`: identities of disk contents
//! - `fault`: faults of the medium
//! - `disk`: copy-on-write disks
//! - `image`: the disks of a stack at one moment
//! - `event`: the events that a system under test causes
//! - `reads`: the parts of an image that were read
//! - `storage`: the storage of a running stack, and its log
//! - `ramdisk`: block devices
//! - `files`: the calls on files, as a trait and as data, and simulated files
//! - `values`: the values of the parts that were read

mod disk;
mod event;
mod fault;
pub mod files;
mod identity;
mod image;
pub mod kmod;
mod ramdisk;
mod reads;
mod sector;
mod storage;
mod values;

pub use disk::Disk;
pub use event::{DecodeError, Event, Flags, Payload};
pub use fault::{Condition, Damage, DiskFault, ReadFault};
pub use files::{Files, SimFiles};
pub use identity::{Identity, sector_identity};
pub use image::Image;
pub use ramdisk::{Flushes, RamDisk, RamDiskState, Request};
pub use reads::ReadRange;
pub use sector::{BLOCK_BYTES, Block, SECTOR_BYTES, SECTORS_PER_BLOCK, ZERO_SECTOR};
pub use storage::{Recording, Storage, operation_mark, operation_of};
pub use values::{ImageView, Values};
