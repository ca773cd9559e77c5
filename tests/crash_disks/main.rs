//! `explode crash-disks`: the disks that a crash can leave, from an event log alone.

#[path = "../common/mod.rs"]
mod common;

mod counts;
mod dm_log_writes;
mod golden;
mod options;
mod qemu;
mod sampling;
