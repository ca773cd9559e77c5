//! Runs unmodified programs on simulated files.
//!
//! The path of a call: a program writes to a [`Mount`]. The kernel sends the call as a request of
//! FUSE. `forward` hands it to the thread that owns the simulated files, where `server` makes the
//! call on [`SimFiles`](explode_ramdisk::SimFiles). The simulated files log the events that the
//! crash disks are made of, as for a system that runs in process.
//!
//! Simulated files belong to one thread. That thread never touches a mount: it answers requests
//! while it waits for the [`programs`] thread, which mounts, starts programs and waits for them, in
//! namespaces of its own. So nothing is left behind when any part is killed.
//!
//! # Rooms, bottom first
//!
//! - `hook`: functions that are called while a program runs
//! - `names`: names of any bytes, as text
//! - `queue`: a queue to one thread
//! - `server`: answers requests from simulated files
//! - `requests`: the requests that wait for the thread that owns the files
//! - `processor`: a processor for the programs and the owner of the files
//! - `root`: the root that programs see
//! - `space`: the namespaces in which programs run
//! - `guard`: a process that frees what waits for the files of a killed server
//! - `mappings`: stores through shared mappings
//! - `forward`: hands the requests of the kernel to the owner of the files
//! - `held_calls`: calls that FUSE does not see, and random numbers
//! - `marks`: lines that programs send while they run
//! - `programs`: the thread that mounts files and starts programs
//! - `resident`: programs that are started once and answer many questions

mod forward;
mod guard;
mod held_calls;
mod hook;
mod mappings;
mod marks;
mod names;
mod processor;
mod programs;
mod queue;
mod requests;
mod resident;
mod root;
mod server;
mod space;

pub use marks::{MARKS, MarkHook};
pub use programs::{Mount, Program, ProgramHooks, environment, is_serving, run};
pub use resident::{Answer, Resident};
pub use server::CallHook;
pub use space::{Allowed, private_in};
