//! The background work that a guest holds still: nothing happens because time has passed.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use explode_kernel::{DiskModel, KernelDisks};
use explode_ramdisk::{Event, Image, Recording};
use explode_runtime::devices::{Backend, HostId, Side};
use libc::{SCHED_OTHER, sched_param, sched_setscheduler};

use crate::report::Report;

/// Runs every case.
pub fn all(backend: &dyn Backend, report: &mut Report) {
    report.case("a task that takes turns is not preempted", |_| not_preempted());
    report.case("how long a work item runs changes nothing", |_| {
        let threshold =
            std::fs::read_to_string("/sys/module/workqueue/parameters/cpu_intensive_thresh_us");
        assert_eq!(
            threshold.expect("this kernel has it").trim(),
            "0",
            "another item starts beside it"
        );
    });
    report.case("dirty data is not written before that is requested", |_| {
        nothing_is_written(backend)
    });
}

/// An ordinary thread that counts as fast as it can. It does not take turns, as the threads of the
/// kernel's work queues do not at first.
struct Ordinary {
    count: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Ordinary {
    fn start() -> Ordinary {
        let (count, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&count), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let none = sched_param { sched_priority: 0 };
            // SAFETY: the kernel reads one sched_param.
            assert_eq!(unsafe { sched_setscheduler(0, SCHED_OTHER, &raw const none) }, 0);
            while !stopped.load(Ordering::Relaxed) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ordinary { count, stop, thread }
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("it ends");
    }
}

/// The kernel lets ordinary tasks run after they have waited for 0.95 s, unless this is switched
/// off.
fn not_preempted() {
    let ordinary = Ordinary::start();
    thread::sleep(Duration::from_millis(50));
    let before = ordinary.count();
    assert!(before > 0, "it runs while we wait");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(2500) {}
    let after = ordinary.count();
    ordinary.end();
    assert_eq!(after, before, "an ordinary task has run while one that takes turns did not wait");
}

/// Tests the first dirty block of a disk without writes, whose share of the dirty limit would be
/// zero.
fn nothing_is_written(backend: &dyn Backend) {
    const SECTORS: u64 = 24 * 1024;
    let devices = backend.disks(HostId::default(), Side::Crash, Image::new(), Recording::On, 0);
    let disks = devices.of_type::<KernelDisks>().expect("they are the kernel's");
    let node = disks.attach(3, SECTORS, DiskModel::default()).expect("there is room");
    let file = OpenOptions::new().read(true).write(true).open(node).expect("nobody else has it");
    file.write_all_at(&[7; 4096], 8192).expect("there is room");
    // The task that would write it can run now.
    thread::sleep(Duration::from_millis(100));
    let kinds = || -> Vec<&str> {
        let events = devices.take_log().expect("the driver says");
        let kind = |event: &Event| match event {
            Event::Dirty { .. } => "dirty",
            Event::Submit { .. } => "submit",
            Event::Complete { .. } => "complete",
            Event::Flush { .. } => "flush",
            _ => "other",
        };
        events.iter().map(kind).collect()
    };
    assert_eq!(kinds(), ["dirty"]);
    file.sync_all().expect("it is written");
    assert_eq!(kinds(), ["submit", "complete", "flush", "complete"]);
}
