//! A component makes choices (EX-11): in one sequence with the checker, and never on the stack of a
//! crash disk.

use std::cell::RefCell;
use std::rc::Rc;

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Mode, OptionDef, Options, StepError};
use explode_runtime::check::{Checker, CheckerAbilities, Chop, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::Registry;
use explode_runtime::report::Message;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::{Asks, Below, Component, ComponentDef, Recovery, Stack, Surface};
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common::{self, Said};

thread_local! {
    /// Every answer, with the name of its choice.
    static ANSWERS: RefCell<Vec<(&'static str, usize)>> = const { RefCell::new(Vec::new()) };
}

const BLOCK: usize = 4096;

const OPTIONS: &[OptionDef] =
    &[OptionDef { name: "ways", about: "none, sound, all (the bug)", default: "sound" }];

/// A counter. It chooses how it is mounted, and how each count is written.
#[derive(Default)]
struct Counter {
    ways: usize,
    recovered: bool,
    open: Option<Rc<Open>>,
}

/// The counter while it is mounted.
struct Open {
    disk: RamDisk,
    asks: Asks,
    ways: usize,
}

/// Records an answer.
fn note(name: &'static str, answer: usize) -> usize {
    ANSWERS.with_borrow_mut(|answers| answers.push((name, answer)));
    answer
}

impl Open {
    /// Reads the count, after a choice.
    fn count(&self) -> u8 {
        note("look", self.asks.choose(2, "look"));
        let mut bytes = [0; BLOCK];
        self.disk.read(0, &mut bytes);
        bytes[0]
    }

    fn add(&self, count: u8) {
        let way = note("write", self.asks.choose(self.ways, "write"));
        self.disk.write(0, &[count; BLOCK], if way == 0 { Flags::FUA } else { Flags::NONE });
        // The third way leaves the write in the cache.
        if way == 1 {
            self.disk.flush();
        }
    }
}

impl Component for Counter {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        note("init", below.choose(2, "init"));
        Ok(())
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let name = if self.recovered { "mount of a crash disk" } else { "mount" };
        note(name, below.choose(2, name));
        self.open =
            Some(Rc::new(Open { disk: below.disk(0)?, asks: below.asks.clone(), ways: self.ways }));
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        self.recovered = true;
        note("recover", below.choose(2, "recover"));
        Ok(Recovery::Clean)
    }

    fn surface(&self) -> Surface {
        self.open.clone().map_or(Surface::Child, |open| Surface::Engine(open))
    }
}

/// A checker that counts, or looks at the count.
#[derive(Clone)]
struct Counts(u8);

impl Checker for Counts {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let counter = cx.stack().engine::<Open>()?;
        if cx.choose_named("action", 2) == 0 {
            self.0 += 1;
            counter.add(self.0);
        } else {
            cx.without_faults(|_| counter.count());
        }
        cx.check_crashes_now(self, &[self.0.to_string()])
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let count = stack.engine::<Open>()?.count();
        if count.to_string() == args[0] {
            return Ok(());
        }
        Err(Violation::new(Verdict::Lost, "count", format!("it was {}, and is {count}", args[0]))
            .into())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().chop(self)
    }
}

impl Chop for Counts {
    fn chop(&self, _stack: &Stack) -> Result<Box<dyn Checker>, StepError> {
        Ok(Box::new(self.clone()))
    }
}

fn run(
    ways: &str,
    depth: u32,
    chop: Option<u32>,
    strategy: StrategyName,
) -> (Said, Vec<(&'static str, usize)>) {
    let counter = ComponentDef::new("counter", "a counter that chooses", |options| {
        let ways = options.one_of("ways", &[("none", 0), ("sound", 2), ("all", 3)])?;
        Ok(Box::new(Counter { ways, ..Counter::default() }))
    })
    .modes([Mode::Mem])
    .on("disk")
    .options(OPTIONS);
    let ours = common::registry(|_| Ok(Box::new(Counts(0))));
    let registry = Registry { components: [common::disk(), counter].into(), ..ours };
    let mut plan = common::plan(depth);
    plan.stack = plan.stack.plug("counter", Options::none().with("ways", ways));
    plan.settings.skip = false;
    plan.settings.chop = chop;
    plan.settings.strategy = strategy;
    plan.settings.states = (plan.settings.strategy != StrategyName::Exhaust).then_some(40);
    ANSWERS.take();
    let said = common::run(&registry, &plan);
    (said, ANSWERS.take())
}

/// Returns the counts of states, operations, choices and failures.
fn counts(said: &Said) -> [String; 4] {
    let summary = said.summary();
    [&summary.states, &summary.operations, &summary.choices, &summary.broken]
        .map(ToString::to_string)
}

/// Returns the answers to choices of this name, sorted and without duplicates.
fn answers(all: &[(&'static str, usize)], name: &str) -> Vec<usize> {
    let mut answers: Vec<usize> =
        all.iter().filter(|(of, _)| *of == name).map(|(_, answer)| *answer).collect();
    answers.sort_unstable();
    answers.dedup();
    answers
}

/// The mount chooses one of 2 options. Then the checker adds in one of 2 ways, or looks, so each
/// state has 3 mutates.
#[test]
fn every_choice_of_a_component_is_tried() {
    let (said, all) = run("sound", 1, None, StrategyName::Exhaust);
    assert!(said.findings().is_empty());
    // 2 states after the mount, each with 3 mutates: two of them have 3 choices, one has 2.
    assert_eq!(counts(&said), ["8", "6", "16", "0"]);
    for name in ["mount", "write"] {
        assert_eq!(answers(&all, name), [0, 1], "{name}");
    }
    let (said, _) = run("sound", 2, None, StrategyName::Exhaust);
    // 6 states, each with 3 mutates: two of them have 2 choices, one has 1.
    assert_eq!(counts(&said), ["26", "24", "46", "0"]);
}

/// Also nothing is chosen while the first file systems are made, or when the checker itself looks.
#[test]
fn on_a_crash_disk_nothing_is_chosen() {
    let (_, all) = run("sound", 2, None, StrategyName::Exhaust);
    for name in ["init", "recover", "mount of a crash disk", "look"] {
        assert_eq!(answers(&all, name), [0], "{name}");
    }
}

#[test]
fn the_trace_has_one_sequence_of_choices_and_replays() {
    let (said, _) = run("all", 1, None, StrategyName::Exhaust);
    let signatures: Vec<&str> =
        said.findings().iter().map(|finding| finding.signature.as_str()).collect();
    assert_eq!(signatures, ["test/lost/count"]);
    assert!(said.findings().iter().all(|finding| finding.replayed));
    let choices: Vec<(&str, Option<&str>, u32)> = said.traces[0]
        .choices
        .iter()
        .map(|choice| (&*choice.label.site, choice.label.object.as_deref(), choice.value))
        .collect();
    assert_eq!(
        choices,
        [("mount", Some("counter"), 0), ("action", None, 0), ("write", Some("counter"), 2)]
    );
}

/// The mount after a chop chooses again: 3 mutates from each of 6 states, after 2 mounts.
#[test]
fn the_mount_after_a_chop_chooses() {
    let (said, _) = run("sound", 2, Some(1), StrategyName::Exhaust);
    assert!(said.findings().is_empty());
    assert_eq!(&counts(&said)[..2], ["44", "42"]);
    assert_eq!(counts(&said)[3], "0");
}

#[test]
fn walks_draw_the_choices_of_a_component() {
    let (said, all) = run("all", 3, None, StrategyName::Random);
    assert_eq!(answers(&all, "write"), [0, 1, 2]);
    assert_eq!(answers(&all, "mount"), [0, 1]);
    assert_eq!(said.findings().len(), 1);
    assert!(said.findings()[0].replayed);
}

#[test]
fn a_choice_among_no_options_is_broken() {
    let (said, _) = run("none", 1, None, StrategyName::Exhaust);
    let reported = said.messages.iter().find_map(|message| match message {
        Message::Broken { message, .. } => Some(message.clone()),
        _ => None,
    });
    let reported = reported.expect("it is broken");
    assert!(reported.contains("counter chooses 'write' among no options"), "{reported}");
}
