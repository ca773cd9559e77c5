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
//!
//! # Rooms, bottom first
//!
//! - `base`: options, errors, exit codes, counts, and the files that explode writes
//! - `choose`: choice points, choices and the chooser
//! - `events`: the event log, its file formats, and the log of file-system calls
//! - `writeset`: the writes that a crash may keep or lose
//! - `dedup`: the states and checks that are known
//! - `crash`: the crash disks of an interval: counted, enumerated, sampled
//! - `explore`: strategies: the choices to try next
//! - `verdict`: verdicts, violations, promises and demands
//! - `faults`: the menus of what may fail: blocks of a medium, functions of the kernel, its background work
//! - `devices`: the devices below a stack: in process, or the kernel's
//! - `stack`: components, stacks, and their recovery
//! - `check`: checkers
//! - `plan`: the registry, plans and their settings, rows and columns of the matrix
//! - `skip`: verdicts that are known from another crash disk
//! - `pipeline`: one crash disk, recovered, mounted and checked
//! - `trace`: traces and their replay
//! - `report`: the messages of a run and their human form
//! - `run`: units of work, workers, and the run folder
//! - `explain`: explanations of a trace
//! - `minimise`: smaller traces with the same error
//! - `script`: shell and xfstests scripts of a trace
//! - `crash_test`: a crash test as a `#[test]`

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
