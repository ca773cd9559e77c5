//! The user-space side of explode's two kernel modules: the kernel of this machine as a backend of
//! stacks.
//!
//! [`KernelBackend`] implements [`Backend`](explode_runtime::devices::Backend). RAM disks of the
//! kernel hold the images, EKM's log is decoded into events, functions of the kernel make choices,
//! tasks take turns, and calls on a file system can be repeated for soft crashes. [`AllBackends`]
//! opens it for the modes that need it.
//!
//! It uses the rooms `base`, `choose`, `faults`, `devices` and `events` of `explode_runtime`.
//!
//! # Rooms, bottom first
//!
//! - `map`: memory that is shared with the kernel
//! - `packages`: the image of a guest and the packages of its programs
//! - `marks`: the tool with which programs request crash checks
//! - `tasks`: the tasks that have caused events
//! - `buffers`: the dirty buffers according to the log, compared with the kernel
//! - `log`: records of EKM's log as events
//! - `disk_model`: how a disk treats flushes, and when its writes complete
//! - `scheduling`: tasks take turns in a guest
//! - `threads`: threads of a stack: found, held back, run
//! - `background`: write-back and reclaim on request
//! - `write_back`: settings that allow write-back on request only
//! - `numbers`: the numbers of choices in EKM's calls
//! - `frames`: labels of choices by their callers
//! - `rdd`: one RAM disk
//! - `unrecorded_disk`: a RAM disk without a log, to measure with
//! - `choices`: the page of choices that EKM shares
//! - `probes`: probes of functions that may fail
//! - `ekm`: EKM's device
//! - `leftovers`: disks that a killed run has left
//! - `requests`: requests of kernel code and programs for crash checks
//! - `calls`: calls on a file system, read from the log and repeated
//! - `side_disks`: the disks of one side, and their events
//! - `machine`: the kernel of a run: its disks, log and clock
//! - `handed_over`: choices while the kernel has their sequence
//! - `kernel`: the disks of one stack
//! - `kernel_side`: choices in the kernel and between two calls
//! - `soft`: soft crashes, by repeated calls
//! - `backend`: the backend

mod backend;
mod background;
mod buffers;
mod calls;
mod choices;
mod disk_model;
mod ekm;
mod frames;
mod handed_over;
mod kernel;
mod kernel_side;
mod leftovers;
mod log;
mod machine;
mod map;
mod marks;
mod numbers;
mod packages;
mod probes;
mod rdd;
mod requests;
mod scheduling;
mod side_disks;
mod soft;
mod tasks;
mod threads;
mod unrecorded_disk;
mod write_back;

pub use backend::{AllBackends, KernelBackend};
pub use disk_model::{CompletionTiming, DiskModel};
pub use kernel::KernelDisks;
pub use leftovers::remove_left;
pub use machine::KernelMachine;
pub use marks::{MARK_REQUEST, TOOLS};
pub use packages::{IMAGE_FILE, PACKAGE};
pub use scheduling::yield_to_others;
pub use threads::find_thread;
pub use unrecorded_disk::UnrecordedDisk;
