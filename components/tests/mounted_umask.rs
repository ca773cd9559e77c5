//! Modes do not depend on the umask. It belongs to the whole process, so this test is a binary of
//! its own.

use std::os::unix::fs::PermissionsExt;

use explode_components::mounted::MountedFiles;
use explode_ramdisk::files::{Files, OpenFlags};
use nix::sys::stat::{Mode, umask};

#[test]
fn modes_do_not_depend_on_the_umask() {
    let directory = tempfile::tempdir().unwrap();
    let files = MountedFiles::new(directory.path()).unwrap();
    let strict = Mode::from_bits_truncate(0o077);
    umask(strict);
    files.mkdir("/d").unwrap();
    files.open("/f", OpenFlags::CREATE).unwrap();
    assert_eq!(umask(strict), strict, "it is left as it was");
    let mode =
        |name: &str| std::fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
    assert_eq!((mode("d") & 0o7777, mode("f") & 0o7777), (0o755, 0o644));
}
