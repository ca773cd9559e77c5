//! Systems whose smallest failing trace and disk are known: checkers on a RAM disk, and a component
//! whose recovery must not be interrupted.

use explode::ramdisk::{Flags, RamDisk};
use explode::runtime::base::{
    Blame, Mode, OptionDef, Options, StepError, TargetBounds, UsageError,
};
use explode::runtime::check::{Checker, CheckerDef, Cx};
use explode::runtime::choose::{ChoiceKind, ChoicePoint, Label};
use explode::runtime::crash::Epoch;
use explode::runtime::plan::{Registry, Target};
use explode::runtime::stack::{Below, Component, ComponentDef, Recovery, Stack, StackSpec};
use explode::runtime::verdict::{CheckError, Verdict, Violation};
use std::borrow::Cow;

/// The number of sectors of a block, which is a piece.
const BLOCK: u64 = 8;

/// Returns explode's registry with the toys and their targets.
pub fn registry() -> Registry {
    let mut registry = explode::registry();
    registry.components.push(
        ComponentDef::new(
            "redo",
            "goes on with what it finds begun, in two steps that nothing orders",
            |_| Ok(Box::new(Redo)),
        )
        .modes([Mode::Mem])
        .on("ramdisk"),
    );
    registry.checkers.extend([
        CheckerDef::new("armed", "for tests", Armed::build).options(ARMED),
        CheckerDef::new("begun", "for tests", |_| Ok(Box::new(Begun))),
        CheckerDef::new("journal", "for tests", Journal::build).options(JOURNAL),
    ]);
    let none = Options::none;
    let mut add = |name: &'static str,
                   checker,
                   on: &[&str],
                   options: Options,
                   depth: u32,
                   crash_depth: u32| {
        let stack =
            on.iter().fold(StackSpec::default(), |stack, component| stack.plug(component, none()));
        registry.targets.push(Target {
            name: Cow::Borrowed(name),
            about: "for tests".into(),
            stack,
            checker: Cow::Borrowed(checker),
            checker_options: options,
            bounds: TargetBounds { depth, limit: 4000, samples: 400, crash_depth },
            seeded: true,
            expect: "lost".into(),
        });
    };
    add("armed", "armed", &["ramdisk"], none(), 9, 0);
    add("armed-fixed", "armed", &["ramdisk"], none().with("fixed", true), 9, 0);
    add("armed-exit", "armed", &["ramdisk"], none().with("how", "exit"), 9, 0);
    add("armed-exit-mutate", "armed", &["ramdisk"], none().with("how", "exit-mutate"), 9, 0);
    add("armed-mutate", "armed", &["ramdisk"], none().with("how", "mutate"), 9, 0);
    add("begun", "begun", &["ramdisk", "redo"], none(), 1, 1);
    add("journal", "journal", &["ramdisk"], none(), 1, 0);
    add("journal-fixed", "journal", &["ramdisk"], none().with("fixed", true), 1, 0);
    add("journal-doomed", "journal", &["ramdisk"], none().with("doomed", true), 1, 0);
    registry
}

/// Asks at a site with the same name in every version of this file.
fn ask(cx: &mut Cx<'_>, site: &str, names: &[&str]) -> usize {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let label = Label { site: site.to_owned(), ..Label::default() };
    let options = names.len() as u32;
    cx.choose_at(&ChoicePoint {
        kind: ChoiceKind::Action,
        options,
        names: &names,
        weights: &[],
        label,
    }) as usize
}

fn write(disk: &RamDisk, block: u64, byte: u8) {
    disk.write(block * BLOCK, &[byte; 4096], Flags::NONE);
}

fn is(disk: &RamDisk, block: u64, byte: u8) -> bool {
    let mut found = [0; 512];
    disk.read(block * BLOCK, &mut found);
    found[0] == byte
}

const ARMED: &[OptionDef] = &[
    OptionDef { name: "fixed", about: "true: nothing is wrong", default: "false" },
    OptionDef {
        name: "how",
        about: "what is wrong is said by check or mutate, or ends the process in one: exit, \
                exit-mutate",
        default: "check",
    },
];

/// A checker that is armed twice and then writes A and B when it fires. B must not be on the disk
/// without A: three mutates of nine, and one lost block. The rest is noise.
struct Armed {
    fixed: bool,
    how: String,
    armed: u32,
}

impl Armed {
    fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
        let (fixed, how) = (options.bool("fixed", false)?, options.text("how", "check")?);
        Ok(Box::new(Armed { fixed, how, armed: 0 }))
    }
}

impl Checker for Armed {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let action = ask(cx, "action", &["noise", "more noise", "arm", "fire"]);
        let block = ask(cx, "block", &["0", "1", "2", "3", "4", "5"]) as u64;
        let disk = cx.stack().disk()?;
        cx.check_crashes_start(&[]);
        match action {
            0 => write(&disk, 32 + block, b'n'),
            1 => {
                let more = ask(cx, "more", &["0", "1", "2"]) as u64;
                (0..=more).for_each(|more| write(&disk, 48 + block + more, b'm'));
            }
            2 => {
                self.armed += 1;
                write(&disk, 64 + block, b'a');
            }
            _ if self.armed >= 2 => {
                write(&disk, 0, b'A');
                (0..=block).for_each(|block| write(&disk, 16 + block, b'f'));
                if self.fixed {
                    disk.flush();
                }
                write(&disk, 1, b'B');
                if self.how == "exit-mutate" {
                    std::process::exit(7);
                }
                if self.how == "mutate" {
                    return Err(Violation::new(Verdict::Lost, "order", "it has fired").into());
                }
            }
            _ => {}
        }
        cx.check_crashes_end(self, &["fired".to_owned()])
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let disk = stack.disk()?;
        if !is(&disk, 1, b'B') || is(&disk, 0, b'A') {
            return Ok(());
        }
        if self.how != "exit" {
            return Err(Violation::new(Verdict::Lost, "order", "B is there without A").into());
        }
        // A worker's death is expensive, so only one disk causes it.
        if (16..80).all(|block| is(&disk, block, 0)) {
            std::process::exit(7);
        }
        Ok(())
    }
}

/// A component whose recovery writes two blocks among others. It fails if it finds the second block
/// without the first.
struct Redo;

const FLAG: u64 = 0;
const FIRST: u64 = 100;
const SECOND: u64 = 101;

impl Component for Redo {
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let disk = below.disk(0)?;
        if !is(&disk, FLAG, b'F') {
            return Ok(Recovery::Clean);
        }
        if is(&disk, SECOND, b'2') && !is(&disk, FIRST, b'1') {
            return Err(StepError::new("the second step was taken, the first was not")
                .blame(Blame::Promise("steps")));
        }
        (110..113).for_each(|block| write(&disk, block, b'n'));
        write(&disk, FIRST, b'1');
        (113..116).for_each(|block| write(&disk, block, b'n'));
        write(&disk, SECOND, b'2');
        Ok(Recovery::Repaired)
    }
}

/// A checker that writes the flag on which [`Redo`] acts, and noise.
struct Begun;

impl Checker for Begun {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let noise = ask(cx, "noise", &["0", "1", "2"]) as u64;
        let disk = cx.stack().disk()?;
        cx.check_crashes_start(&[]);
        (0..=noise).for_each(|block| write(&disk, 32 + block, b'n'));
        write(&disk, FLAG, b'F');
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

const JOURNAL: &[OptionDef] = &[
    OptionDef { name: "fixed", about: "true: nothing is wrong", default: "false" },
    OptionDef { name: "doomed", about: "true: nothing is ever right at the end", default: "false" },
];

/// A checker with three blocks of data, then a commit that precedes them on the disk. The commit
/// must not be on the disk without them. At the end it must be there.
struct Journal {
    fixed: bool,
    doomed: bool,
}

const COMMIT: u64 = 0;
const DATA: std::ops::Range<u64> = 1..4;

impl Journal {
    fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
        let (fixed, doomed) = (options.bool("fixed", false)?, options.bool("doomed", false)?);
        Ok(Box::new(Journal { fixed, doomed }))
    }
}

impl Checker for Journal {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        ask(cx, "what", &["commit", "nothing"]);
        let disk = cx.stack().disk()?;
        cx.check_crashes_start(&["before".to_owned()]);
        DATA.for_each(|block| write(&disk, block, b'D'));
        if self.fixed {
            disk.flush();
        }
        write(&disk, COMMIT, b'C');
        if self.fixed {
            disk.flush();
        }
        cx.check_crashes_end(self, &["after".to_owned()])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let disk = stack.disk()?;
        let data = DATA.filter(|block| is(&disk, *block, b'D')).count();
        let error = |promise: &str, message: String| {
            Err(Violation::new(Verdict::Lost, promise, message).into())
        };
        if self.doomed {
            return if epoch == Epoch::End {
                error("doomed", "nothing is right".to_owned())
            } else {
                Ok(())
            };
        }
        match is(&disk, COMMIT, b'C') {
            true if data < 3 => error("whole", format!("committed, with {data} of 3 blocks")),
            false if epoch == Epoch::End => {
                error("committed", format!("not committed, with {data} of 3 blocks"))
            }
            _ => Ok(()),
        }
    }
}
