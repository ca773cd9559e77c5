//! Guests: their parts, their start in QEMU, and the accelerator that runs their instructions.

mod accelerator;
mod agent;
mod clock;
mod identity;
mod initrd;
mod memory;
mod monitor;
mod probe;
mod programs;
mod qemu;
mod running;
mod shared;
mod shell;
mod snapshot;
mod spec;

pub use accelerator::Accelerator;
pub use agent::{Agent, FOLDER as AGENT_FOLDER, this_program};
pub use memory::MemoryFile;
pub(crate) use probe::{
    can_open as can_open_kvm, get as accelerator, remembered as accelerator_remembered,
};
pub use programs::{WantedProgram, find_program};
pub use qemu::program as qemu;
pub use running::{Guest, GuestReader, GuestWriter};
pub use shared::open_shared;
pub use shell::shell;
pub use spec::{GuestFile, GuestSpec};
