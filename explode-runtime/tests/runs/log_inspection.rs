//! A checker reads the log, adds its own records, and requests crash checks at each of them
//! (EX-65).

use std::cell::RefCell;

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::Options;
use explode_runtime::check::{Checker, CheckerFacts, Cx, Unsupported};
use explode_runtime::crash::Epoch;
use explode_runtime::events::Event;
use explode_runtime::report::Message;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common;

thread_local! {
    /// The argument of every check, and the first byte of each block.
    static SEEN: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
    /// The parts of the log that the checker read, one per call.
    static READ: RefCell<Vec<Vec<String>>> = const { RefCell::new(Vec::new()) };
}

/// A checker that writes A and B, flushes, and writes C. Each step has a crash check.
#[derive(Clone, Copy)]
struct Steps {
    /// True if it checks at marks, after all steps; false if it checks at once.
    at_marks: bool,
    /// True if it demands C before C is flushed.
    wrong: bool,
    reads: bool,
}

const STEPS: [&str; 4] = ["a", "b", "flushed", "c"];

fn step(disk: &RamDisk, name: &str) {
    match name {
        "a" => disk.write(0, &[b'A'; 512], Flags::NONE),
        "b" => disk.write(8, &[b'B'; 512], Flags::NONE),
        "flushed" => disk.flush(),
        _ => disk.write(16, &[b'C'; 512], Flags::NONE),
    }
}

fn kind(event: &Event) -> String {
    match event {
        Event::Mark { name } => name.clone(),
        Event::Submit { .. } => "submit".to_owned(),
        Event::Complete { .. } => "complete".to_owned(),
        Event::Flush { .. } => "flush".to_owned(),
        _ => "other".to_owned(),
    }
}

impl Checker for Steps {
    fn facts(&self, _stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        Ok(CheckerFacts::default().reads_log(self.reads))
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        for name in STEPS {
            step(&disk, name);
            if self.at_marks {
                cx.mark(name)?;
            } else {
                cx.check_crashes_now(self, &[name.to_owned()])?;
            }
            if name == "b" && self.at_marks {
                read(cx)?;
            }
        }
        if !self.at_marks {
            return Ok(());
        }
        // Reading copies the log, so the engine's log stays the same.
        read(cx)?;
        STEPS.iter().try_for_each(|name| cx.check_crashes_at(name, self, &[(*name).to_owned()]))
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let disk = stack.disk()?;
        let mut sector = [0; 512];
        let letter = |block: u64| {
            disk.read(block * 8, &mut sector);
            if sector[0] == 0 { '.' } else { char::from(sector[0]) }
        };
        let found: String = (0..3).map(letter).collect();
        SEEN.with_borrow_mut(|seen| seen.push((args.join(" "), found.clone())));
        let legal = match args[0].as_str() {
            "flushed" => found == "AB.",
            "c" => found.starts_with("AB") && (!self.wrong || found == "ABC"),
            _ => true,
        };
        let violation =
            || Violation::new(Verdict::Lost, "order".to_owned(), format!("{found} at {}", args[0]));
        if legal { Ok(()) } else { Err(violation().into()) }
    }
}

fn read(cx: &mut Cx<'_>) -> Result<(), CheckError> {
    let events = cx.log()?;
    READ.with_borrow_mut(|read| read.push(events.iter().map(kind).collect()));
    Ok(())
}

fn run(steps: Steps) -> common::Said {
    thread_local! {
        static STEPS: RefCell<Option<Steps>> = const { RefCell::new(None) };
    }
    STEPS.set(Some(steps));
    let registry = common::registry(|_: &Options| {
        Ok(Box::new(STEPS.with_borrow(|steps| steps.expect("it was set"))))
    });
    SEEN.take();
    READ.take();
    common::run(&registry, &common::plan(1))
}

const MARKED: Steps = Steps { at_marks: true, wrong: false, reads: true };

#[test]
fn checks_at_marks_are_the_checks_of_those_instants() {
    let said = run(MARKED);
    let mut at_marks = SEEN.take();
    assert!(said.findings().is_empty());
    // A or not; A and B or not; both; both, with C or not.
    assert_eq!(said.summary().crash_disks, (2 + 4 + 1 + 2).into());
    let said = run(Steps { at_marks: false, reads: false, ..MARKED });
    let mut at_once = SEEN.take();
    assert_eq!(said.summary().crash_disks, 9.into());
    at_marks.sort();
    at_once.sort();
    assert_eq!(at_marks, at_once);
}

#[test]
fn the_log_is_read_in_parts_and_has_the_marks() {
    run(MARKED);
    let read = READ.take();
    let all: Vec<&str> = read.iter().flatten().map(String::as_str).collect();
    let marks: Vec<&str> =
        all.iter().copied().filter(|kind| kind.starts_with("checker ")).collect();
    assert_eq!(marks, ["checker a", "checker b", "checker flushed", "checker c"]);
    assert_eq!(all.iter().filter(|kind| **kind == "submit").count(), 3, "{all:?}");
    assert_eq!(read.len(), 2);
    assert!(read[0].ends_with(&["checker b".to_owned()]), "nothing is read twice: {read:?}");
}

#[test]
fn a_finding_at_a_mark_replays() {
    let said = run(Steps { wrong: true, ..MARKED });
    let findings = said.findings();
    assert_eq!(
        findings.iter().map(|finding| &finding.signature[..]).collect::<Vec<_>>(),
        ["test/lost/order"]
    );
    assert!(findings[0].message.contains("AB. at c"), "{}", findings[0].message);
    assert_eq!(said.traces.len(), 1);
}

#[test]
fn reading_the_log_without_the_fact_is_an_error() {
    let said = run(Steps { reads: false, ..MARKED });
    let broken = said.messages.iter().find_map(|message| match message {
        Message::Broken { message, .. } => Some(message.clone()),
        _ => None,
    });
    assert!(broken.is_some_and(|why| why.contains("CheckerFacts::default().reads_log(true)")));
}
