//! The five worked counts of fault-model.md, section 7, one count for each other line of its table,
//! and the worked counts of file-models.md: the disks that an unsynced change to simulated files can
//! leave.

use explode_ramdisk::files::{Fallocate, FileModel, Files, Granule, OpenFlags, Renaming};
use explode_ramdisk::{Event, Image, Recording, SimFiles, Storage};
use explode_runtime::crash::{Instants, SampleLimits, walk};
use explode_runtime::writeset::{DeviceRules, WriteSet};

/// Files on an empty disk, and their write set.
struct Machine {
    files: SimFiles,
    storage: Storage,
    write_set: WriteSet,
}

impl Machine {
    fn new() -> Machine {
        Machine::of(FileModel::Posix)
    }

    fn of(model: FileModel) -> Machine {
        let storage = Storage::new(Image::new(), Recording::On);
        let files = SimFiles::mount_as(model, storage.clone(), 0, Granule(4096))
            .expect("an empty disk is a file system");
        Machine { files, storage, write_set: WriteSet::new(Image::new(), DeviceRules::default()) }
    }

    /// Returns the numbers of crash disks of this instant: combinations and distinct images.
    fn disks(&mut self) -> (u64, usize) {
        let mut images = std::collections::BTreeSet::new();
        let mut write_set = self.write_set.clone();
        let events = self.storage.take_log();
        let counts =
            walk(&mut write_set, &events, Instants::Now, &SampleLimits::default(), |disk| {
                images.insert(disk.identity());
            })
            .expect("simulated files make a sound log");
        self.write_set = write_set;
        (u64::try_from(&counts.crash_disks).expect("few disks"), images.len())
    }

    fn write(&self, path: &str, byte: u8) {
        let fd = self.files.open(path, OpenFlags::CREATE).expect("open");
        self.files.pwrite(fd, 0, &[byte; 4096]).expect("write");
        self.files.close(fd).expect("close");
    }

    fn fsync(&self, path: &str) {
        let fd = self.files.open(path, OpenFlags::EXISTING).expect("open");
        self.files.fsync(fd).expect("fsync");
        self.files.close(fd).expect("close");
    }

    /// Writes a file and makes it durable.
    fn durable(&self, path: &str) {
        self.write(path, b'o');
        self.files.sync().expect("sync");
    }
}

#[test]
fn nothing_synced() {
    let mut machine = Machine::new();
    machine.write("/f", b'x');
    assert_eq!(machine.disks(), (8, 8));
}

#[test]
fn file_synced_and_then_its_directory() {
    let mut machine = Machine::new();
    machine.write("/f", b'x');
    machine.fsync("/f");
    assert_eq!(machine.disks(), (2, 2), "the name is not durable");
    machine.files.sync_dir("/").expect("sync_dir");
    assert_eq!(machine.disks(), (1, 1));
}

#[test]
fn a_block_written_twice() {
    let mut machine = Machine::new();
    machine.durable("/f");
    machine.write("/f", b'1');
    machine.write("/f", b'2');
    assert_eq!(machine.disks(), (3, 3));
}

#[test]
fn a_rename_over_a_durable_file() {
    let mut machine = Machine::new();
    machine.durable("/f");
    machine.write("/tmp", b'n');
    machine.fsync("/tmp");
    machine.files.rename("/tmp", "/f").expect("rename");
    assert_eq!(machine.disks(), (6, 4), "two versions of the old name look the same");
}

/// The name and the target are two changes. Fsync of the directory alone makes neither durable, and
/// sync makes both durable.
#[test]
fn a_symbolic_link_is_a_name_and_what_it_holds() {
    let mut machine = Machine::new();
    machine.files.symlink("target", "/s").expect("symlink");
    assert_eq!(machine.disks(), (4, 4));
    machine.files.sync_dir("/").expect("fsync");
    assert_eq!(machine.disks(), (2, 2));
    machine.files.sync().expect("sync");
    assert_eq!(machine.disks(), (1, 1));
}

/// Two modes after the first one, and two attributes. None of them is durable after fdatasync.
#[test]
fn modes_and_attributes_are_versions_of_their_own() {
    let mut machine = Machine::new();
    machine.durable("/f");
    assert_eq!(machine.disks(), (1, 1));
    machine.files.chmod("/f", 0o600).expect("chmod");
    machine.files.chmod("/f", 0o640).expect("chmod");
    assert_eq!(machine.disks(), (3, 3));
    machine.files.setxattr("/f", "user.a", b"a").expect("setxattr");
    machine.files.setxattr("/f", "user.b", b"b").expect("setxattr");
    assert_eq!(machine.disks(), (12, 12));
    let fd = machine.files.open("/f", OpenFlags::EXISTING).expect("open");
    machine.files.fdatasync(fd).expect("fdatasync");
    assert_eq!(machine.disks(), (12, 12));
    machine.files.fsync(fd).expect("fsync");
    assert_eq!(machine.disks(), (1, 1));
    machine.files.removexattr("/f", "user.b").expect("removexattr");
    assert_eq!(machine.disks(), (2, 2));
}

/// Either name may have changed without the other.
#[test]
fn an_exchange_is_two_changes_of_names() {
    let mut machine = Machine::new();
    machine.durable("/f");
    machine.durable("/g");
    machine.files.rename_with("/f", "/g", Renaming::Exchange).expect("exchange");
    assert_eq!(machine.disks(), (4, 4));
    machine.files.sync_dir("/").expect("fsync");
    assert_eq!(machine.disks(), (1, 1));
}

/// A file without a name has contents and a size. A link adds the name.
#[test]
fn a_file_that_was_made_without_a_name() {
    let mut machine = Machine::new();
    let fd = machine.files.open_unnamed("/").expect("open");
    machine.files.pwrite(fd, 0, &[1; 4096]).expect("write");
    assert_eq!(machine.disks(), (4, 4));
    machine.files.link_open(fd, "/f").expect("link");
    assert_eq!(machine.disks(), (8, 8));
    machine.files.fsync(fd).expect("fsync");
    assert_eq!(machine.disks(), (2, 2));
}

/// A hole is a write of zeroes.
#[test]
fn a_punched_hole_is_one_change() {
    let mut machine = Machine::new();
    machine.durable("/f");
    let fd = machine.files.open("/f", OpenFlags::EXISTING).expect("open");
    machine.files.fallocate(fd, Fallocate::PunchHole, 0, 4096).expect("fallocate");
    assert_eq!(machine.disks(), (2, 2));
    machine.files.fdatasync(fd).expect("fdatasync");
    assert_eq!(machine.disks(), (1, 1));
}

/// The worked counts of file-models.md: a file is made, written and renamed.
#[test]
fn a_renamed_file_under_each_model() {
    let rows = [
        (FileModel::Posix, 24, 16),
        (FileModel::Ext4, 12, 12),
        (FileModel::Xfs, 6, 6),
        (FileModel::Btrfs, 6, 6),
    ];
    for (model, disks, distinct) in rows {
        let mut machine = Machine::of(model);
        machine.write("/new", 1);
        machine.files.rename("/new", "/v").expect("rename");
        assert_eq!(machine.disks(), (disks, distinct), "{model}");
        machine.files.sync().expect("sync");
        assert_eq!(machine.disks().0, 1, "{model}");
    }
}

/// An appended record loses no disk, and each disk has it.
#[test]
fn an_appended_record_is_on_each_disk() {
    let bytes = |byte| vec![byte; 512].into();
    let log = [
        Event::Dirty { dev: 0, sector: 0, data: bytes(1) },
        Event::Append { dev: 1, sector: 8, data: bytes(2) },
        Event::Dirty { dev: 0, sector: 8, data: bytes(3) },
    ];
    let mut write_set = WriteSet::new(Image::new(), DeviceRules::default());
    let mut disks = 0;
    let counts = walk(&mut write_set, &log, Instants::Interval, &SampleLimits::default(), |disk| {
        disks += 1;
        let image = disk.image();
        assert_eq!(image.disk(1).expect("the record").sector(8), [2; 512]);
    })
    .expect("a sound log");
    assert_eq!((counts.crash_disks, disks), (4u32.into(), 4));
}
