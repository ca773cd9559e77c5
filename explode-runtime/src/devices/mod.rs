//! What a stack stands on: simulated devices in process, or those of another backend.
//!
//! A [`Backend`] makes sets of devices ([`DiskSet`]) that hold a given image, as often as it is
//! asked. There are two sets at any time: one under the live stack, one under the stack that is
//! brought up on a crash disk (EX-48). Each kind gives the same two things, so that the rooms above
//! need not know where they run: the event log, and the image. [`InProcess`] is the backend without
//! a kernel.

mod backend;
mod disk_set;
mod in_process;
mod kernel_side;
mod side;
mod soft_crash;

pub use backend::{Backend, Backends, HostId, IMAGE, NOW};
pub use disk_set::{Devices, DiskSet};
pub use in_process::{InProcess, task_exists};
pub use kernel_side::KernelSide;
pub use side::Side;
pub use soft_crash::{OnStack, SoftCrashLog};
