//! Checkers by family: each drives one kind of system and knows what must survive a crash.
//!
//! # Rooms, bottom first
//!
//! - `command`: checkers made of shell commands
//! - `db`: databases
//! - `fs`: file systems
//! - `kv`: key-value stores
//! - `vcs`: programs that keep versions of files
//! - `vdisk`: block devices, and the targets on them
//! - `engines`: targets on storage engines of others

pub mod command;
pub mod db;
#[cfg(feature = "engines")]
mod engines;
pub mod fs;
pub mod kv;
pub mod vcs;
pub mod vdisk;

use explode_runtime::plan::Registry;

/// Adds all checkers and the targets that they make with our components.
pub fn register(registry: &mut Registry) {
    registry.checkers.extend([
        command::def(),
        db::transactions::def(),
        fs::atomic::def(),
        fs::basic::def(),
        fs::sync::def(),
        fs::failures::def(),
        fs::ways::def(),
        fs::reasonable::def(),
        fs::replaced::def(),
        fs::moved::def(),
        kv::commits::def(),
        vcs::merge::def(),
        vdisk::blocks::def(),
    ]);
    registry.targets.extend(db::targets::sqlite());
    registry.targets.extend(kv::targets::targets());
    registry.targets.extend(fs::basic::targets());
    registry.targets.extend(fs::sync::targets());
    registry.targets.extend(fs::failures::targets());
    registry.targets.extend(fs::ways::targets());
    registry.targets.extend(fs::reasonable::targets());
    registry.targets.extend(fs::replaced::targets());
    registry.targets.extend(fs::moved::targets());
    registry.targets.extend(fs::more::targets());
    registry.targets.extend(fs::toyfs::targets());
    registry.targets.extend(vdisk::targets::targets());
    registry.targets.extend(vdisk::targets::systems());
    registry.targets.extend(vcs::merge::targets());
    registry.targets.extend(fs::kernel::targets());
    registry.questions.extend(fs::questions::questions());
    #[cfg(feature = "engines")]
    registry.targets.extend(engines::targets());
}
