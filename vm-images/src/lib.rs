//! The guest of explode: a kernel, explode's two kernel modules, an image, and QEMU.
//!
//! [`Builder`] makes the parts, each once, and keeps them in a [`Cache`]; any user can do that, since packages are unpacked and not
//! installed. [`Guest::boot`] puts them together with the running program as the guest's agent, and gives the stream to it:
//!
//! ```no_run
//! use explode_vm::{Agent, BuildOptions, Builder, Cache, Guest, GuestSpec, KernelSource, Silent};
//!
//! # fn main() -> explode_vm::Result<()> {
//! let (cache, options) = (Cache::of_user()?, BuildOptions::of_environment()?);
//! let builder = Builder { cache: &cache, options: &options, progress: &Silent };
//! let kernel = builder.kernel(&KernelSource::Debian)?;
//! let mut spec = GuestSpec::new(&kernel, &builder.image()?.file);
//! spec.modules = Some(builder.modules(&kernel)?);
//! spec.accelerator = builder.accelerator(&kernel, &spec.image)?;
//! spec.agent = Some(Agent::this_program(["agent"]));
//! let mut guest = Guest::boot(&spec)?;
//! let (reader, writer) = guest.take_stream().expect("taken once");
//! # Ok(())
//! # }
//! ```
//!
//! A guest starts the same way each time: one processor, no address randomisation, the same time of day. What is left (the kernel's
//! random numbers take in when interrupts arrive) is the agent's and EKM's to settle. A guest leaves nothing on any disk, and ends with the process that has started it. This crate knows no component and no file system: what is in
//! the image is written in `image/recipe.txt`, what is in the kernel in `kernel/explode.config`.
//!
//! # Rooms, bottom first
//!
//! - `error`: errors and advice
//! - `progress`: the receiver of progress
//! - `key`: keys of cache entries
//! - `complaints`: the lines of a build's output that explain a failure
//! - `spawn`: child processes that end with their parent
//! - `waiting`: time in which a process could run
//! - `cache`: the cache of what was built
//! - `command`: the commands of a build
//! - `host`: the programs and headers that builds need
//! - `packages`: Debian packages
//! - `image`: the guest's base image
//! - `tools`: the compiler, libclang and bindgen
//! - `options`: what a caller may change about builds
//! - `builder`: the type that builds every part
//! - `kernel`: the guest's kernel
//! - `uses`: cache entries that were built from files of the user's tree
//! - `modules`: explode's kernel modules
//! - `drivers`: drivers of the kernel's source
//! - `guest`: guests in QEMU
//! - `doctor`: a report on what this machine has and lacks

mod builder;
mod cache;
mod command;
mod complaints;
mod doctor;
mod drivers;
mod error;
mod guest;
mod host;
mod image;
mod kernel;
mod key;
mod modules;
mod options;
mod packages;
mod progress;
mod spawn;
mod tools;
mod uses;
mod waiting;

pub use builder::Builder;
pub use cache::Cache;
pub use doctor::{Check, State, doctor};
pub use error::{Kind, Result, VmError};
pub use guest::{
    AGENT_FOLDER, Accelerator, Agent, Guest, GuestFile, GuestReader, GuestSpec, GuestWriter, MemoryFile,
    Wanted, find_program, qemu, shell, this_program,
};
pub use image::Image;
pub use kernel::{Kernel, KernelSource};
pub use key::Key;
pub use modules::Modules;
pub use options::{BuildOptions, PACKAGES_VARIABLE};
pub use progress::{Progress, Silent};
pub use spawn::spawn;
pub use waiting::kept_waiting;
