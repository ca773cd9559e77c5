//! Storage systems as components. Each can make, mount, unmount and repair one system over its
//! children, and declares what that system promises.
//!
//! # Rooms, bottom first
//!
//! - `forward`: file calls that are forwarded to the files below
//! - `mounted`: the files of a mounted file system
//! - `command`: components made of shell commands, and the private folder below them
//! - `tool`: programs that make and repair layers, with time and random numbers held still
//! - `vdisk`: block devices
//! - `raid`: arrays of disks
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
pub mod mounted;
#[cfg(test)]
#[path = "../../ramdisk/tests/files/noting.rs"]
mod noting;
pub mod raid;
mod tool;
pub mod vdisk;

use explode_runtime::plan::Registry;
#[cfg(not(feature = "engines"))]
use explode_runtime::stack::FeatureGated;

/// Registers all components.
pub fn register(registry: &mut Registry) {
    registry.components.extend([
        vdisk::ramdisk::def(),
        raid::md::def(),
        fs::simfiles::def(),
        command::files::def(),
        command::folder::def(),
        command::def(),
        fs::kernel::ext::ext2::def(),
        fs::kernel::ext::ext4::def(),
        fs::kernel::ext::ext3::def(),
        fs::kernel::fat::vfat::def(),
        fs::kernel::fat::msdos::def(),
        fs::kernel::minix::def(),
        fs::kernel::xfs::def(),
        fs::kernel::btrfs::def(),
        fs::kernel::f2fs::def(),
        fs::kernel::exfat::def(),
        fs::kernel::udf::def(),
        fs::kernel::reiserfs::def(),
        fs::kernel::overlay::def(),
        fs::kernel::nilfs2::def(),
        fs::kernel::ntfs3::def(),
        fs::kernel::jfs::def(),
        fs::kernel::hfs::def(),
        broken::lying_sync::def(),
        broken::rename_in_steps::def(),
        broken::rewriting::def(),
        broken::toyfs::def(),
        broken::kv::wal::def(),
        broken::kv::rename::def(),
        broken::kv::journal::def(),
        broken::raid::mirror::def(),
        broken::raid::parity::def(),
        broken::merge::def(),
        db::sqlite::def(),
        engine::flash::def(),
    ]);
    registry.rows.extend(fs::kernel::systems());
    register_engines(registry);
}

#[cfg(feature = "engines")]
fn register_engines(registry: &mut Registry) {
    registry.components.extend([
        engine::ekv::def(),
        engine::fatfs::def(),
        engine::littlefs::def(),
        engine::redb::def(),
        engine::sequential_storage::def(),
    ]);
}

/// Registers the names of engines that this build lacks, so that an error can name the feature.
#[cfg(not(feature = "engines"))]
fn register_engines(registry: &mut Registry) {
    registry
        .components
        .absent
        .extend(engine::HEAVY.iter().map(|name| FeatureGated { name, feature: "engines" }));
}
