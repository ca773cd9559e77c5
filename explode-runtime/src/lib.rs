//! The engine of explode: it runs a storage system, treats everything that may go one way or
//! another as a choice, builds every disk that a crash could leave, recovers each one, and checks
//! that what was promised is still there.
//!
//! The way of the data, from an operation to a verdict:
//!
//! ```text
//! explore    names a unit: a state, choices that lead on from it, how many mutates
//! run        hands it to a worker
//! unit       restores the state on a fresh stack, and calls mutate; choices come from the script
//! devices    log what the system does
//! writeset   follows the events: durable bytes, and pieces that are pending
//! crash      enumerates the disks that a crash could leave
//! judge      recovers, mounts and checks each disk, and those of crashes during its recovery
//! run        merges the results: counts, states, findings
//! trace      has all that leads to a finding; a replay confirms it before it is reported
//! ```
//!
//! What a crash can leave is written down in `docs/model/fault-model.md`.
//!
//! # Rooms, bottom first
//!
//! - [`base`]: options, errors, exit codes, counts, durable files, panics, words of a shell
//! - [`choose`]: choice points, choices, policies, and the chooser that answers
//! - [`events`]: the event log, its file formats, event summaries, the log of calls on files
//! - [`writeset`]: what could be on disk after a log
//! - [`dedup`]: sets of keys and of states
//! - [`crash`]: crash disks of an interval: counted, sampled, enumerated
//! - [`explore`]: strategies: which unit comes next
//! - [`verdict`]: verdicts, violations, promises, demands, steps and deaths of a worker
//! - [`faults`]: menus of what may fail: blocks of a medium, kernel functions, background work
//! - [`devices`]: what a stack stands on: backends and their disks; the backend in process
//! - [`stack`]: components, stacks of them, and the components by name
//! - [`check`]: checkers, and what a mutate works with
//! - [`plan`]: what is to be run: registry, targets, plans, the matrix
//! - [`judge`]: one crash disk: recovered, mounted, checked; nested crashes, equivalence
//! - [`trace`]: the trace file, and what leads to an error
//! - [`report`]: messages and their human form
//! - `unit`: one unit of work: restore, mutate, chop
//! - [`worker`]: units, replays and probe sessions in a worker, and the wire to it
//! - [`run`]: the supervisor: units handed out and merged, findings, journal, run folder
//! - [`explain`]: the critical write, the story of a trace, smaller traces
//! - [`script`]: shell and xfstests scripts of a trace
//! - [`crash_test`]: all of it in a test of a program of your own
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
