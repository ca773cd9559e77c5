//! Kernel code requests crash checks in the middle of its operation (EX-66). They find a bug that
//! no other check finds.
//!
//! The code is the log of records in `kmod/choosy.c`. Each of its writes is durable before the next
//! one begins, so a crash after an operation loses nothing.

use std::cell::RefCell;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::rc::Rc;

use explode_runtime::base::{Mode, OptionDef, Options, StepError};
use explode_runtime::check::{Checker, CheckerDef, Cx as MutateCx};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::Side;
use explode_runtime::plan::Plan;
use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, explore};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Stack, StackSpec, Surface};
use explode_runtime::verdict::{BrokenKind, CheckError, Verdict, Violation};

use crate::cases::Cx;
use crate::kernel_sites::{COUNTER, MODULE, run};
use crate::report::Report;

const BLOCK: usize = 4096;

thread_local! {
    /// For every check: its epoch and argument, the number of records on the disk, and the number
    /// that is counted.
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let mut registry = explode::registry();
    registry.components.push(records());
    registry.checkers.push(adds());
    let cx = Cx { registry: &registry, ..cx };
    let mut case = |name: &str, case: &dyn Fn()| {
        report.case(&format!("kernel asks: {name}"), |_| {
            run("insmod", MODULE);
            case();
            run("rmmod", "choosy");
        });
    };
    case("a bug within an operation is found at the request of the kernel, and replays", &|| {
        found(cx)
    });
    case("the fixed twin is silent, and its checks are made", &|| silent(cx));
    case("a checker without requests is called for those of the kernel", &|| {
        only_the_kernel_asks(cx)
    });
    case(
        "a request on the stack of a crash disk is refused, and one at other times does nothing",
        &|| {
            mounting(cx);
        },
    );
    case("a wrong name is refused", &|| names(cx));
}

/// Returns the component of the log, on one disk.
fn records() -> ComponentDef {
    ComponentDef::new("records", "a log in the kernel that counts its records", |options| {
        Ok(Box::new(Records {
            wrong: options.bool("wrong", false)?,
            mounting: options.one_of(
                "mounting",
                &[("never", None), ("live", Some(Side::Live)), ("crash", Some(Side::Crash))],
            )?,
            open: None,
        }))
    })
    .modes([Mode::Vm])
    .on("disk")
    .options([
        OptionDef {
            name: "wrong",
            about: "a record is counted before it is there: true, false",
            default: "false",
        },
        OptionDef {
            name: "mounting",
            about: "asks when it is mounted: never, live, crash",
            default: "never",
        },
    ])
}

struct Records {
    wrong: bool,
    mounting: Option<Side>,
    open: Option<Rc<Open>>,
}

/// The mounted log: its disk and the side.
struct Open(PathBuf, Side);

impl Open {
    /// Returns the number of records on the disk, and the number that is counted.
    fn records(&self) -> (u8, u8) {
        let disk = File::open(&self.0).expect("the disk is there");
        let at = |block: u8| {
            let mut bytes = [0; BLOCK];
            disk.read_exact_at(&mut bytes, u64::from(block) * BLOCK as u64)
                .expect("it is large enough");
            bytes[0]
        };
        let counted = at(0);
        ((1..=counted).filter(|record| at(*record) == *record).count() as u8, counted)
    }
}

fn tell(word: &str) -> Result<(), StepError> {
    fs::write(COUNTER, word).map_err(|error| StepError::new(format!("{COUNTER}: {word}: {error}")))
}

impl Component for Records {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let (disk, side) =
            (below.block(0)?, below.devices.kernel().expect("it is in a guest").side());
        if self.mounting == Some(side) {
            tell("ask")?;
        }
        // The module has one disk, the one of the live side.
        if side == Side::Live {
            tell(if self.wrong { "wrong" } else { "right" })?;
            tell(&format!("disk {}", disk.display()))?;
        }
        self.open = Some(Rc::new(Open(disk, side)));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        match self.open.take() {
            Some(open) if open.1 == Side::Live => tell("close"),
            _ => Ok(()),
        }
    }

    fn surface(&self) -> Surface {
        self.open.clone().map_or(Surface::Child, |open| Surface::Engine(open))
    }

    fn facts(&self) -> Facts {
        Facts::default().reads_only_its_disks(false)
    }
}

/// Returns the checker: every counted record is on the disk.
fn adds() -> CheckerDef {
    CheckerDef::new("adds", "records that are counted are there", |options| {
        Ok(Box::new(Adds {
            word: options.text("word", "append")?,
            asks: options.bool("asks", true)?,
        }))
    })
    .options([
        OptionDef { name: "word", about: "what the log is asked for", default: "append" },
        OptionDef {
            name: "asks",
            about: "does it ask for crash checks itself: true, false",
            default: "true",
        },
    ])
}

struct Adds {
    word: String,
    asks: bool,
}

impl Checker for Adds {
    fn mutate(&mut self, cx: &mut MutateCx<'_>) -> Result<(), CheckError> {
        tell(&self.word)?;
        if self.asks {
            cx.check_crashes_now(self, &["own".to_owned()])?;
        }
        Ok(())
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let (there, counted) = stack.engine::<Open>()?.records();
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

fn plan(cx: Cx<'_>, records: Options, adds: Options) -> Plan {
    let stack = StackSpec::default()
        .plug("ramdisk", Options::none().with("size", "64KiB"))
        .plug("records", records);
    let mut plan = Plan::of_parts(cx.registry, "adds", stack).expect("all are there");
    plan.checker_options = adds;
    plan.settings.depth = 2;
    plan.settings.skip = false;
    plan
}

/// Explores a plan. Also returns the observations of every check.
fn explored(cx: Cx<'_>, plan: &Plan) -> (Summary, Vec<Finding>, Vec<String>) {
    SEEN.take();
    let (summary, findings) = cx.explore(plan);
    (summary, findings, SEEN.take())
}

fn counts(summary: &Summary) -> [u64; 3] {
    let Summary { operations, crash_disks, broken, .. } = summary;
    [operations, crash_disks, broken].map(|count| u64::try_from(&count.0).expect("it is small"))
}

fn found(cx: Cx<'_>) {
    let plan = plan(cx, Options::none().with("wrong", true), Options::none());
    let (summary, findings, seen) = explored(cx, &plan);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.signature.as_str(), finding.replayed), ("adds/lost/record", true));
    assert_eq!(finding.epoch, Some(Epoch::Now));
    // The last two are the finding and its replay.
    assert_eq!(seen, ["now half: 0 of 1"; 2]);
    assert_eq!(counts(&summary), [1, 1, 0]);
}

fn silent(cx: Cx<'_>) {
    let (summary, findings, seen) = explored(cx, &plan(cx, Options::none(), Options::none()));
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(
        seen,
        ["now half: 0 of 0", "now own: 1 of 1", "now half: 1 of 1", "now own: 2 of 2"]
    );
    assert_eq!(counts(&summary), [2, 4, 0]);
}

fn only_the_kernel_asks(cx: Cx<'_>) {
    let quiet = || Options::none().with("asks", false);
    let (summary, findings, seen) = explored(cx, &plan(cx, Options::none(), quiet()));
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(seen, ["now half: 0 of 0", "now half: 1 of 1"]);
    assert_eq!(counts(&summary), [2, 2, 0]);
    let (_, findings, _) = explored(cx, &plan(cx, Options::none().with("wrong", true), quiet()));
    assert!(
        matches!(&findings[..], [one] if one.signature == "adds/lost/record" && one.replayed),
        "{findings:?}"
    );
}

fn mounting(cx: Cx<'_>) {
    let asks = |when: &str| plan(cx, Options::none().with("mounting", when), Options::none());
    let (summary, _, seen) = explored(cx, &asks("live"));
    assert_eq!((seen.len(), counts(&summary)), (4, [2, 4, 0]), "{seen:?}");
    let reported = broken(cx, &asks("crash"));
    let expected = "records: code of the kernel (ask [choosy]) asked for crash checks ('asked') \
                    on the stack of a crash disk";
    assert!(reported.contains(expected), "{reported}");
}

fn names(cx: Cx<'_>) {
    let asks = |word: &str| plan(cx, Options::none(), Options::none().with("word", word));
    let long = "with a name of more than 255 bytes ('nnn";
    for (word, why) in [
        ("empty", "empty"),
        ("null", "empty"),
        ("long", long),
        ("latin1", "not UTF-8 ('h\u{fffd}lf')"),
    ] {
        let reported = broken(cx, &asks(word));
        let whose = "code of the kernel (ask [choosy]) asked for crash checks with ";
        assert!(reported.contains(whose) && reported.contains(why), "{word}: {reported}");
    }
    let (summary, findings, seen) = explored(cx, &asks("full"));
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(
        (seen[0].as_str(), counts(&summary)),
        (format!("now {}: 0 of 0", "n".repeat(255)).as_str(), [2, 4, 0])
    );
}

/// Returns the message of a run that a component has broken.
fn broken(cx: Cx<'_>, plan: &Plan) -> String {
    let out = tempfile::tempdir().expect("a folder in memory");
    let mut reported = Vec::new();
    let mut sink = |message: &Message| match message {
        Message::Broken { kind, message, .. } => reported.push((*kind, message.clone())),
        Message::Finding(finding) => panic!("{finding:?}"),
        _ => {}
    };
    let mut confirm = |_: &std::path::Path| Confirmation::Not("there is no finding".to_owned());
    let out = out.path().join("run");
    let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    explore(cx.registry, plan, cx.backend, &mut audience).expect("it runs");
    let (kind, message) = reported.into_iter().next().expect("it is broken");
    assert_eq!(kind, BrokenKind::Component, "{message}");
    message
}
