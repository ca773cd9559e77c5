//! Cases about file systems: the log contains all events between them and the disk.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::*;
use nix::mount::{MsFlags, mount, umount};

use crate::Case;
use crate::Outcome::{self, Note, Skip};
use crate::device::{Disk, Ekm, Record};

pub(crate) const CASES: &[Case] = &[
    ("ext2: replay", || replay("ext2")),
    ("ext4: replay", || replay("ext4")),
    ("vfat: replay", || replay("vfat")),
    ("minix: replay", || replay("minix")),
    ("ext2: dirty buffers", || dirty("ext2", false)),
    ("vfat: dirty buffers", || dirty("vfat", false)),
    ("minix: dirty buffers", || dirty("minix", false)),
    ("ext4: dirty buffers", || dirty("ext4", true)),
    ("raid0: requests to members", raid0),
    ("ext2: twice the same", || twice("ext2")),
    ("ext4: twice the same", || twice("ext4")),
    ("vfat: twice the same", || twice("vfat")),
];

const MOUNT: &str = "/tmp/selftest-mount";

/// Makes a file system. Returns the reason if that is not possible.
fn mkfs(kind: &str, disk: &Disk) -> Result<(), String> {
    let command = format!("mkfs.{kind}");
    let extra: &[&str] = match kind {
        "ext2" | "ext4" => &["-q", "-F", "-U", "00000000-0000-0000-0000-000000000001"],
        "vfat" => &["-i", "12345678", "--invariant"],
        _ => &[],
    };
    let output = Command::new(&command).args(extra).arg(disk.path()).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// A mounted file system. A drop unmounts it.
struct Mounted;

impl Mounted {
    fn new(kind: &str, disk: &Disk) -> Mounted {
        fs::create_dir_all(MOUNT).unwrap();
        // Keeps ext4 from committing because time has passed. On a busy host a case takes longer
        // than the default of five seconds.
        let options = (kind == "ext4").then_some("commit=100000,noinit_itable");
        mount(Some(&disk.path()), MOUNT, Some(kind), MsFlags::empty(), options).unwrap();
        Mounted
    }

    fn path(name: &str) -> std::path::PathBuf {
        Path::new(MOUNT).join(name)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        umount(MOUNT).unwrap();
    }
}

/// Makes a few calls of each kind. `between` is called between the steps.
fn work(mut between: impl FnMut(&str)) {
    let path = Mounted::path;
    fs::create_dir(path("d")).unwrap();
    between("mkdir");
    for file in 0..6u8 {
        fs::write(path(&format!("d/f{file}")), vec![file; 3000 + 2500 * usize::from(file)])
            .unwrap();
    }
    between("create");
    fs::rename(path("d/f1"), path("g1")).unwrap();
    between("rename");
    fs::remove_file(path("d/f2")).unwrap();
    between("unlink");
    OpenOptions::new().write(true).open(path("d/f5")).unwrap().set_len(5000).unwrap();
    between("truncate");
    File::options().write(true).open(path("d/f4")).unwrap().write_all_at(b"patched", 4090).unwrap();
    between("overwrite");
    fs::create_dir(path("e")).unwrap();
    fs::remove_dir(path("e")).unwrap();
    between("rmdir");
    fs::write(path("big"), vec![0xbb; 300_000]).unwrap();
    fs::remove_file(path("big")).unwrap();
    between("write and unlink");
    for name in 0..40 {
        fs::write(path(&format!("d/{name} is a rather long name")), "").unwrap();
    }
    between("names");
}

/// Applies the requests to an earlier image of the disk.
fn apply(image: &mut [u8], records: &[Record]) {
    for Record { head, data } in records.iter().filter(|record| record.head.kind == KIND_SUBMIT) {
        let at = (head.sector * SECTOR) as usize;
        if head.flags & (FLAG_ZEROES | FLAG_DISCARD) != 0 {
            image[at..at + head.len as usize].fill(0);
        } else {
            assert_eq!(data.len() as u64, head.len);
            image[at..at + data.len()].copy_from_slice(data);
        }
    }
}

/// Checks that an earlier image of the disk and the requests since give its current contents.
fn replay(kind: &str) -> Outcome {
    let disk = Disk::new(16);
    let ekm = Ekm::recording(&disk);
    let mut image = disk.contents().to_vec();
    if let Err(why) = mkfs(kind, &disk) {
        return Skip(why);
    }
    let made = ekm.take();
    apply(&mut image, &made);
    assert!(image == disk.contents(), "after mkfs");

    let mounted = Mounted::new(kind, &disk);
    work(|_| {});
    let file = File::open(Mounted::path("d/f4")).unwrap();
    file.sync_all().unwrap();
    let synced = ekm.records();
    let mut half = image.clone();
    apply(&mut half, &synced);
    assert!(half == disk.contents(), "after fsync");
    work_again();
    nix::unistd::sync();
    drop(file);
    drop(mounted);
    let records = ekm.take();
    apply(&mut image, &records);
    assert!(image == disk.contents(), "after umount");
    let changed = disk.changed();
    let submits = records.iter().filter(|record| record.head.kind == KIND_SUBMIT);
    let flags = |flag| submits.clone().filter(|record| record.head.flags & flag != 0).count();
    for submit in submits.clone().filter(|record| record.head.len > 0) {
        assert!(changed.contains(&((submit.head.sector / 8) as u32)));
    }
    if kind != "minix" && kind != "vfat" {
        assert!(flags(FLAG_PREFLUSH) > 0);
    }
    Note(format!(
        "{} records of mkfs; {} after: {} requests, {} flushes, {} FUA",
        made.len(),
        records.len(),
        submits.clone().count(),
        flags(FLAG_PREFLUSH),
        flags(FLAG_FUA)
    ))
}

fn work_again() {
    fs::remove_file(Mounted::path("g1")).unwrap();
    fs::write(Mounted::path("h"), vec![0x77; 50_000]).unwrap();
}

/// The dirty sectors according to the log.
#[derive(Default)]
struct Ledger(BTreeMap<u64, Vec<u8>>);

impl Ledger {
    fn follow(&mut self, records: &[Record]) {
        for Record { head, data } in records {
            match head.kind {
                KIND_DIRTY => self.insert(head.sector, data),
                KIND_FORGET | KIND_SUBMIT => {
                    for sector in head.sector..head.sector + head.len / SECTOR {
                        self.0.remove(&sector);
                    }
                }
                _ => {}
            }
        }
    }

    fn insert(&mut self, first: u64, data: &[u8]) {
        for (sector, bytes) in (first..).zip(data.chunks(SECTOR as usize)) {
            self.0.insert(sector, bytes.to_vec());
        }
    }
}

/// Checks at each point that the same sectors are dirty according to the log and to the kernel.
/// Contents may differ, because a file system may change a buffer after it has marked it dirty. A
/// journal has rules of its own, so `loose` allows and counts any difference.
fn dirty(kind: &str, loose: bool) -> Outcome {
    let disk = Disk::new(16);
    if let Err(why) = mkfs(kind, &disk) {
        return Skip(why);
    }
    let ekm = Ekm::recording(&disk);
    let mounted = Mounted::new(kind, &disk);
    let mut ledger = Ledger::default();
    let (mut most, mut missed, mut extra, mut other) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    let mut compare = |step: &str| {
        let count = user::buffers(ekm.fd(), 0).unwrap();
        let records = ekm.take();
        // The answer is contiguous unless another processor has logged something meanwhile.
        let is_answer = |record: &Record| record.head.kind == KIND_BUFFER;
        let first = records.iter().position(is_answer).unwrap_or(records.len());
        let (before, rest) = records.split_at(first);
        let (answer, after): (Vec<Record>, Vec<Record>) = rest.iter().cloned().partition(is_answer);
        assert_eq!(answer.len(), count as usize);
        assert!(answer.is_sorted_by_key(|record| record.head.sector));
        ledger.follow(before);
        let mut now = Ledger::default();
        for buffer in &answer {
            now.insert(buffer.head.sector, &buffer.data);
        }
        let mut note = |what: &str, sector: u64, count: &mut u32| {
            *count += 1;
            wrong.push(format!("{step}: {what} {sector}"));
        };
        for (&sector, data) in &now.0 {
            match ledger.0.get(&sector) {
                None => note("not logged dirty", sector, &mut missed),
                Some(logged) if logged != data => note("logged otherwise", sector, &mut other),
                Some(_) => {}
            }
        }
        for &sector in ledger.0.keys().filter(|sector| !now.0.contains_key(sector)) {
            note("not dirty any more", sector, &mut extra);
        }
        most = most.max(now.0.len());
        ledger = now;
        ledger.follow(&after);
    };
    compare("mount");
    work(&mut compare);
    // Of the buffers of a journal, those that it has committed are dirty.
    File::open(Mounted::path("d/f4")).unwrap().sync_all().unwrap();
    compare("fsync");
    fs::write(Mounted::path("d/f4"), "after").unwrap();
    compare("after fsync");
    nix::unistd::sync();
    compare("sync");
    work_again();
    compare("again");
    drop(mounted);
    compare("umount");
    let note = format!(
        "at most {most} sectors dirty; {missed} not logged, {extra} not dirty any more, {other} \
         with other contents"
    );
    if !wrong.is_empty() {
        println!("  {kind}: {} ...", wrong.iter().take(12).cloned().collect::<Vec<_>>().join(", "));
    }
    assert!(loose || missed + extra == 0, "{note}");
    assert!(loose || most > 0);
    Note(note)
}

/// Checks that the requests that a RAID of two disks passes on without queueing them again are in
/// the log.
fn raid0() -> Outcome {
    const MD: &str = "/sys/block/md_selftest/md";
    if let Err(error) = fs::write("/sys/module/md_mod/parameters/new_array", "md_selftest") {
        return Skip(format!("md: {error}"));
    }
    let disks = [Disk::new(8), Disk::new(8)];
    let set = |name: &str, value: &str| fs::write(format!("{MD}/{name}"), value);
    let build = || -> std::io::Result<()> {
        set("metadata_version", "none")?;
        set("level", "raid0")?;
        set("chunk_size", "65536")?;
        set("raid_disks", "2")?;
        for (slot, disk) in disks.iter().enumerate() {
            set("new_dev", &format!("{}:{}", disk.spec.major, disk.spec.minor))?;
            set(&format!("dev-rdd{}/size", disk.spec.disk), "8192")?;
            set(&format!("dev-rdd{}/slot", disk.spec.disk), &slot.to_string())?;
        }
        set("array_state", "active")
    };
    let built = build();
    let outcome = match built {
        Err(error) => Skip(format!("raid0: {error}")),
        Ok(()) => {
            let ekm = Ekm::open();
            for (number, disk) in (0..).zip(&disks) {
                user::watch(ekm.fd(), disk.watch(number, WATCH_REQUESTS)).unwrap();
            }
            user::record(ekm.fd(), true).unwrap();
            let mut before = disks.each_ref().map(|disk| disk.contents().to_vec());
            let mut array =
                OpenOptions::new().read(true).write(true).open("/dev/md_selftest").unwrap();
            std::io::Write::write_all(&mut array, &vec![0x5a; 3 << 20]).unwrap();
            array.sync_all().unwrap();
            drop(array);
            let records = ekm.take();
            for (number, image) in (0..).zip(&mut before) {
                let own: Vec<Record> =
                    records.iter().filter(|record| record.head.device == number).cloned().collect();
                assert!(
                    own.iter().any(|record| record.head.flags & FLAG_PREFLUSH != 0),
                    "no flush"
                );
                let of = |kind| own.iter().filter(|record| record.head.kind == kind).count();
                assert_eq!(of(KIND_SUBMIT), of(KIND_COMPLETE));
                apply(image, &own);
            }
            for (disk, image) in disks.iter().zip(&before) {
                assert!(image == disk.contents());
            }
            Note(format!("{} records", records.len()))
        }
    };
    set("array_state", "clear").unwrap();
    outcome
}

/// Checks that two runs with the same clock and random numbers write the same bytes to the disk.
fn twice(kind: &str) -> Outcome {
    let run = || -> Result<(Vec<u8>, i64), String> {
        let disk = Disk::new(16);
        let ekm = Ekm::open();
        mkfs(kind, &disk)?;
        // User programs draw their own random bytes for a new file system, so both runs use the
        // same one.
        let mut disk = disk;
        if kind == "ext4" || kind == "ext2" {
            static MADE: std::sync::Mutex<BTreeMap<String, Vec<u8>>> =
                std::sync::Mutex::new(BTreeMap::new());
            let mut made = MADE.lock().unwrap();
            let image =
                made.entry(kind.to_owned()).or_insert_with(|| disk.contents().to_vec()).clone();
            disk.map.as_mut().unwrap().write(0, &image);
        }
        let clock = Clock { frozen: 1, reserved: 0, seconds: 1_700_000_000 };
        user::clock(ekm.fd(), clock).unwrap();
        user::random(ekm.fd(), Random { seeded: 1, reserved: 0, seed: 9, drawn: 0 }).unwrap();
        let mounted = Mounted::new(kind, &disk);
        work(|_| {});
        let time = fs::metadata(Mounted::path("d")).unwrap().mtime();
        drop(mounted);
        Ok((disk.contents().to_vec(), time))
    };
    let start = Instant::now();
    let (first, second) = match (run(), run()) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(why), _) | (_, Err(why)) => return Skip(why),
    };
    assert_eq!(first.1, 1_700_000_000);
    let differing: Vec<usize> = first
        .0
        .chunks(512)
        .zip(second.0.chunks(512))
        .enumerate()
        .filter(|(_, (first, second))| first != second)
        .map(|(sector, _)| sector)
        .collect();
    assert!(differing.is_empty(), "sectors {differing:?} differ");
    Note(format!("{:.1?} for both", start.elapsed()))
}
