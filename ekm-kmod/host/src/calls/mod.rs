//! Calls that have changed a file system of the kernel, and their repetition, for soft crashes on a
//! kernel (EX-80).
//!
//! EKM logs each successful call of any process on a followed file system, with the written data,
//! in the order in which the calls took effect. On the crash side the calls are repeated on the
//! initial disks of the live stack, which gives the state after the first call, after the first
//! two, and so on. These states become events of the log in the same form as those of simulated
//! files: the changed sectors, then the mark of the operation. Code above the log therefore handles
//! only one kind of soft crash.
//!
//! Invariants: a call without effect is not logged. A call that cannot be repeated is reported, and
//! nothing is checked then.

mod call;
mod read;
mod repeat;
mod stores;

pub(crate) use call::{KernelCall, KernelCallKind};
pub(crate) use read::read;
pub(crate) use repeat::{CallReplay, CallReplayError};
pub(crate) use stores::MappedFiles;
