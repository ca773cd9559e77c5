//! Tests of each error of each call.

use explode_ramdisk::files::{Fd, FileKind, Granule, OpenFlags};
use explode_ramdisk::{Disk, Event, Files, Image, Recording, SECTOR_BYTES, SimFiles, Storage};
use nix::errno::Errno;

use crate::script::{SIZE_SECTOR, fresh, make, padded, slot};

/// Returns files with a file `/f`, an empty directory `/e`, and a directory `/d` that holds a file
/// `/d/f` and a directory `/d/e`.
fn tree() -> SimFiles {
    let files = fresh();
    files.mkdir("/e").unwrap();
    files.mkdir("/d").unwrap();
    files.mkdir("/d/e").unwrap();
    for path in ["/f", "/d/f"] {
        files.close(make(&files, path, b"x")).unwrap();
    }
    files.storage().take_log();
    files
}

type Call<'a> = (&'a str, &'a dyn Fn(&SimFiles, &str) -> Result<(), Errno>);

/// Every call that takes one path.
const ONE_PATH: [Call<'static>; 7] = [
    ("open", &|files, path| files.open(path, OpenFlags::CREATE).map(drop)),
    ("stat", &|files, path| files.stat(path).map(drop)),
    ("readdir", &|files, path| files.readdir(path).map(drop)),
    ("mkdir", &|files, path| files.mkdir(path)),
    ("rmdir", &|files, path| files.rmdir(path)),
    ("unlink", &|files, path| files.unlink(path)),
    ("sync_dir", &|files, path| files.sync_dir(path)),
];

/// Every call that takes two paths, once for each of them.
const TWO_PATHS: [Call<'static>; 4] = [
    ("link from", &|files, path| files.link(path, "/new")),
    ("link to", &|files, path| files.link("/f", path)),
    ("rename from", &|files, path| files.rename(path, "/new")),
    ("rename to", &|files, path| files.rename("/f", path)),
];

fn fail_everywhere(path: &str, error: Errno) {
    for (name, call) in ONE_PATH.iter().chain(&TWO_PATHS) {
        let files = tree();
        assert_eq!(call(&files, path), Err(error), "{name} {path:?}");
        assert_eq!(files.storage().take_log(), [], "{name} {path:?} changed something");
    }
}

#[test]
fn invalid_paths_are_refused() {
    for path in
        ["", "f", "d/f", "//", "//f", "/d/", "/d//f", "/.", "/..", "/./f", "/d/../f", "/a\0b"]
    {
        fail_everywhere(path, Errno::EINVAL);
    }
}

#[test]
fn names_that_are_too_long() {
    let longest = "n".repeat(255);
    fail_everywhere(&format!("/{longest}n"), Errno::ENAMETOOLONG);
    fail_everywhere(&format!("/{longest}n/f"), Errno::ENAMETOOLONG);
    fail_everywhere(&"/n".repeat(2048), Errno::ENAMETOOLONG);

    let files = tree();
    files.mkdir(&format!("/{longest}")).unwrap();
    files.mkdir(&format!("/{longest}/{longest}")).unwrap();
    assert_eq!(files.stat(&"/n".repeat(2047)), Err(Errno::ENOENT), "4094 bytes are a path");
}

#[test]
fn a_component_that_is_no_directory() {
    fail_everywhere("/missing/x", Errno::ENOENT);
    fail_everywhere("/d/missing/x", Errno::ENOENT);
    fail_everywhere("/f/x", Errno::ENOTDIR);
    fail_everywhere("/d/f/x/y", Errno::ENOTDIR);
}

/// Asserts that each call fails with this error on a fresh tree and changes nothing.
#[track_caller]
fn fails(error: Errno, call: impl Fn(&SimFiles) -> Result<(), Errno>) {
    let files = tree();
    assert_eq!(call(&files), Err(error));
    assert_eq!(files.storage().take_log(), []);
}

#[test]
fn open() {
    let exclusive = OpenFlags { create: true, exclusive: true, truncate: true };
    let cut = OpenFlags { truncate: true, ..OpenFlags::CREATE };
    fails(Errno::ENOENT, |files| files.open("/missing", OpenFlags::EXISTING).map(drop));
    for path in ["/f", "/e", "/"] {
        fails(Errno::EEXIST, |files| files.open(path, exclusive).map(drop));
    }
    for path in ["/e", "/"] {
        for flags in [OpenFlags::EXISTING, OpenFlags::CREATE, cut] {
            fails(Errno::EISDIR, |files| files.open(path, flags).map(drop));
        }
    }
}

#[test]
fn handles_that_are_not_open() {
    let files = tree();
    let closed = files.open("/f", OpenFlags::EXISTING).unwrap();
    files.close(closed).unwrap();
    for fd in [closed, Fd(1), Fd(u32::MAX)] {
        assert_eq!(files.close(fd), Err(Errno::EBADF));
        assert_eq!(files.pread(fd, 0, &mut [0]), Err(Errno::EBADF));
        assert_eq!(files.pwrite(fd, 0, b"x"), Err(Errno::EBADF));
        assert_eq!(files.pwrite(fd, 0, b""), Err(Errno::EBADF));
        assert_eq!(files.ftruncate(fd, 0), Err(Errno::EBADF));
        assert_eq!(files.fstat(fd), Err(Errno::EBADF));
        assert_eq!(files.fsync(fd), Err(Errno::EBADF));
        assert_eq!(files.fdatasync(fd), Err(Errno::EBADF));
    }
}

#[test]
fn handles_are_the_smallest_free_first() {
    let files = tree();
    let open = || files.open("/f", OpenFlags::EXISTING).unwrap();
    assert_eq!([open(), open(), open()], [Fd(0), Fd(1), Fd(2)]);
    files.close(Fd(1)).unwrap();
    files.close(Fd(0)).unwrap();
    assert_eq!([open(), open(), open()], [Fd(0), Fd(1), Fd(3)]);
}

#[test]
fn files_that_are_too_large() {
    let files = tree();
    let most = SIZE_SECTOR * SECTOR_BYTES as u64;
    let fd = files.open("/f", OpenFlags::EXISTING).unwrap();
    for offset in [most, most - 1, u64::MAX - 1, u64::MAX] {
        assert_eq!(files.pwrite(fd, offset, b"xx"), Err(Errno::EFBIG));
    }
    assert_eq!(files.ftruncate(fd, most + 1), Err(Errno::EFBIG));
    assert_eq!(files.ftruncate(fd, u64::MAX), Err(Errno::EFBIG));
    assert_eq!(files.storage().take_log(), []);
    files.pwrite(fd, most - 2, b"xx").unwrap();
    files.ftruncate(fd, most).unwrap();
    assert_eq!(files.fstat(fd).unwrap().size, most);
    let mut end = [7; 4];
    assert_eq!(files.pread(fd, most - 3, &mut end), Ok(3));
    assert_eq!(end, [0, b'x', b'x', 7]);
}

#[test]
fn directories() {
    for path in ["/f", "/d/f"] {
        fails(Errno::ENOTDIR, |files| files.readdir(path).map(drop));
        fails(Errno::ENOTDIR, |files| files.sync_dir(path));
        fails(Errno::ENOTDIR, |files| files.rmdir(path));
    }
    for path in ["/f", "/e", "/"] {
        fails(Errno::EEXIST, |files| files.mkdir(path));
    }
    fails(Errno::ENOENT, |files| files.readdir("/missing").map(drop));
    fails(Errno::ENOENT, |files| files.sync_dir("/missing"));
    fails(Errno::ENOENT, |files| files.stat("/missing").map(drop));
    fails(Errno::ENOENT, |files| files.rmdir("/missing"));
    fails(Errno::ENOTEMPTY, |files| files.rmdir("/d"));
    fails(Errno::EBUSY, |files| files.rmdir("/"));
}

#[test]
fn link_and_unlink() {
    fails(Errno::ENOENT, |files| files.link("/missing", "/new"));
    fails(Errno::EPERM, |files| files.link("/e", "/new"));
    fails(Errno::EPERM, |files| files.link("/", "/new"));
    for path in ["/f", "/d/f", "/e", "/"] {
        fails(Errno::EEXIST, |files| files.link("/f", path));
    }
    fails(Errno::ENOENT, |files| files.unlink("/missing"));
    fails(Errno::EPERM, |files| files.unlink("/e"));
    fails(Errno::EPERM, |files| files.unlink("/"));
}

#[test]
fn rename() {
    fails(Errno::ENOENT, |files| files.rename("/missing", "/new"));
    fails(Errno::EBUSY, |files| files.rename("/", "/new"));
    fails(Errno::EBUSY, |files| files.rename("/e", "/"));
    fails(Errno::EINVAL, |files| files.rename("/d", "/d/new"));
    fails(Errno::EINVAL, |files| files.rename("/d", "/d/e"));
    fails(Errno::EINVAL, |files| files.rename("/d", "/d/e/new"));
    fails(Errno::EISDIR, |files| files.rename("/f", "/e"));
    fails(Errno::EISDIR, |files| files.rename("/f", "/d"));
    fails(Errno::ENOTDIR, |files| files.rename("/e", "/f"));
    fails(Errno::ENOTEMPTY, |files| files.rename("/e", "/d"));
    fails(Errno::ENOTEMPTY, |files| files.rename("/d/e", "/d"));
}

#[test]
fn no_inode_is_left() {
    let last = (1 << 20) - 1;
    let image = Image::from_iter([(last - 1, Disk::from_bytes(&[1; SECTOR_BYTES]))]);
    let files = crate::script::on(image);
    files.mkdir("/last").unwrap();
    assert_eq!(files.stat("/last").unwrap().inode, last);
    files.storage().take_log();
    assert_eq!(files.mkdir("/more"), Err(Errno::ENOSPC));
    assert_eq!(files.open("/more", OpenFlags::CREATE), Err(Errno::ENOSPC));
    assert_eq!(files.storage().take_log(), []);
    assert_eq!(files.readdir("/").unwrap(), [("last".to_owned(), FileKind::Directory)]);
    assert_eq!(crate::script::on(files.storage().image()).mkdir("/more"), Err(Errno::ENOSPC));
}

fn mount(image: Image, base: u32, granule: u32) -> Result<(), Errno> {
    SimFiles::mount(Storage::new(image, Recording::On), base, Granule(granule)).map(drop)
}

#[test]
fn mount_takes_whole_sectors_and_devices_that_are_there() {
    for granule in [0, 1, 511, 513, 4095] {
        assert_eq!(mount(Image::new(), 0, granule), Err(Errno::EINVAL), "{granule}");
    }
    for granule in [512, 1536, 4096, 1 << 30] {
        assert_eq!(mount(Image::new(), 0, granule), Ok(()), "{granule}");
    }
    assert_eq!(mount(Image::new(), u32::MAX - ((1 << 20) - 1), 4096), Ok(()));
    assert_eq!(mount(Image::new(), u32::MAX - ((1 << 20) - 2), 4096), Err(Errno::EINVAL));
}

#[test]
fn damaged_slots() {
    let good = slot(FileKind::File, 1, "name");
    let changed = |at: usize, byte: u8| {
        let mut sector = good.to_vec();
        sector[at] = byte;
        sector
    };
    let one = |sector: &[u8]| Image::from_iter([(0, Disk::from_bytes(sector))]);
    assert_eq!(mount(one(&good), 0, 4096), Ok(()));
    for (what, sector) in [
        ("kind", changed(0, 4)),
        ("no kind", changed(0, 0)),
        ("no name", changed(1, 0)),
        ("name cut", changed(1, 3)),
        ("not UTF-8", changed(6, 0xff)),
        ("a byte behind the name", changed(511, 1)),
        ("the root", changed(2, 0)),
        ("inode 2^20", changed(4, 0x10)),
        ("the root as a directory", slot(FileKind::Directory, 0, "name").to_vec()),
        ("twice", [&good[..], &slot(FileKind::File, 2, "name")].concat()),
        ("two kinds", [&good[..], &slot(FileKind::Directory, 1, "other")].concat()),
    ] {
        assert_eq!(mount(one(&sector), 0, 4096), Err(Errno::EIO), "{what}");
    }
}

#[test]
fn damaged_sizes() {
    let with_size = |sector: &[u8]| {
        let mut disk = Disk::new();
        disk.write(SIZE_SECTOR, sector);
        Image::from_iter([(0, Disk::from_bytes(&slot(FileKind::File, 1, "f"))), (1, disk)])
    };
    let most = SIZE_SECTOR * SECTOR_BYTES as u64;
    assert_eq!(mount(with_size(&padded(&most.to_le_bytes(), SECTOR_BYTES)), 0, 4096), Ok(()));
    let more = padded(&(most + 1).to_le_bytes(), SECTOR_BYTES);
    assert_eq!(mount(with_size(&more), 0, 4096), Err(Errno::EIO));
    assert_eq!(mount(with_size(&[1; SECTOR_BYTES]), 0, 4096), Err(Errno::EIO));
    assert_eq!(
        mount(with_size(&padded(&[0, 0, 0, 0, 0, 0, 0, 0, 1], SECTOR_BYTES)), 0, 4096),
        Err(Errno::EIO)
    );
}

#[test]
fn a_fence_keeps_the_storage_as_it_is() {
    let files = tree();
    let before = files.storage().image().identity();
    files.storage().fence();
    let fd = make(&files, "/new", b"lost");
    files.fsync(fd).unwrap();
    files.rename("/new", "/f").unwrap();
    files.unlink("/d/f").unwrap();
    files.close(fd).unwrap();
    files.sync().unwrap();
    assert_eq!(files.storage().take_log(), Vec::<Event>::new());
    assert_eq!(files.storage().image().identity(), before);
}
