//! Calls that have changed a file system of the kernel, and their repetition: soft crashes on a
//! kernel (EX-80).
//!
//! EKM logs each call on a followed file system that has succeeded, with what it has written, in
//! the order in which the calls took effect, from any process. The state after the first of
//! them, after the first two, and so on is built by repeating them on the disks that the live stack
//! began with, on the crash side. These states become events of the log, as simulated files have
//! them: what differs on the disks, then the mark of the operation. So whatever is above the log
//! knows one kind of soft crash.
//!
//! Invariants: what has no effect is no call; a call that cannot be repeated is said, and nothing
//! is checked then.

mod call;
mod read;
mod repeat;
mod stores;

pub(crate) use call::{KernelCall, KernelCallKind};
pub(crate) use read::read;
pub(crate) use repeat::{CallReplay, CallReplayError};
pub(crate) use stores::MappedFiles;
