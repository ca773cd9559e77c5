//! The engine of explode: it runs a storage system, treats everything that may go one way or another as a choice, builds every
//! disk that a crash could leave, recovers each one, and checks that what was promised is still there.
//!
//! The way of the data is the order of the modules; [`pipeline`] is the picture of it in code:
//!
//! ```text
//! base                   the files that are written
//! choose -> explore      which way to go next
//! events -> writeset     what could be on disk, or not
//! crash                  the crash disks: enumerated, de-duplicated, counted
//! media                  blocks that go bad, as choices
//! failures               functions of the kernel that fail, as choices
//! calls                  calls of the kernel, repeated on crash disks for soft crashes
//! devices                what stacks stand on: in process, or the kernel's
//! recover -> check       stacks, checkers, verdicts
//! skip                   verdicts that are known already
//! trace -> report        what is found replays, and is told
//! explain -> minimise    what of a trace matters, and a smaller one
//! script                 what a trace shows, without us
//! run                    plans, units of work, the run folder, exit codes
//! crash_test             all of it in a test of somebody else's program
//! ```
//!
//! What a crash can leave is written down in `docs/fault-model.md`.

pub mod base;
pub mod check;
pub mod choose;
pub mod crash;
pub mod crash_test;
pub mod dedup;
pub mod devices;
pub mod events;
pub mod explain;
pub mod explore;
pub mod faults;
pub mod judge;
pub mod plan;
pub mod report;
pub mod run;
pub mod script;
pub mod stack;
pub mod trace;
pub mod unit;
pub mod verdict;
pub mod worker;
pub mod writeset;
