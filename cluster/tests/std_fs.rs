//! Nodes that use `std::fs` below the folder of their host: what they do on the disk, what a crash
//! leaves, and what is found are the same as by `host.files()`.

mod common;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex};
use std::thread;

use explode_cluster::prelude::*;
use explode_runtime::report::Summary;

/// The ways to the files of a host.
enum Door {
    Files(Rc<dyn Files>),
    Folder(PathBuf),
}

impl Door {
    /// Puts a value in the place of the one before, by a rename.
    fn replace(&self, value: u64, syncs: bool) -> Handled {
        match self {
            Door::Files(files) => {
                let fd = files.open("/new", OpenFlags { truncate: true, ..OpenFlags::CREATE })?;
                files.pwrite(fd, 0, &value.to_le_bytes())?;
                if syncs {
                    files.fsync(fd)?;
                }
                files.close(fd)?;
                files.rename("/new", "/value")?;
                Ok(files.sync_dir("/")?)
            }
            Door::Folder(folder) => {
                let new = folder.join("new");
                let mut file = File::create(&new)?;
                file.write_all(&value.to_le_bytes())?;
                if syncs {
                    file.sync_all()?;
                }
                drop(file);
                fs::rename(&new, folder.join("value"))?;
                Ok(File::open(folder)?.sync_all()?)
            }
        }
    }

    /// Adds a value to a log, which is never synced.
    fn log(&self, value: u64) -> Handled {
        match self {
            Door::Files(files) => {
                let fd = files.open("/log", OpenFlags::CREATE)?;
                let end = files.fstat(fd)?.size;
                files.pwrite(fd, end, &value.to_le_bytes())?;
                Ok(files.close(fd)?)
            }
            Door::Folder(folder) => {
                let log = File::options().append(true).create(true).open(folder.join("log"));
                Ok(log?.write_all(&value.to_le_bytes())?)
            }
        }
    }

    fn value(&self) -> Handled<u64> {
        let mut bytes = Vec::new();
        match self {
            Door::Files(files) => bytes = files.read_file("/value").unwrap_or_default(),
            Door::Folder(folder) => {
                if let Ok(mut file) = File::open(folder.join("value")) {
                    file.read_to_end(&mut bytes)?;
                }
            }
        }
        Ok(bytes.try_into().map_or(0, u64::from_le_bytes))
    }
}

/// A register on each node. Without `SYNCS` it forgets a sync.
struct Register<const STD: bool, const SYNCS: bool> {
    door: Door,
    value: u64,
}

impl<const STD: bool, const SYNCS: bool> Node for Register<STD, SYNCS> {
    type Msg = u64;
    type Call = RegisterCall;
    type Reply = RegisterReply;

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let door =
            if STD { Door::Folder(host.dir().to_owned()) } else { Door::Files(host.files()) };
        let value = door.value()?;
        Ok(Register { door, value })
    }

    fn on_message(&mut self, _from: NodeId, msg: u64, _host: &mut Host<'_, Self>) -> Handled {
        self.door.log(msg)
    }

    fn on_call(&mut self, call: CallId, what: RegisterCall, host: &mut Host<'_, Self>) -> Handled {
        let RegisterCall::Write(value) = what else {
            host.reply(call, RegisterReply::Value(self.value));
            return Ok(());
        };
        host.broadcast(&value)?;
        self.door.log(value)?;
        self.door.replace(value, SYNCS)?;
        self.value = value;
        host.reply(call, RegisterReply::Written);
        Ok(())
    }
}

fn registers<const STD: bool, const SYNCS: bool>(
    hosts: usize,
    faults: FaultBudget,
) -> Cluster<Register<STD, SYNCS>> {
    let registers = cluster::<Register<STD, SYNCS>>("registers", hosts)
        .clients(1, |next| match next.choose(2) {
            0 => RegisterCall::Read,
            _ => RegisterCall::Write(next.fresh()),
        })
        .faults(faults)
        .steps(24, 4);
    if hosts == 1 { registers.linearizable::<RegisterSpec>() } else { registers }
}

const CRASHES: FaultBudget = FaultBudget { crashes: 2, ..FaultBudget::NONE };

/// The same walks by both doors: the events on the disks are equal if the counts of crash disks
/// are, because a walk continues with one of them.
#[test]
fn both_doors_have_equal_counts() {
    for faults in [
        CRASHES,
        FaultBudget { crashes: 1, io_errors: 2, ..FaultBudget::NONE },
        FaultBudget { crashes: 1, bad_disks: 1, ..FaultBudget::NONE },
    ] {
        let files = common::run_with(registers::<false, true>(2, faults), walks(400), 1);
        let std = common::run_with(registers::<true, true>(2, faults), walks(400), 1);
        assert_eq!(std.counts(), files.counts(), "{faults:?}");
        assert!(std.found.is_empty() && std.broken.is_empty(), "{std:?}");
        assert!(std.tally("crashes", "crashes") > 100, "{std:?}");
    }
}

/// Everything within four steps, by both doors.
#[test]
fn both_doors_have_equal_counts_of_everything() {
    let everything = |ran: common::Ran| {
        assert!(ran.summary.complete, "{ran:?}");
        ran.counts()
    };
    let one = FaultBudget { crashes: 1, ..FaultBudget::NONE };
    let files = registers::<false, true>(1, one).steps(4, 0).strategy("exhaust");
    let std = registers::<true, true>(1, one).steps(4, 0).strategy("exhaust");
    let files = everything(common::run_with(files, exhausted(), 1));
    assert_eq!(everything(common::run_with(std, exhausted(), 1)), files);
}

#[test]
fn a_missing_sync_is_found_by_both_doors_and_its_twin_is_clean() {
    let clean = common::run_with(registers::<true, true>(1, CRASHES), walks(1000), 1);
    assert!(clean.found.is_empty() && clean.broken.is_empty(), "{clean:?}");
    let files = common::run_with(registers::<false, false>(1, CRASHES), walks(1000), 1);
    let std = common::run_with(registers::<true, false>(1, CRASHES), walks(1000), 1);
    assert!(std.found[0].starts_with("registers/corrupt/linearizable"), "{std:?}");
    assert_eq!(std.counts(), files.counts());
    assert_eq!(std.traces[0].choices, files.traces[0].choices);
    let reported = |text: Result<_, String>| {
        let text = text.map(|_: Summary| ()).expect_err("a write is lost");
        let rows = text.lines().skip_while(|line| !line.contains("step     ms"));
        rows.take_while(|line| !line.contains("Replay")).map(str::to_owned).collect::<Vec<_>>()
    };
    let files = reported(registers::<false, false>(1, CRASHES).outcome(walks(1000)));
    assert_eq!(reported(registers::<true, false>(1, CRASHES).outcome(walks(1000))), files);
    for part in ["| CUT |", "renames /new to /value", "syncs /"] {
        assert!(files.iter().any(|row| row.contains(part)), "{part}: {files:?}");
    }
}

/// What a node does that explode refuses.
const NOTHING: u8 = 0;
const OTHER_HOST: u8 = 1;
const THREAD: u8 = 2;
const POOL_OF_THREADS: u8 = 3;

/// Looks at what is in its folder, and reaches for more.
struct Reacher<const REACH: u8>;

impl<const REACH: u8> Node for Reacher<REACH> {
    type Msg = ();
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let (own, name) = (host.dir(), host.id().to_string());
        assert_eq!(own, Path::new("/explode").join(&name));
        fs::create_dir_all(own.join("deep/er"))?;
        fs::write(own.join("deep/er").join(name), "mine")?;
        host.broadcast(&())?;
        Ok(Reacher)
    }

    fn on_message(&mut self, from: NodeId, (): (), host: &mut Host<'_, Self>) -> Handled {
        let (own, name) = (host.dir(), host.id().to_string());
        let deep = fs::canonicalize(own.join("deep/../deep/er"))?;
        assert_eq!(deep, own.join("deep/er"));
        let names = fs::read_dir(&deep)?.map(|entry| Ok(entry?.file_name()));
        assert_eq!(names.collect::<Result<Vec<_>, std::io::Error>>()?, [&*name]);
        let other = Path::new("/explode").join(from.to_string()).join("deep/er/mine");
        match REACH {
            OTHER_HOST => fs::write(other, "theirs")?,
            THREAD => drop(thread::spawn(|| ()).join()),
            POOL_OF_THREADS => {
                let (pool, done) = &*POOL;
                pool.send(File::open(deep.join(name))?)?;
                done.lock().expect("it does not panic").recv()?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// A thread of this program that reads files, and the receiver of what it has read.
type FileReader = (Sender<File>, Mutex<Receiver<()>>);

static POOL: LazyLock<FileReader> = LazyLock::new(|| {
    let (files, to_read) = channel::<File>();
    let (read, done) = channel();
    thread::spawn(move || {
        for mut file in to_read {
            let _ = file.read(&mut [0; 4]);
            drop(file);
            read.send(()).expect("the test waits");
        }
    });
    (files, Mutex::new(done))
});

fn reach<const REACH: u8>() -> Result<Summary, String> {
    LazyLock::force(&POOL);
    cluster::<Reacher<REACH>>("reachers", 2).steps(8, 0).outcome(walks(40))
}

#[test]
fn hosts_do_not_see_each_others_files() {
    reach::<NOTHING>().expect("each host sees its own files");
    let text = reach::<OTHER_HOST>().expect_err("a host has its own folder only");
    for part in ["the crash test could not be made: n", "/mine; on its host only /explode/n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn threads_of_a_node_are_refused() {
    let text = reach::<THREAD>().expect_err("a thread has no order");
    assert!(text.contains("the node starts a thread, which explode cannot order"), "{text}");
    // A search for a first finding is not clean, either.
    let search = cluster::<Reacher<THREAD>>("reachers", 2).steps(8, 0);
    let text = search.first_finding(40, |_| true).expect_err("a thread has no order");
    assert!(text.contains("the node starts a thread, which explode cannot order"), "{text}");
    let text = reach::<POOL_OF_THREADS>().expect_err("a thread has no order");
    assert!(text.contains("a thread of the node uses its files"), "{text}");
}
