//! Components made of shell commands, and the private folder that they can run on without a kernel
//! of ours.
//!
//! Their definitions are options ([`def`]): they stand in the plan and in every trace, so a replay
//! needs nothing else. What the commands mean is in `docs/reference/stack-files.md`. Invariants: a
//! definition is whole when it is built (a command that cannot be run is found before); a command
//! sees its layer only by paths; on a crash disk its calls of sync(2) do nothing.

mod component;
pub mod folder;
mod marks;
mod no_sync;
mod placeholders;
mod private;
mod run;

pub use component::{KEYS, NAME, def};
pub use no_sync::{forget_sync, run_without_sync};
pub use placeholders::{CommandOwner, check as check_placeholders, fill_checker};
pub use private::sweep;
pub use run::{CommandResult, OutputMode, hold_clock, run, run_hearing};
