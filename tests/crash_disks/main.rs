//! `explode crash-disks`: the crash disks of an event log.

#[path = "../common/mod.rs"]
mod common;

mod counts;
mod dm_log_writes;
mod golden;
mod options;
mod qemu;
mod sampling;
