//! The five worked counts of fault-model.md, section 7: what an unsynced change to simulated files can leave.

use explode_ramdisk::files::{Files, Granule, OpenFlags};
use explode_ramdisk::{Image, Recording, SimFiles, Storage};
use explode_runtime::crash::{Limits, When, walk};
use explode_runtime::writeset::{Rules, WriteSet};

/// Files on an empty disk, and the write set that follows them.
struct Machine {
    files: SimFiles,
    storage: Storage,
    write_set: WriteSet,
}

impl Machine {
    fn new() -> Machine {
        let storage = Storage::new(Image::new(), Recording::On);
        let files =
            SimFiles::mount(storage.clone(), 0, Granule(4096)).expect("an empty disk is a file system");
        Machine { files, storage, write_set: WriteSet::new(Image::new(), Rules::default()) }
    }

    /// Crash disks of this instant: combinations and distinct images.
    fn disks(&mut self) -> (u64, usize) {
        let mut images = std::collections::BTreeSet::new();
        let mut write_set = self.write_set.clone();
        let events = self.storage.take_log();
        let counts = walk(&mut write_set, &events, When::Now, &Limits::default(), |disk| {
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

    /// Writes a file so that nothing of it is pending.
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
