//! The devices below a stack: simulated devices in process, or those of another backend.
//!
//! A [`Backend`] makes sets of devices ([`DiskSet`]) that hold a given image. Two sets exist at any
//! time: one under the live stack, and one under the stack that is started on a crash disk (EX-48).
//! Each set supplies the event log and the image, so the rooms above do not depend on the backend.
//! [`InProcess`] is the backend without a kernel.

mod backend;
mod disk_set;
mod in_process;
mod kernel_side;
mod side;
mod soft_crash;

pub use backend::{Backend, Backends, HostId, IMAGE, NOW};
pub use disk_set::{Devices, DiskSet};
pub use in_process::{InProcess, task_exists};
pub use kernel_side::{KernelSide, TICK};
pub use side::Side;
pub use soft_crash::{OnStack, SoftCrashLog};
