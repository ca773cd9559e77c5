//! A component requests crash checks in the middle of its own operation (EX-66). A bug is found
//! that no other check sees.

use std::cell::RefCell;
use std::rc::Rc;

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Mode, OptionDef, Options, StepError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::Registry;
use explode_runtime::report::Message;
use explode_runtime::stack::{Asks, Below, Component, ComponentDef, Recovery, Stack, Surface};
use explode_runtime::verdict::{BrokenKind, CheckError, Verdict, Violation};

use crate::common::{self, Said};

thread_local! {
    /// The observations of every check: epoch and argument, the number of existing records, and the
    /// number of counted records.
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

const BLOCK: usize = 4096;

const OPTIONS: &[OptionDef] = &[
    OptionDef { name: "first", about: "count (the bug), record", default: "count" },
    OptionDef { name: "asks", about: "never, between, twice, recovery", default: "never" },
];

/// A log that counts its records. Both writes bypass the cache, so after each operation a crash
/// cannot lose anything.
struct Log {
    count_first: bool,
    asks: usize,
    asks_in_recovery: bool,
    open: Option<Rc<Open>>,
}

/// The log while it is mounted.
struct Open {
    disk: RamDisk,
    asks: Asks,
    count_first: bool,
    times: usize,
}

impl Open {
    fn at(&self, block: u64) -> u8 {
        let mut bytes = [0; BLOCK];
        self.disk.read(8 * block, &mut bytes);
        bytes[0]
    }

    /// Returns the number of counted records, and how many of them exist.
    fn records(&self) -> (u8, u8) {
        let counted = self.at(0);
        (
            counted,
            (1..=counted).filter(|record| self.at(u64::from(*record)) == *record).count() as u8,
        )
    }

    fn add(&self) {
        let new = self.at(0) + 1;
        let mut blocks = [0, u64::from(new)];
        if !self.count_first {
            blocks.reverse();
        }
        self.disk.write(8 * blocks[0], &[new; BLOCK], Flags::FUA);
        for name in &["half", "half again"][..self.times] {
            self.asks.check_crashes_now(name);
        }
        self.disk.write(8 * blocks[1], &[new; BLOCK], Flags::FUA);
    }
}

impl Component for Log {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let (disk, asks) = (below.disk(0)?, below.asks.clone());
        assert!(!asks.are_heard(), "no mutate runs");
        self.open =
            Some(Rc::new(Open { disk, asks, count_first: self.count_first, times: self.asks }));
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        if self.asks_in_recovery {
            below.check_crashes_now("recovering");
        }
        Ok(Recovery::Clean)
    }

    fn surface(&self) -> Surface {
        self.open.clone().map_or(Surface::Child, |open| Surface::Engine(open))
    }
}

/// The checker's own requests for crash checks.
#[derive(Clone, Copy, PartialEq)]
enum Own {
    Nothing,
    Now,
    Interval,
}

struct Adds(Own);

impl Checker for Adds {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let log = cx.stack().engine::<Open>()?;
        if self.0 == Own::Interval {
            cx.check_crashes_start(&["start".to_owned()]);
        }
        log.add();
        match self.0 {
            Own::Nothing => Ok(()),
            Own::Now => cx.check_crashes_now(self, &["own".to_owned()]),
            Own::Interval => cx.check_crashes_end(self, &["end".to_owned()]),
        }
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let (counted, there) = stack.engine::<Open>()?.records();
        SEEN.with_borrow_mut(|seen| {
            seen.push(format!("{epoch} {}: {there} of {counted}", args.join(" ")))
        });
        if counted == there {
            return Ok(());
        }
        let message = format!("{counted} records are counted, {there} are there");
        Err(Violation::new(Verdict::Lost, "record", message).into())
    }
}

fn run(own: Own, first: &str, asks: &str) -> (Said, Vec<String>) {
    let log = ComponentDef::new("log", "a log that counts its records", |options| {
        let times = options
            .one_of("asks", &[("never", 0), ("between", 1), ("twice", 2), ("recovery", 3)])?;
        Ok(Box::new(Log {
            count_first: options.one_of("first", &[("count", true), ("record", false)])?,
            asks: times % 3,
            asks_in_recovery: times == 3,
            open: None,
        }))
    })
    .modes([Mode::Mem])
    .on("disk")
    .options(OPTIONS);
    let ours = common::registry(match own {
        Own::Nothing => |_: &Options| Ok(Box::new(Adds(Own::Nothing)) as Box<dyn Checker>),
        Own::Now => |_: &Options| Ok(Box::new(Adds(Own::Now)) as Box<dyn Checker>),
        Own::Interval => |_: &Options| Ok(Box::new(Adds(Own::Interval)) as Box<dyn Checker>),
    });
    let registry = Registry { components: [common::disk(), log].into(), ..ours };
    let mut plan = common::plan(2);
    plan.stack = plan.stack.plug("log", Options::none().with("first", first).with("asks", asks));
    plan.settings.skip = false;
    SEEN.take();
    let said = common::run(&registry, &plan);
    (said, SEEN.take())
}

fn signatures(said: &Said) -> Vec<&str> {
    assert!(said.findings().iter().all(|finding| finding.replayed));
    said.findings().iter().map(|finding| finding.signature.as_str()).collect()
}

#[test]
fn a_bug_within_an_operation_is_found_at_the_components_request() {
    let (said, seen) = run(Own::Now, "count", "never");
    assert_eq!(signatures(&said), [""; 0]);
    assert_eq!(seen, ["now own: 1 of 1", "now own: 2 of 2"]);
    assert_eq!(said.summary().crash_disks, 2.into());
    let (said, seen) = run(Own::Now, "count", "between");
    assert_eq!(signatures(&said), ["test/lost/record"]);
    // The second check is that of the replay.
    assert_eq!(seen, ["now half: 0 of 1"; 2]);
    let trace = &said.traces[0];
    assert_eq!((trace.epoch, &trace.args[..]), (Some(Epoch::Now), &["half".to_owned()][..]));
    assert_eq!(said.summary().crash_disks, 1.into());
}

#[test]
fn the_fixed_twin_is_silent_and_its_checks_are_made() {
    let (said, seen) = run(Own::Now, "record", "between");
    assert_eq!(signatures(&said), [""; 0]);
    // The order is that of the log. A mutate that is replayed makes no checks.
    assert_eq!(
        seen,
        ["now half: 0 of 0", "now own: 1 of 1", "now half: 1 of 1", "now own: 2 of 2"]
    );
    assert_eq!(
        (said.summary().crash_disks.clone(), said.summary().broken.clone()),
        (4.into(), 0.into())
    );
}

#[test]
fn a_checker_without_requests_is_called_for_those_of_the_component() {
    let (said, seen) = run(Own::Nothing, "record", "twice");
    assert_eq!(signatures(&said), [""; 0]);
    let of = |records: u8| {
        ["half", "half again"].map(|name| format!("now {name}: {records} of {records}"))
    };
    assert_eq!(seen, [of(0), of(1)].concat());
    let (said, _) = run(Own::Nothing, "count", "twice");
    assert_eq!(signatures(&said), ["test/lost/record"]);
}

#[test]
fn an_interval_continues_over_a_request() {
    let (said, seen) = run(Own::Interval, "record", "between");
    assert_eq!(signatures(&said), [""; 0]);
    let own = |seen: &[String]| {
        seen.iter().filter(|seen| !seen.starts_with("now")).cloned().collect::<Vec<_>>()
    };
    let (silent, alone) = run(Own::Interval, "record", "never");
    assert_eq!(own(&seen), alone);
    assert_eq!(seen.len(), alone.len() + 2);
    assert_eq!(seen[0], "now half: 0 of 0");
    let more: explode_runtime::base::ExactCount = 2.into();
    assert_eq!(said.summary().crash_disks.0, &silent.summary().crash_disks.0 + &more.0);
}

#[test]
fn a_request_on_a_crash_disk_is_refused() {
    let (said, _) = run(Own::Now, "record", "recovery");
    assert_eq!(signatures(&said), [""; 0]);
    let reported = said.messages.iter().find_map(|message| match message {
        Message::Broken { kind, message, .. } => Some((*kind, message.clone())),
        _ => None,
    });
    let (kind, reported) = reported.expect("it is broken");
    assert_eq!(kind, BrokenKind::Component, "{reported}");
    assert!(reported.starts_with("log: asked for crash checks ('recovering')"), "{reported}");
    assert!(reported.contains("Asks::are_heard"), "{reported}");
}
