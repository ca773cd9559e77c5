//! The order in which components and checkers are called (EX-21). Init follows the mounts. Finish
//! comes before the unmounts, at a chop and wherever a unit ends.

use std::cell::{Cell, RefCell};

use explode_ramdisk::Flags;
use explode_runtime::base::{Mode, Options, StepError};
use explode_runtime::check::{Checker, CheckerAbilities, Chop, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::Message;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::{Below, Component, ComponentDef, Stack};
use explode_runtime::trace::ReplayResult;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use explode_runtime::worker::replay;

use crate::common::{self, Said};

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static ENDS: Cell<Ends> = const { Cell::new(Ends::Well) };
    static FINISH: Cell<Finish> = const { Cell::new(Finish::Well) };
}

fn called(what: impl Into<String>) {
    CALLS.with_borrow_mut(|calls| calls.push(what.into()));
}

/// The end of the second mutate, or of the chop before it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    Well,
    Found,
    Stop,
    Violation,
    Broken,
    Panic,
    ChopFails,
    ChopPanics,
    /// The mutate chooses among this number of options. The third mutate sees a broken promise.
    Chooses(usize),
}

#[derive(Clone, Copy, PartialEq)]
enum Finish {
    Well,
    Fails,
    Panics,
}

/// A layer that notes its calls.
struct Layer(&'static str);

impl Component for Layer {
    fn init(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        called(format!("{} init", self.0));
        Ok(())
    }
    fn mount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        called(format!("{} mount", self.0));
        Ok(())
    }
    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        called(format!("{} unmount", self.0));
        Ok(())
    }
}

/// A checker that writes a block in each mutate.
#[derive(Clone, Default)]
struct Caller {
    mutates: u64,
    forks: bool,
    /// The number of chops so far.
    number: u32,
}

impl Checker for Caller {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        stack.disk()?;
        called(format!("init {}", self.number));
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        self.mutates += 1;
        called("mutate");
        cx.stack().disk()?.write(8 * self.mutates, &[1; 512], Flags::FUA);
        let ends = match (self.mutates, ENDS.get()) {
            (2, ends) => ends,
            (3, Ends::Chooses(_)) => Ends::Violation,
            _ => Ends::Well,
        };
        match ends {
            Ends::Well | Ends::ChopFails | Ends::ChopPanics => cx.check_crashes_now(self, &[]),
            Ends::Found => cx.check_crashes_now(self, &["wrong".to_owned()]),
            Ends::Stop => Err(CheckError::Stop),
            Ends::Violation => Err(Violation::new(Verdict::Lost, "seen", "in mutate").into()),
            Ends::Broken => Err(CheckError::broken("it cannot go on")),
            Ends::Panic => panic!("it cannot go on"),
            Ends::Chooses(options) => {
                cx.choose(options);
                Ok(())
            }
        }
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        called("check");
        if args.is_empty() {
            Ok(())
        } else {
            Err(Violation::new(Verdict::Lost, "found", "by a check").into())
        }
    }

    fn finish(&mut self, stack: &Stack) -> Result<(), StepError> {
        // The stack is still mounted.
        stack.disk()?;
        called(format!("finish {}", self.number));
        match FINISH.get() {
            Finish::Well => Ok(()),
            Finish::Fails => Err(StepError::new("finish has failed")),
            Finish::Panics => panic!("in the end"),
        }
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        self.forks.then(|| {
            called("fork");
            Box::new(self.clone()) as Box<dyn Checker>
        })
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().chop(self)
    }
}

impl Chop for Caller {
    fn chop(&self, _stack: &Stack) -> Result<Box<dyn Checker>, StepError> {
        called("chop");
        match ENDS.get() {
            Ends::ChopFails => return Err(StepError::new("it cannot be chopped")),
            Ends::ChopPanics => panic!("it cannot be chopped"),
            _ => {}
        }
        Ok(Box::new(Caller { number: self.number + 1, ..self.clone() }))
    }
}

/// Returns the registry of the checker, and of two layers over a disk.
fn registry(forks: bool) -> Registry {
    let layer = |name: &'static str| {
        ComponentDef::new(name, "a layer that notes its calls", move |_| Ok(Box::new(Layer(name))))
            .modes([Mode::Mem])
    };
    let ours = common::registry(if forks {
        |_: &Options| Ok(Box::new(Caller { forks: true, ..Caller::default() }) as Box<dyn Checker>)
    } else {
        |_: &Options| Ok(Box::new(Caller::default()) as Box<dyn Checker>)
    });
    let components = [common::disk(), layer("lower").on("disk"), layer("upper").on("lower")].into();
    Registry { components, ..ours }
}

/// Returns a plan for the checker on two layers over a disk.
fn plan(depth: u32) -> Plan {
    let plan = common::plan(depth);
    Plan { stack: plan.stack.plug("lower", Options::none()).plug("upper", Options::none()), ..plan }
}

/// Runs the checker on two layers over a disk.
fn run(depth: u32, chop: Option<u32>, forks: bool) -> (Said, Vec<String>) {
    let mut plan = plan(depth);
    plan.settings.chop = chop;
    CALLS.take();
    let said = common::run(&registry(forks), &plan);
    (said, CALLS.take())
}

/// Returns the names of calls as a list.
fn words(calls: &str) -> Vec<String> {
    calls.split(',').map(|call| call.trim().to_owned()).collect()
}

const FIRST_START: &str =
    "lower init, lower mount, upper init, upper mount, upper unmount, lower unmount";
const CHECKED: &str = "mutate, lower mount, upper mount, check";

#[test]
fn init_follows_the_mounts_and_finish_comes_before_the_unmounts() {
    let first = format!("lower mount, upper mount, init 0, {CHECKED}, finish 0");
    let chop = "chop, finish 0, upper unmount, lower unmount, lower mount, upper mount, init 1";
    let second = format!("lower mount, upper mount, init 0, mutate, {chop}, {CHECKED}, finish 1");
    let (said, calls) = run(2, Some(1), false);
    assert!(said.findings().is_empty() && said.summary().broken.is_zero());
    assert_eq!(calls, words(&format!("{FIRST_START}, {first}, {second}")));
}

#[test]
fn a_copy_of_the_checker_is_made_between_finish_and_init_and_begins_with_init() {
    let (said, calls) = run(3, Some(1), true);
    assert!(said.summary().broken.is_zero());
    let third =
        calls.iter().rposition(|call| call == "lower unmount").expect("a chop in the third unit");
    let before = "fork, lower mount, upper mount, init 1, mutate, chop, finish 1, upper unmount, \
                  lower unmount";
    let before = words(before);
    assert_eq!(calls[third + 1 - before.len()..=third], before);
    assert_eq!(
        calls[third + 1..],
        words(&format!("fork, lower mount, upper mount, init 2, {CHECKED}, finish 2"))
    );
}

fn broken(said: &Said) -> Vec<String> {
    let broken = said.messages.iter().filter_map(|message| match message {
        Message::Broken { message, .. } => Some(message.clone()),
        _ => None,
    });
    broken.collect()
}

/// Every init has its finish, after all mutates, however the unit ends. An error of finish never
/// hides the end of the unit.
#[test]
fn finish_is_called_however_a_unit_ends() {
    let cases = [
        (Ends::Well, None, None),
        (Ends::Found, Some("test/lost/found"), None),
        (Ends::Stop, None, None),
        (Ends::Violation, Some("test/lost/seen"), None),
        (Ends::Broken, None, Some("it cannot go on")),
        (Ends::Panic, None, Some("mutate panicked: it cannot go on")),
        (Ends::ChopFails, None, Some("a chop failed: it cannot be chopped")),
        (Ends::ChopPanics, None, Some("a chop failed: chop panicked: it cannot be chopped")),
    ];
    let finishes = [
        (Finish::Well, None),
        (Finish::Fails, Some("finish has failed")),
        (Finish::Panics, Some("finish panicked: in the end")),
    ];
    for (ends, finding, reason) in cases {
        for (finish, trouble) in finishes {
            ENDS.set(ends);
            FINISH.set(finish);
            let chop = matches!(ends, Ends::ChopFails | Ends::ChopPanics).then_some(1);
            let (said, calls) = run(2, chop, false);
            let own = of_checker(&calls);
            let units: Vec<&[&str]> = own.split_inclusive(|call| *call == "finish 0").collect();
            assert!(units.len() >= 2, "{ends:?}: {own:?}");
            for unit in &units {
                assert_eq!(
                    (unit[0], unit[unit.len() - 1]),
                    ("init 0", "finish 0"),
                    "{ends:?}: {own:?}"
                );
                assert!(
                    unit[1..unit.len() - 1].iter().all(|call| *call == "mutate"),
                    "{ends:?}: {own:?}"
                );
            }
            let found: Vec<&str> =
                said.findings().iter().map(|finding| finding.signature.as_str()).collect();
            assert_eq!(found, finding.into_iter().collect::<Vec<_>>(), "{ends:?}");
            assert!(said.findings().iter().all(|finding| finding.replayed), "{ends:?}");
            // The unit of the first mutate ends well, except for its finish.
            let expected: Vec<&str> = trouble.into_iter().chain(reason).collect();
            let reported = broken(&said);
            assert!(
                expected.iter().all(|why| reported.iter().any(|reported| reported.contains(why))),
                "{ends:?}: {reported:?}"
            );
            assert_eq!(reported.len(), expected.len(), "{ends:?}: {reported:?}");
        }
    }
}

/// A walk of three mutates meets the second state after the first of them, where the bound ends it.
#[test]
fn finish_is_called_where_the_bound_of_states_ends_a_unit() {
    let mut plan = plan(3);
    plan.settings.strategy = StrategyName::Random;
    plan.settings.states = Some(2);
    ENDS.set(Ends::Well);
    CALLS.take();
    let said = common::run(&registry(false), &plan);
    assert_eq!(said.summary().states, 2.into());
    assert_eq!(of_checker(&CALLS.take()), ["init 0", "mutate", "finish 0"]);
}

#[test]
fn finish_is_called_where_a_divergence_ends_a_replay() {
    ENDS.set(Ends::Chooses(2));
    let (said, _) = run(3, None, false);
    let trace = &said.traces[0];
    assert_eq!(trace.mutates, 3);
    ENDS.set(Ends::Chooses(3));
    CALLS.take();
    let outcome = replay(&registry(false), trace, &InProcess).expect("it is replayed");
    assert!(matches!(outcome, ReplayResult::Diverged(_)), "{outcome:?}");
    assert_eq!(of_checker(&CALLS.take()), ["init 0", "mutate", "mutate", "finish 0"]);
}

/// Returns the calls of the checker, except checks and chops.
fn of_checker(calls: &[String]) -> Vec<&str> {
    let is_counted =
        |call: &&str| *call == "mutate" || call.starts_with("init") || call.starts_with("finish");
    calls.iter().map(String::as_str).filter(is_counted).collect()
}
