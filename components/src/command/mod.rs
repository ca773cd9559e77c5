//! Components made of shell commands, and the private folder and the simulated files on which they
//! can run without a guest kernel.
//!
//! Their definitions are options ([`def`]). They are in the plan and in every trace, so a replay
//! needs nothing else. `docs/reference/stack-files.md` describes the commands. Invariants: a
//! definition is complete when it is built, so that a wrong command is found early. A command sees
//! its layer only by paths. On a crash disk its calls of sync(2) do nothing.

mod component;
pub mod files;
pub mod folder;
mod marks;
mod no_sync;
mod placeholders;
mod private;
mod program_root;
mod resident;
mod rootfs;
mod run;

pub use component::{KEYS, NAME, PROVIDES, def};
pub use marks::MarkLine;
pub use no_sync::{forget_sync, run_without_sync};
pub use placeholders::{CommandOwner, check as check_placeholders, fill_checker};
pub use private::sweep;
pub use program_root::{ProgramRoot, set_program_root};
pub use resident::{ResidentVerdict, ask_resident};
pub use rootfs::show_in_rootfs;
pub use run::{
    CommandResult, LiveCommand, OutputMode, Variable, VariableValue, hold_clock, run, run_live,
    run_with_requests,
};
