//! The sources of the RAM disk driver `rdd`, as data for the build of guests.

macro_rules! files {
    ($($name:literal,)*) => {
        &[$((concat!("ramdisk/kmod/", $name), include_bytes!(concat!("../kmod/", $name)))),*]
    };
}

/// The files of the driver: the path of each below the folder in which the modules are built, and
/// its bytes.
pub const RDD: &[(&str, &[u8])] = files![
    "Kbuild",
    "control.rs",
    "disk.rs",
    "fault.rs",
    "held.rs",
    "late.rs",
    "major.rs",
    "rdd.rs",
    "request.rs",
    "touched.rs",
];
