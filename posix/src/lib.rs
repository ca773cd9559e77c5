//! Runs Rust code that uses `std::fs` on simulated files, in process and as it is.
//!
//! A [`crash_test`] gives a store the path of a folder. The folder is made of simulated files:
//! functions of the C library that work on files are defined in this crate, and the linker prefers
//! them. A call on the folder, or on what is open in it, is answered by the simulated files. Every
//! other call is passed on to the C library.
//!
//! ```
//! use std::fs::{self, File};
//! use std::io::Write as _;
//! use std::path::{Path, PathBuf};
//!
//! use explode_posix::{Result, Step, crash_test};
//!
//! /// A file with a number.
//! struct Counter(PathBuf);
//!
//! fn open(folder: &Path) -> Result<Counter> {
//!     Ok(Counter(folder.join("counter")))
//! }
//!
//! fn count_on(counter: &mut Counter, count: &mut u8, _: &mut Step<'_, '_>) -> Result<()> {
//!     *count += 1;
//!     let new = counter.0.with_extension("new");
//!     let mut file = File::create(&new)?;
//!     file.write_all(&[*count])?;
//!     file.sync_all()?;
//!     fs::rename(&new, &counter.0)?;
//!     Ok(File::open(counter.0.parent().expect("it is in a folder"))?.sync_all()?)
//! }
//!
//! fn read(counter: &mut Counter) -> Result<u8> {
//!     Ok(if counter.0.exists() { fs::read(&counter.0)?[0] } else { 0 })
//! }
//!
//! let summary = crash_test("counter", open, count_on, read).run();
//! assert_eq!((summary.states, summary.complete), (4.into(), true));
//! ```
//!
//! # Seen and refused
//!
//! - Threads that a store starts belong to it, and their calls are answered. Calls of threads of
//!   its files wait while another state of the files is checked. Before a step counts as ended, its
//!   threads must sleep.
//! - Mappings for reading, and private ones, show the present contents. A shared mapping that can
//!   be written fails with `ENODEV`.
//! - That, io_uring, `chdir` into the folder, streams of C and extended attributes are refused: the
//!   test ends with a text that names the call, and with no finding.
//! - System calls that do not go through the C library are not seen. They fail, because the kernel
//!   has no such folder, and because a descriptor of a simulated file is for the kernel one that
//!   cannot be read, written or mapped. The crate rustix makes such calls; this crate turns on its
//!   feature `use-libc`, so that they are seen.
//! - A program that uses this crate needs Linux with glibc as a shared library. The first call of a
//!   test checks that calls are seen. If they are not, the test ends with `unsupported: ...`.
//! - The permissions of files are kept and not enforced, and the mask of a process is 022. Times
//!   come from a clock that each call moves on.
//!
//! # Rooms, bottom first
//!
//! - `locks`: locks of files and of their ranges
//! - `mirror`: files that are mapped into memory
//! - `walk`: paths, walked through simulated files
//! - `settle`: threads of a store, and the moment when they sleep
//! - `folder`: the files of one mount, what is open on them, and the calls
//! - `owner`: the threads that may touch the files, and when
//! - `descriptors`: descriptors of simulated files
//! - `refusal`: calls that are refused
//! - `isolation`: code with a clock and random numbers of its own (feature `isolation`)
//! - `symbols`: the functions of the C library
//! - `canary`: the check that calls arrive
//! - `mount`: the component
//! - `folder_mount`: the files of one of several hosts
//! - `crash_test`: crash tests

mod canary;
mod crash_test;
mod descriptors;
mod folder;
mod folder_mount;
#[cfg(feature = "isolation")]
pub mod isolation;
mod locks;
mod mirror;
mod mount;
mod owner;
mod refusal;
mod settle;
mod symbols;
mod walk;

#[cfg(feature = "isolation")]
pub use canary::isolation_arrives;
pub use crash_test::{crash_test, crash_test_under};
pub use explode_ramdisk::files::FileModel;
pub use explode_runtime::crash_test::{CrashTest, REPLAY, Result, Step};
pub use folder_mount::{FolderMount, seen};
