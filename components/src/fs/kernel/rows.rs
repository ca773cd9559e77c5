//! The file systems as rows of the matrix, and the drivers that a guest loads for them.

use explode_runtime::base::Options;
use explode_runtime::plan::MatrixRow as Row;
use explode_runtime::stack::StackSpec;

use super::ext::{ext2, ext3, ext4};
use super::fat::{msdos, vfat};
use super::{btrfs, exfat, f2fs, hfs, jfs, minix, nilfs2, ntfs3, overlay, reiserfs, udf, xfs};

/// The components whose drivers are not built into explode's kernel, because only some stacks need
/// them. The drivers have the names of the components.
const LOADED: &[&str] = &[
    btrfs::NAME,
    exfat::NAME,
    f2fs::NAME,
    hfs::NAME,
    jfs::NAME,
    nilfs2::NAME,
    ntfs3::NAME,
    overlay::NAME,
    reiserfs::NAME,
    udf::NAME,
    xfs::NAME,
];

/// Returns the drivers that a guest must load for a stack.
pub fn drivers(stack: &StackSpec) -> Vec<&'static str> {
    let components = stack.components();
    LOADED.iter().copied().filter(|loaded| components.contains(loaded)).collect()
}

/// Returns the file systems as rows of the matrix, each on a disk. btrfs, F2FS, ReiserFS, NILFS2
/// and NTFS need a large one.
pub fn systems() -> Vec<Row> {
    // ext3 uses ext4's driver. MSDOS and VFAT share one.
    let driver = |name| match name {
        "ext3" | "ext2-by-ext4" => ext4::NAME,
        "msdos" | "vfat" => "fat",
        name => name,
    };
    let row = |name, component: &str, disk, options| Row {
        name,
        driver: driver(name),
        stack: StackSpec::default().plug("ramdisk", disk).plug(component, options),
    };
    let plain = |name| row(name, name, Options::none(), Options::none());
    let sized = |name, size| row(name, name, Options::none().with("size", size), Options::none());
    let large = |name| sized(name, "160MiB");
    let ext4 = row(overlay::NAME, ext4::NAME, Options::none(), Options::none());
    let by_ext4 = Options::none().with("driver", "ext4");
    vec![
        plain(ext2::NAME),
        row("ext2-by-ext4", ext2::NAME, Options::none(), by_ext4),
        plain(ext3::NAME),
        plain(ext4::NAME),
        large(reiserfs::NAME),
        plain(jfs::NAME),
        plain(xfs::NAME),
        large(btrfs::NAME),
        large(f2fs::NAME),
        plain(msdos::NAME),
        plain(vfat::NAME),
        plain(exfat::NAME),
        plain(hfs::NAME),
        plain(minix::NAME),
        plain(udf::NAME),
        large(nilfs2::NAME),
        sized(ntfs3::NAME, "32MiB"),
        Row { stack: ext4.stack.plug(overlay::NAME, Options::none()), ..ext4 },
    ]
}
