//! The engine of explode. It runs a storage system, treats every event with more than one outcome
//! as a choice, builds every crash disk, recovers each one, and checks that the promises hold.
//!
//! The path of the data from an operation to a verdict:
//!
//! ```text
//! explore    names a unit: a state, the choices that follow it, the number of mutates
//! run        hands the unit to a worker
//! unit       restores the state on a fresh stack and calls mutate; choices come from the script
//! devices    log what the system does
//! writeset   follows the events: durable bytes and pending pieces
//! crash      enumerates the crash disks
//! judge      recovers, mounts and checks each crash disk and the crash-crash disks behind it
//! run        merges the results: counts, states, findings
//! trace      records everything that leads to a finding; a replay confirms it before the report
//! ```
//!
//! `docs/model/fault-model.md` defines which crash disks are possible.
//!
//! # Rooms, bottom first
//!
//! - [`base`]: options, errors, exit codes, counts, durable files, panics, shell words
//! - [`choose`]: choice points, choices, policies, and the chooser that makes them
//! - [`events`]: the event log, its file formats, event summaries, the log of calls on files
//! - [`writeset`]: the possible contents of the disks after a log
//! - [`dedup`]: sets of keys and of states
//! - [`crash`]: crash disks of an interval: counted, sampled, enumerated
//! - [`explore`]: strategies: the order of units
//! - [`verdict`]: verdicts, violations, promises, demands, steps and deaths of a worker
//! - [`faults`]: menus of possible failures: blocks of a medium, kernel functions, background work
//! - [`devices`]: backends and their disks, on which a stack is built; the in-process backend
//! - [`stack`]: components, stacks of them, and the components by name
//! - [`check`]: checkers and the context of a mutate
//! - [`plan`]: the input of a run: registry, targets, plans, the matrix
//! - [`judge`]: one crash disk: recovered, mounted, checked; nested crashes, equivalence
//! - [`trace`]: the trace file and the choices that lead to an error
//! - [`report`]: messages and their human form
//! - `unit`: one unit of work: restore, mutate, chop
//! - [`worker`]: units, replays and probe sessions in a worker, and the wire to it
//! - [`run`]: the supervisor: units handed out and merged, findings, journal, run folder
//! - [`explain`]: the critical write, the story of a trace, smaller traces
//! - [`script`]: shell and xfstests scripts of a trace
//! - [`crash_test`]: crash tests inside a Rust test
//! - [`prelude`]: the names that a component, a checker and their targets need

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
pub mod prelude;
pub mod report;
pub mod run;
pub mod script;
pub mod stack;
pub mod trace;
pub mod unit;
pub mod verdict;
pub mod worker;
pub mod writeset;
