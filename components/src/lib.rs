//! Storage systems as components: each knows how to make, mount, unmount and repair one system over its children, and what
//! that system promises.
//!
//! # Rooms, bottom first
//!
//! - `forward`: file calls that go on to the files below
//! - `command`: components made of shell commands, and the private folder below them
//! - `vdisk`: block devices
//! - `fs`: file systems
//! - `db`: databases
//! - `engine`: storage engines in process
//! - `broken`: components with seeded bugs, and their fixed twins

pub mod broken;
pub mod command;
pub mod db;
pub mod engine;
mod forward;
pub mod fs;
#[cfg(test)]
#[path = "../../ramdisk/tests/files/noting.rs"]
mod noting;
pub mod vdisk;

use explode_runtime::plan::Registry;
#[cfg(not(feature = "engines"))]
use explode_runtime::stack::Absent;

/// Adds all components.
pub fn register(registry: &mut Registry) {
    registry.components.extend([
        vdisk::ramdisk::DEF,
        fs::simfiles::DEF,
        command::folder::DEF,
        command::DEF,
        fs::kernel::ext::ext2::DEF,
        fs::kernel::ext::ext4::DEF,
        fs::kernel::ext::ext3::DEF,
        fs::kernel::fat::vfat::DEF,
        fs::kernel::fat::msdos::DEF,
        fs::kernel::minix::DEF,
        fs::kernel::xfs::DEF,
        fs::kernel::btrfs::DEF,
        fs::kernel::f2fs::DEF,
        fs::kernel::exfat::DEF,
        fs::kernel::udf::DEF,
        fs::kernel::reiserfs::DEF,
        fs::kernel::overlay::DEF,
        fs::kernel::nilfs2::DEF,
        fs::kernel::ntfs3::DEF,
        fs::kernel::jfs::DEF,
        fs::kernel::hfs::DEF,
        broken::lying_sync::DEF,
        broken::rename_in_steps::DEF,
        broken::rewriting::DEF,
        broken::toyfs::DEF,
        broken::kv::wal::DEF,
        broken::kv::rename::DEF,
        broken::kv::journal::DEF,
        broken::raid::mirror::DEF,
        broken::raid::parity::DEF,
        broken::merge::DEF,
        db::sqlite::DEF,
        engine::flash::DEF,
    ]);
    registry.systems.extend(fs::kernel::systems());
    register_engines(registry);
}

#[cfg(feature = "engines")]
fn register_engines(registry: &mut Registry) {
    registry.components.extend([
        engine::ekv::DEF,
        engine::fatfs::DEF,
        engine::littlefs::DEF,
        engine::redb::DEF,
        engine::sequential_storage::DEF,
    ]);
}

/// Their names are known all the same.
#[cfg(not(feature = "engines"))]
fn register_engines(registry: &mut Registry) {
    registry.components.absent.extend(engine::HEAVY.iter().map(|name| Absent { name, feature: "engines" }));
}
