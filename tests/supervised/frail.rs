//! A log on simulated files whose checker and component fail as their options say: they hang, exit,
//! abort, or die now and then.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use explode::ramdisk::files::OpenFlags;
use explode::runtime::base::{
    Blame, Mode, OptionDef, Options, StepError, TargetBounds, UsageError,
};
use explode::runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported};
use explode::runtime::crash::Epoch;
use explode::runtime::plan::{Registry, Target};
use explode::runtime::stack::{Below, Component, ComponentDef, Recovery, Stack, StackSpec};
use explode::runtime::verdict::{CheckError, Verdict, Violation};
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::getppid;

use crate::kernel;

const LOG: &str = "/log";
/// The kinds of failures.
const WAYS: [&str; 7] = ["error", "hang", "exit", "abort", "kill", "panic", "say"];
/// The kinds of failures in guests.
pub const GUEST_WAYS: [&str; 6] = ["error", "sysrq", "abort", "hang", "warn", "freeze"];
/// The places of failures in a run.
const PLACES: [&str; 5] = ["init", "mutate", "recover", "mount", "check"];

const OPTIONS: &[OptionDef] = &[
    OptionDef { name: "how", about: "what it does where it fails", default: "error" },
    OptionDef { name: "where", about: "the step in which it fails", default: "" },
    OptionDef {
        name: "dice",
        about: "a file to count steps in: in some of them the process is killed",
        default: "",
    },
    OptionDef { name: "deaths", about: "how often that happens", default: "200" },
    OptionDef { name: "apart", about: "at most twice in so many steps", default: "150" },
    OptionDef {
        name: "slow",
        about: "milliseconds that a check takes more, and a step that is slow",
        default: "0",
    },
    OptionDef {
        name: "first",
        about: "true: a mutate fails at once, and a recovery whatever the log is; false: after \
                another",
        default: "false",
    },
    OptionDef { name: "log", about: "is the log made by init? true, false", default: "true" },
];

/// Returns explode's registry with `frail` and its targets `frail`, `frail-HOW-WHERE`, `frail-slow`
/// and similar, and `frail-killed`.
pub fn registry() -> Registry {
    let mut registry = explode::registry();
    registry.components.push(
        ComponentDef::new("frail-files", "files that fail on request", |options| {
            Ok(Box::new(FrailFiles(Frail::of(options)?)))
        })
        .modes([Mode::Mem, Mode::Vm])
        .on("simfiles")
        .options(OPTIONS),
    );
    registry.checkers.push(
        CheckerDef::new("frail", "a log of lines that are never synced", |options| {
            Ok(Box::new(FrailLog { frail: Frail::of(options)?, lines: Vec::new() }))
        })
        .options(OPTIONS),
    );
    let mut add = |name: String, options: Options, depth: u32| {
        registry.targets.push(Target {
            name: name.into(),
            about: "for tests".into(),
            stack: StackSpec::default()
                .plug("simfiles", Options::none())
                .plug("frail-files", options.clone()),
            checker: "frail".into(),
            checker_options: options,
            bounds: TargetBounds { depth, limit: 200, samples: 40, crash_depth: 1 },
            seeded: false,
            expect: "clean".into(),
        });
    };
    add("frail".to_owned(), Options::none(), 4);
    for (how, place) in WAYS.into_iter().flat_map(|how| PLACES.map(|place| (how, place))) {
        add(
            format!("frail-{how}-{place}"),
            Options::none().with("how", how).with("where", place),
            3,
        );
    }
    add(
        "frail-interrupt".to_owned(),
        Options::none().with("how", "interrupt").with("where", "mount"),
        3,
    );
    add("frail-slow".to_owned(), Options::none().with("slow", 40_u64), 1);
    add("frail-long".to_owned(), Options::none().with("slow", 700_u64), 1);
    add("frail-slower".to_owned(), Options::none().with("slow", 3_600_000_u64), 1);
    // A process is killed only if a test has created such a file.
    let dice = std::env::var("EXPLODE_TEST_DICE").unwrap_or_default();
    let killed = Options::none().with("dice", dice.as_str());
    add("frail-killed".to_owned(), killed.clone(), 4);
    add("frail-killed-seldom".to_owned(), killed.with("deaths", 50_u64).with("apart", 600_u64), 4);
    let in_mutate = GUEST_WAYS.map(|how| (how, format!("frail-guest-{how}"), "mutate"));
    for (how, name, place) in
        in_mutate.into_iter().chain([("sysrq", "frail-guest-init".to_owned(), "init")])
    {
        let options = Options::none().with("how", how).with("where", place).with("first", true);
        registry.targets.push(Target {
            name: name.into(),
            about: "for tests".into(),
            stack: StackSpec::default()
                .plug("ramdisk", Options::none())
                .plug("ext2", Options::none())
                .plug(
                    "frail-files",
                    if place == "init" { options.clone() } else { Options::none() },
                ),
            checker: "frail".into(),
            checker_options: options,
            bounds: TargetBounds { depth: 1, limit: 10, samples: 4, crash_depth: 0 },
            seeded: false,
            expect: "clean".into(),
        });
    }
    registry
}

struct Frail {
    how: String,
    place: String,
    dice: Option<Dice>,
    slow: Duration,
    first: bool,
    log: bool,
}

impl Frail {
    fn of(options: &Options) -> Result<Frail, UsageError> {
        Ok(Frail {
            how: options.text("how", "error")?,
            place: options.text("where", "")?,
            dice: Dice::of(options)?,
            first: options.bool("first", false)?,
            log: options.bool("log", true)?,
            slow: Duration::from_millis(options.int("slow", 0)?),
        })
    }

    /// Begins a step. The chosen step misbehaves at the chosen moment. Returns true if the step
    /// must fail.
    fn step(&self, place: &str, moment: bool) -> bool {
        if let Some(dice) = &self.dice {
            dice.roll();
        }
        if self.place != place || !moment {
            return false;
        }
        match self.how.as_str() {
            "hang" => std::thread::sleep(Duration::from_secs(3600)),
            "exit" => std::process::exit(7),
            "abort" => std::process::abort(),
            "interrupt" => {
                // The second process that dies interrupts the run. The third one is the replay.
                if add("deaths", b".") == 2 {
                    kill(getppid(), Signal::SIGINT).expect("it waits for this process");
                }
                std::process::abort();
            }
            "slow" => {
                std::thread::sleep(self.slow);
                return false;
            }
            "kill" => drop(raise(Signal::SIGKILL)),
            "sysrq" => std::fs::write("/proc/sysrq-trigger", "c").expect("sysrq is there"),
            "warn" => kernel::warn(),
            "freeze" => kernel::freeze(),
            "panic" => panic!("on request"),
            "say" => {
                say();
                return false;
            }
            _ => {}
        }
        true
    }
}

/// Deaths of any process, by the number of the step.
///
/// A step that dies repeatedly is given up (docs/internals/architecture.md), which changes counts.
/// So deaths are at least `apart` steps apart.
struct Dice {
    /// A file with a byte for each step. `FILE.deaths` has the steps with a death, 8 bytes each.
    file: String,
    deaths: usize,
    apart: u64,
}

impl Dice {
    fn of(options: &Options) -> Result<Option<Dice>, UsageError> {
        let file = options.text("dice", "")?;
        let deaths = options.int("deaths", 200)? as usize;
        let apart = options.int("apart", 150)?;
        Ok((!file.is_empty()).then_some(Dice { file, deaths, apart }))
    }

    fn roll(&self) {
        let step = add(&self.file, b".");
        // A fixed sequence that hits one step in 64 on average.
        if !step.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).is_multiple_of(64) {
            return;
        }
        let path = format!("{}.deaths", self.file);
        let died = std::fs::read(&path).unwrap_or_default();
        let died: Vec<u64> =
            died.chunks_exact(8).map(|at| u64::from_le_bytes(at.try_into().unwrap())).collect();
        let early = died.iter().rev().nth(1).is_some_and(|at| at + self.apart > step);
        if !early && died.len() < self.deaths {
            add(&path, &step.to_le_bytes());
            raise(Signal::SIGKILL).expect("a process can kill itself");
        }
    }
}

/// Writes to the end of a file. Returns its new length.
fn add(path: &str, bytes: &[u8]) -> u64 {
    let mut file =
        OpenOptions::new().append(true).create(true).open(path).expect("the folder is there");
    file.write_all(bytes).expect("there is room");
    file.metadata().expect("it is open").len()
}

/// Prints some lines on standard error, each in two parts.
#[expect(clippy::print_stderr, reason = "this is what is tested")]
fn say() {
    for n in 1..=3 {
        eprint!("the system ");
        eprintln!("says {n}");
    }
}

struct FrailFiles(Frail);

impl Component for FrailFiles {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        if self.0.step("init", true) {
            return Err(StepError::new("on request"));
        }
        if !self.0.log {
            return Ok(());
        }
        let files = below.files()?;
        let log = files.open(LOG, OpenFlags::CREATE)?;
        files.fsync(log)?;
        files.close(log)?;
        Ok(files.sync_dir("/")?)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        if self.0.step("mount", torn(below)?) {
            return Err(StepError::new("on request").blame(Blame::Promise("requested")));
        }
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        if self.0.step("recover", self.0.first || torn(below)?) {
            return Err(StepError::new("on request").blame(Blame::Promise("requested")));
        }
        Ok(Recovery::Clean)
    }
}

/// Returns true if the log begins with a long line that a crash has torn at its second block.
fn torn(below: &Below<'_>) -> Result<bool, StepError> {
    Ok(below.files()?.read_file(LOG).is_ok_and(|log| is_torn(&log)))
}

fn is_torn(log: &[u8]) -> bool {
    log.len() == 5000 && log[0] == 0 && log[4999] == b'x'
}

struct FrailLog {
    frail: Frail,
    lines: Vec<usize>,
}

impl Checker for FrailLog {
    /// `init` creates the log.
    fn facts(&self, _stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        Ok(CheckerFacts::default().populated_ok())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let choice = cx.choose(3);
        let line = [&b"short\n"[..], &[b'x'; 5000], &[b'y'; 9000]][choice];
        let files = cx.stack().files()?;
        cx.check_crashes_start(&[]);
        let log = files.open(LOG, OpenFlags::EXISTING)?;
        files.pwrite(log, 0, line)?;
        cx.check_crashes_end(self, &[])?;
        let again = cx.choose(2);
        let before: &[usize] = if self.frail.first { &[] } else { &[0] };
        if self.frail.step("mutate", self.lines == before && choice == 1 && again == 0) {
            return Err(Violation::new(Verdict::CheckFailed, "requested", "on request").into());
        }
        files.fsync(log)?;
        files.close(log)?;
        self.lines.push(choice * 2 + again);
        Ok(())
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let log = stack.files()?.read_file(LOG)?;
        std::thread::sleep(self.frail.slow);
        if self.frail.step("check", is_torn(&log)) {
            return Err(Violation::new(Verdict::CheckFailed, "requested", "on request").into());
        }
        Ok(())
    }
}
