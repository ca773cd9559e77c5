//! Late completion as a choice of each write. It finds a system that takes the end of one write for
//! that of another. Neither immediate nor late completion of all writes finds it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use explode_runtime::base::{Mode, OptionDef, Options, TargetBounds};
use explode_runtime::check::{Checker, CheckerDef, Cx as Steps};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::report::Summary;
use explode_runtime::stack::{Stack, StackSpec, Surface};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use libc::{
    self, O_DIRECT, SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit, c_long, syscall,
};

use crate::cases::Cx;
use crate::directed::go;
use crate::report::Report;

/// A page, aligned for direct requests.
#[repr(align(4096))]
struct Page([u8; 4096]);

/// The byte that is written, and the offsets.
const BYTE: u8 = b'w';
const AT: [u64; 2] = [4096, 16_384];

/// The most late writes, the completion, whether the system waits for all writes, and the expected
/// operations, crash disks and failing checks.
const CASES: [(u32, &str, bool, [u64; 3]); 6] = [
    (1, "choice", false, [3, 5, 2]),
    (2, "choice", false, [4, 6, 2]),
    (1, "late", false, [1, 1, 0]),
    (1, "at-once", false, [1, 1, 0]),
    (1, "choice", true, [3, 3, 0]),
    (2, "choice", true, [4, 4, 0]),
];

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let mut registry = explode::registry();
    registry.checkers.push(
        CheckerDef::new(
            "in-order",
            "makes two writes to a bare disk, and takes the end of one for the end of both",
            |options| Ok(Box::new(InOrder { waits: options.bool("waits", false)? })),
        )
        .options([OptionDef { name: "waits", about: "waits for both", default: "false" }]),
    );
    let cx = Cx { registry: &registry, ..cx };
    report.case(
        "late by choice: whoever takes one write's end for another's is found, and only so",
        |_| {
            for (most, completes, waits, expected) in CASES {
                let (summary, findings) = cx.explore(&plan(&registry, most, completes, waits));
                let what = format!(
                    "most_late {most}, completes {completes}, waits: {waits}: {findings:?}"
                );
                let Summary { operations, crash_disks, .. } = &summary;
                let counted =
                    [operations, crash_disks].map(|count| u64::try_from(&count.0).unwrap());
                assert_eq!(
                    (counted, summary.complete),
                    ([expected[0], expected[1]], true),
                    "{what}"
                );
                let found: Vec<_> = findings
                    .iter()
                    .map(|found| (found.signature.as_str(), found.replayed))
                    .collect();
                let counts: Vec<u64> =
                    findings.iter().map(|found| u64::try_from(&found.count.0).unwrap()).collect();
                match expected[2] {
                    0 => assert!(found.is_empty(), "{what}"),
                    count => {
                        // A finding is reported when it is first found, and again with its count.
                        assert!(
                            found.iter().all(|found| *found == ("in-order/lost/durable", true)),
                            "{what}"
                        );
                        assert_eq!(counts.last(), Some(&count), "{what}");
                    }
                }
            }
        },
    );
    report.case(
        "late by choice: labels say who has submitted to which disk, the same each time",
        |_| {
            let plan = plan(&registry, 1, "choice", true);
            let labels = || -> Vec<String> {
                let runner = explode_runtime::unit::Runner::start(&registry, &plan, cx.backend)
                    .expect("it starts");
                let unit = explode_runtime::explore::Unit { mutates: 1, ..Default::default() };
                let ended = runner.run(&unit, &mut crate::kernel_choices::Make { call: "" });
                assert!(ended.early.is_none(), "{:?}", ended.early);
                ended.choices.iter().map(|choice| choice.label.to_string()).collect()
            };
            let first = labels();
            assert_eq!(first.len(), AT.len(), "{first:?}");
            for label in &first {
                assert!(label.starts_with("late ") && label.ends_with(" on disk 0"), "{label}");
                assert!(!label.contains("rdd") && !label.contains("submit_bio"), "{label}");
            }
            assert_eq!(first, labels());
        },
    );
    report.case("late by choice: fs-sync-ext4 waits", |_| {
        let mut plan = cx.shallow("fs-sync-ext4");
        (plan.settings.limit, plan.settings.samples, plan.settings.crash_depth) = (4, 4, 0);
        let disk = &mut plan.stack.0[0];
        disk.options = disk.options.clone().with("completes", "choice");
        let (summary, findings) = cx.explore(&plan);
        // There are more operations than its eight steps, so writes were late.
        assert!(findings.is_empty() && summary.operations > 8.into(), "{findings:?} {summary:?}");
        let go = || go(cx.registry, &plan, cx.backend, &["write /a", "sync"]).events;
        assert!(go() == go(), "the same way has another log");
    });
}

fn plan(registry: &Registry, most: u32, completes: &str, waits: bool) -> Plan {
    let disk = Options::none().with("completes", completes).with("most_late", most);
    let target = Target {
        name: "in-order".into(),
        about: "for tests".into(),
        stack: StackSpec::default().plug("ramdisk", disk),
        checker: "in-order".into(),
        checker_options: Options::none().with("waits", waits),
        bounds: TargetBounds { depth: 1, limit: 100, samples: 10, crash_depth: 0 },
        seeded: true,
        expect: "lost".into(),
    };
    Plan { mode: Mode::Vm, ..Plan::of(registry, &target).expect("its parts are there") }
}

/// A system that submits two writes, waits for some of them, and flushes.
struct InOrder {
    /// True to wait for both. Otherwise the end of one is taken for the end of both.
    waits: bool,
}

impl Checker for InOrder {
    fn mutate(&mut self, cx: &mut Steps<'_>) -> Result<(), CheckError> {
        let node = node(cx.stack())?;
        let disk = OpenOptions::new().write(true).custom_flags(O_DIRECT).open(&node);
        let disk = disk.map_err(CheckError::broken)?;
        let page = Box::new(Page([BYTE; 4096]));
        let mut queue = Queue::new().expect("there is room for two");
        AT.iter().for_each(|at| queue.write(&disk, &page, *at).expect("it is submitted"));
        let ended = queue.ended(0).expect("it says so");
        if self.waits || ended == 0 {
            queue.ended(AT.len() - ended).expect("they end");
        }
        File::open(&node).and_then(|disk| disk.sync_all()).expect("it is flushed");
        let asked = cx.check_crashes_now(self, &["durable".to_owned()]);
        queue.finish().expect("they end");
        asked
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let node = File::open(node(stack)?).map_err(CheckError::broken)?;
        let is_there = |at: &u64| -> io::Result<bool> {
            let mut bytes = [0; 4096];
            node.read_exact_at(&mut bytes, *at)?;
            Ok(bytes == [BYTE; 4096])
        };
        for at in AT {
            let there = is_there(&at).map_err(CheckError::broken)?;
            if !args.is_empty() && !there {
                return Err(Violation::new(
                    Verdict::Lost,
                    "durable",
                    format!("the block at {at} is not there"),
                )
                .into());
            }
        }
        Ok(())
    }
}

/// Returns the block device at the top.
fn node(stack: &Stack) -> Result<PathBuf, CheckError> {
    match stack.top() {
        Surface::Block(node) => Ok(Path::new(&node).to_owned()),
        other => Err(CheckError::broken(format!("no block device: {other:?}"))),
    }
}

/// A queue of io_submit(2) requests.
struct Queue {
    context: u64,
    submitted: usize,
    ended: usize,
}

/// `struct io_event` (linux/aio_abi.h).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    more: i64,
}

impl Queue {
    fn new() -> io::Result<Queue> {
        let mut context = 0_u64;
        // SAFETY: the kernel writes one number.
        said(unsafe { syscall(SYS_io_setup, AT.len(), &raw mut context) })?;
        Ok(Queue { context, submitted: 0, ended: 0 })
    }

    /// Submits a write. The page must live until the write has ended.
    fn write(&mut self, disk: &File, page: &Page, at: u64) -> io::Result<()> {
        // SAFETY: all fields are numbers, for which zero is valid.
        let mut request: libc::iocb = unsafe { std::mem::zeroed() };
        request.aio_lio_opcode = IOCB_CMD_PWRITE;
        request.aio_fildes = disk.as_raw_fd() as u32;
        request.aio_buf = page.0.as_ptr() as u64;
        request.aio_nbytes = page.0.len() as u64;
        request.aio_offset = at as i64;
        let mut list = [&raw mut request];
        // SAFETY: the kernel reads one request. The caller keeps the page until the write has
        // ended.
        said(unsafe { syscall(SYS_io_submit, self.context, list.len(), list.as_mut_ptr()) })?;
        self.submitted += 1;
        Ok(())
    }

    /// Waits until at least `least` more have ended. Returns the number that have.
    fn ended(&mut self, least: usize) -> io::Result<usize> {
        let mut events = [Event::default(); AT.len()];
        let mut at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = if least == 0 { &raw mut at_once } else { std::ptr::null_mut() };
        // SAFETY: there is room for all events, and the timeout is null or one.
        let ended = said(unsafe {
            syscall(
                SYS_io_getevents,
                self.context,
                least,
                events.len(),
                events.as_mut_ptr(),
                timeout,
            )
        })? as usize;
        let written = |event: &&Event| event.result == size_of::<Page>() as i64;
        assert!(events[..ended].iter().all(|event| written(&event)), "a write has failed");
        self.ended += ended;
        Ok(ended)
    }

    /// Waits for all requests and closes the queue.
    fn finish(mut self) -> io::Result<()> {
        while self.ended < self.submitted {
            self.ended(self.submitted - self.ended)?;
        }
        // SAFETY: all requests have ended, so the kernel uses no memory of this process.
        said(unsafe { syscall(SYS_io_destroy, self.context) }).map(drop)
    }
}

/// `IOCB_CMD_PWRITE` (linux/aio_abi.h).
const IOCB_CMD_PWRITE: u16 = 1;

/// Converts the result of a system call.
fn said(answer: c_long) -> io::Result<c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
