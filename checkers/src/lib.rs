//! Checkers by family: each drives one kind of system and checks what must survive a crash.
//!
//! # Rooms, bottom first
//!
//! - `command`: checkers made of shell commands
//! - `db`: databases
//! - `fs`: file systems
//! - `kv`: key-value stores
//! - `vcs`: programs that keep versions of files
//! - `vdisk`: block devices
//! - `targets`: the targets, read from tables

pub mod command;
pub mod db;
pub mod fs;
pub mod kv;
mod targets;
pub mod vcs;
pub mod vdisk;

use explode_runtime::plan::Registry;

/// Adds all checkers, the columns of the matrix, and the targets of all tables.
pub fn register(registry: &mut Registry) {
    registry.checkers.extend([
        command::def(),
        db::transactions::def(),
        fs::atomic::def(),
        fs::basic::def(),
        fs::sync::def(),
        fs::failures::def(),
        fs::sync_methods::def(),
        fs::reasonable::def(),
        fs::replaced::def(),
        fs::moved::def(),
        fs::workloads::def(),
        kv::commits::def(),
        vcs::merge::def(),
        vdisk::blocks::def(),
    ]);
    registry.columns.extend(fs::matrix_columns::columns());
    registry.targets.add_tables(targets::read);
}
