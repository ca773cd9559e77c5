//! The guest of explode: a kernel, explode's two kernel modules, an image, and QEMU.
//!
//! [`Builder`] makes each part once and keeps it in a [`Cache`]. Any user can do that, because
//! packages are unpacked and not installed. [`Guest::boot`] boots the parts with the running
//! program as the guest's agent, and opens the stream to it:
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
//! A guest starts the same way each time: one processor, no address randomisation, the same time of
//! day. The agent and EKM control the rest (the kernel's random numbers depend on the times of
//! interrupts). A guest leaves nothing on any disk, and ends with the process that started it. This
//! crate knows no component and no file system. `image/recipe.txt` lists the contents of the image,
//! `kernel/explode.config` the configuration of the kernel.
//!
//! # Rooms, bottom first
//!
//! Each module uses only modules that come before it in this list.
//!
//! - `base`: errors, progress, keys, files with guessable names, and child processes.
//! - `host`: the build machine's programs, and commands with their output.
//! - `cache`: the cache of build results, and the builds that fill it.
//! - `packages`: Debian's packages, and the recipes that name them.
//! - `build`: the context of every build: the cache, the options, and the receiver of progress.
//! - `tools`: the Rust compiler, libclang and bindgen that build kernels and modules.
//! - `kernel`: the guest's kernel, explode's own or one of the user's trees.
//! - `modules`: explode's kernel modules, those of callers, and drivers of the kernel's source.
//! - `image`: the guest's base image.
//! - `guest`: guests in QEMU: their parts, and how they run.
//! - `doctor`: a report on the requirements that this machine meets and lacks.
//! - `builder`: the type that builds every part.

mod base;
mod build;
mod builder;
mod cache;
mod doctor;
mod guest;
mod host;
mod image;
mod kernel;
mod modules;
mod packages;
mod tools;

pub use base::{
    BuildProgress, CacheKey, Result, Silent, VmError, VmErrorKind, kept_waiting, spawn,
};
pub use build::{BuildOptions, PACKAGES_VARIABLE};
pub use builder::{Builder, doctor};
pub use cache::Cache;
pub use doctor::{Requirement, RequirementState};
pub use guest::{
    AGENT_FOLDER, Accelerator, Agent, Guest, GuestFile, GuestReader, GuestSpec, GuestWriter,
    MemoryFile, WantedProgram, find_program, open_shared, qemu, shell, this_program,
};
pub use image::{GuestImage, RootFolder, Userland, archive_hash};
pub use kernel::{BuiltKernel, KernelSource};
pub use modules::Modules;
