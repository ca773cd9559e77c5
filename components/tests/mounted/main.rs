//! Tests that the same calls on simulated files and on a mounted directory have the same results,
//! except where POSIX leaves the result open.

mod directory;
mod random_calls;
mod same_calls;

use std::path::Path;

use explode_components::mounted::MountedFiles;
use explode_ramdisk::files::{Files, Granule, OpenFlags, SimFiles};
use explode_ramdisk::{Image, Recording, Storage};
use tempfile::TempDir;

const EXCLUSIVE: OpenFlags = OpenFlags { create: true, exclusive: true, truncate: false };

fn simulated() -> SimFiles {
    let storage = Storage::new(Image::new(), Recording::Off);
    SimFiles::mount(storage, 0, Granule::default()).unwrap()
}

/// Makes a directory, on tmpfs if there is one, because its inode numbers are small whatever the
/// machine's other file systems do.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Runs a test on simulated files and on a mounted directory.
fn on_both(body: impl Fn(&dyn Files)) {
    body(&simulated());
    let directory = directory();
    body(&MountedFiles::new(directory.path()).unwrap());
}
