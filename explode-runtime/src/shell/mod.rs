//! Components and checkers made of shell commands, and the private folder that they can run on without a kernel of ours.
//!
//! Their definitions are options ([`COMPONENT`], [`CHECKER`]): they stand in the plan and in every trace, so a replay needs nothing
//! else. What the commands mean is in `docs/stack-files.md`. Invariants: a definition is whole when it is built (a command that
//! cannot be run is found before); a command sees its layer only by paths; on a crash disk its calls of sync(2) do nothing.

mod carried;
mod checker;
mod command;
mod component;
mod folder;
mod no_sync;
mod placeholders;
mod private;
mod steps;

pub use carried::{Carried, carried};
pub use checker::{DEF as CHECKER, is_of_commands};
pub use command::hold_clock;
pub use component::{COMMANDS, DEF as COMPONENT};
pub use folder::DEF as FOLDER;
pub use no_sync::{forget_sync, run_without_sync};
pub use placeholders::{Context, check as check_placeholders};
pub use private::sweep;
pub use steps::{check_arguments, check_intervals};
