//! Soft crashes: each operation has one disk, with the contents that the program saw then.

use std::cell::RefCell;

use explode_ramdisk::files::{Files, Granule, OpenFlags};
use explode_ramdisk::{Event, Flags, Image, RamDisk, Recording, SimFiles, Storage, operation_of};
use explode_runtime::base::Options;
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::{Epoch, Instants, SampleLimits, walk};
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use explode_runtime::writeset::{DeviceRules, WriteSet};
use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;

use crate::common;

/// Collects every path with its contents, in order.
fn tree(files: &dyn Files, at: &str, found: &mut Vec<(String, Vec<u8>)>) {
    for (name, _) in files.readdir(if at.is_empty() { "/" } else { at }).unwrap() {
        let path = format!("{at}/{name}");
        match files.read_file(&path) {
            Ok(bytes) => found.push((path, bytes)),
            Err(_) => {
                found.push((path.clone(), Vec::new()));
                tree(files, &path, found);
            }
        }
    }
}

fn tree_of(files: &dyn Files) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    tree(files, "", &mut found);
    found
}

/// Makes one random call, which may fail.
fn call(files: &dyn Files, random: &mut Pcg64Mcg) {
    let mut below = |bound: u32| random.next_u32() % bound;
    let path = ["/a", "/b", "/d/a", "/d/c"][below(4) as usize];
    let other = ["/b", "/d", "/d/c", "/e"][below(4) as usize];
    let opened = |flags| files.open(path, flags);
    let done = match below(10) {
        0 => files.mkdir(other),
        1 => files.rmdir(other),
        2 => files.link(path, other),
        3 => files.unlink(path),
        4 => files.rename(path, other),
        5 => files.sync(),
        6 => files.sync_dir("/"),
        kind => opened(OpenFlags { create: true, truncate: kind == 7, exclusive: false }).and_then(
            |fd| {
                match kind {
                    8 => files.ftruncate(fd, u64::from(below(3)) * 3000)?,
                    9 => files.pwrite(
                        fd,
                        u64::from(below(6000)),
                        &vec![b'x'; below(9000) as usize],
                    )?,
                    _ => {}
                }
                files.fsync(fd)?;
                files.close(fd)
            },
        ),
    };
    // A call that fails changes nothing.
    let _ = done;
}

/// Compares disks with the program's own view after each call. A call that changes the view is an
/// operation, and its disk has that view.
#[test]
fn each_prefix_equals_what_the_program_saw() {
    let mut compared = 0;
    for seed in 0..150 {
        let mut random = Pcg64Mcg::new(seed);
        let storage = Storage::new(Image::new(), Recording::Operations);
        let files = SimFiles::mount(storage.clone(), 0, Granule::default()).unwrap();
        let (mut events, mut seen): (Vec<Event>, Vec<_>) = Default::default();
        for _ in 0..25 {
            let before = tree_of(&files);
            call(&files, &mut random);
            let new = storage.take_log();
            let done = new.iter().filter(|event| operation_of(event).is_some()).count() as u64;
            events.extend(new);
            let after = tree_of(&files);
            // A call that opens and then writes is two operations. The state between them is not
            // checked.
            assert!(done > 0 || before == after);
            seen.extend((1..done).map(|_| None));
            seen.extend((done > 0).then_some(Some(after)));
        }
        let mut write_set = WriteSet::new(Image::new(), DeviceRules::default());
        let mut at = 0;
        let counts =
            walk(&mut write_set, &events, Instants::Prefixes, &SampleLimits::default(), |disk| {
                assert!(disk.epochs().iter().eq([Epoch::Soft]));
                if let Some(expected) = &seen[at] {
                    let storage = Storage::new(disk.image(), Recording::Off);
                    let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
                    assert_eq!(tree_of(&files), *expected, "seed {seed}, operation {at}");
                    assert_eq!(disk.image().identity(), disk.identity());
                    compared += 1;
                }
                at += 1;
            });
        assert_eq!(counts.unwrap().crash_disks, seen.len().into());
        assert_eq!(at, seen.len());
    }
    assert!(compared > 1000, "{compared}");
}

thread_local! {
    static SEEN: RefCell<Vec<(Epoch, u8, u8)>> = const { RefCell::new(Vec::new()) };
}

/// A checker with two writes and a flush in an interval, then another write that is not flushed,
/// and a request for checks now. With `buffers` the second write stays in the program.
struct Writer {
    buffers: bool,
}

fn bytes(disk: &RamDisk) -> (u8, u8) {
    let (mut first, mut second) = ([0; 512], [0; 512]);
    disk.read(0, &mut first);
    disk.read(8, &mut second);
    (first[0], second[0])
}

impl Checker for Writer {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        cx.check_crashes_start(&["begin".into()]);
        disk.write(0, &[1; 512], Flags::NONE);
        disk.flush();
        if !self.buffers {
            disk.write(8, &[2; 512], Flags::NONE);
        }
        cx.check_crashes_end(self, &["end".into()])?;
        disk.write(0, &[3; 512], Flags::NONE);
        cx.check_crashes_now(self, &["end".into()])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        assert_eq!(args, ["end"], "nobody asks for the instant before the first operation");
        let (first, second) = bytes(&stack.disk()?);
        SEEN.with_borrow_mut(|seen| seen.push((epoch, first, second)));
        if epoch == Epoch::Soft && second != 2 {
            let message = "written, and not there";
            return Err(Violation::new(Verdict::Lost, "written", message).into());
        }
        Ok(())
    }
}

fn run(buffers: bool) -> (common::Said, Vec<(Epoch, u8, u8)>) {
    let registry = common::registry(if buffers {
        |_: &Options| Ok(Box::new(Writer { buffers: true }))
    } else {
        |_: &Options| Ok(Box::new(Writer { buffers: false }))
    });
    let mut plan = common::plan(1);
    (plan.settings.soft, plan.settings.crash_depth) = (true, 0);
    let said = common::run(&registry, &plan);
    (said, SEEN.with_borrow_mut(std::mem::take))
}

/// Before the last operation a check gets the epoch of any crash in between. After it a check gets
/// the soft epoch, because no write is in flight.
#[test]
fn each_write_to_a_disk_is_an_operation_and_nothing_is_lost() {
    let (said, seen) = run(false);
    assert_eq!(seen, [(Epoch::InBetween, 1, 0), (Epoch::Soft, 1, 2), (Epoch::Soft, 3, 2)]);
    let summary = said.summary();
    assert_eq!(
        (&summary.crash_disks, &summary.distinct, &summary.checked),
        (&3.into(), &3.into(), &3.into())
    );
    assert!(said.findings().is_empty() && summary.complete);
}

/// A write that a program has acknowledged but keeps in its memory is lost with the program. The
/// last prefix shows this, and the finding replays as a soft crash.
#[test]
fn data_kept_in_the_program_is_lost_with_it() {
    let (said, seen) = run(true);
    // The first prefix of the interval is its last. The replay then checks that disk again.
    assert_eq!(seen, [(Epoch::Soft, 1, 0), (Epoch::Soft, 1, 0)]);
    assert_eq!(said.summary().crash_disks, 1.into());
    let [finding] = said.findings()[..] else { panic!("{:?}", said.messages) };
    assert!(finding.replayed && finding.epoch == Some(Epoch::Soft), "{finding:?}");
    let trace = &said.traces[0];
    assert!(trace.options.soft && trace.epoch == Some(Epoch::Soft));
    // Nothing is pending on a machine that continues, so the disk has no pieces.
    assert_eq!(trace.crash_disk.as_ref().map(|disk| disk.blocks.len()), Some(0));
    let text = trace.to_json().replace("    \"soft\": true,\n", "");
    let old = explode_runtime::trace::Trace::from_json(text.as_bytes()).unwrap();
    assert!(!old.options.soft, "a trace from before is one of hard crashes");
}
