//! Choices that users place in the kernel (`docs/guide/kernel-faults.md`): by calls from their
//! module, and by names of functions.
//!
//! The module is `kmod/choosy.c`, a counter behind a file of /proc. In the guest it is
//! `/choosy.ko`.

use std::process::Command;
use std::rc::Rc;
use std::{fs, io};

use explode_runtime::base::{Mode, OptionDef, Options, RunError, StepError};
use explode_runtime::check::{Checker, CheckerDef, CrashRequest, Cx as MutateCx};
use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::explore::{ReachedState, State, Unit};
use explode_runtime::faults::kernel::{FAILURE_OPTIONS, KernelFaults};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Finding, Summary};
use explode_runtime::stack::{
    Asks, Below, Component, ComponentDef, Facts, Stack, StackSpec, Surface,
};
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress, UnitStop};
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::cases::Cx;
use crate::kernel_choices::{go, start};
use crate::report::Report;

/// The paths of the module and of its counter in the guest.
pub const MODULE: &str = "/choosy.ko";
pub const COUNTER: &str = "/proc/choosy";

/// Runs the case before EKM is loaded, because the module must load without it.
pub fn without_ekm(report: &mut Report) {
    report.case("module choices: without EKM a module runs normally", |_| {
        let listed = fs::read_to_string("/agent/modules").expect("the agent's modules");
        let ekm = listed.lines().find(|line| line.ends_with("ekm.ko")).expect("EKM is one of them");
        run("rmmod", "ekm");
        run("insmod", MODULE);
        for word in ["add", "many", "add"] {
            fs::write(COUNTER, word).expect(word);
        }
        // A request for crash checks has no effect.
        fs::write(COUNTER, "ask").expect("ask");
        assert_eq!(counted(), (2, 0));
        run("rmmod", "choosy");
        run("insmod", ekm);
        // Nor has it while EKM is loaded and not open.
        run("insmod", MODULE);
        fs::write(COUNTER, "ask").expect("ask");
        run("rmmod", "choosy");
    });
}

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let registry = with_choosy();
    let cx = Cx { registry: &registry, ..cx };
    report.case(
        "module choices: a failure that counts is found with them, and only with them",
        |_| {
            run("insmod", MODULE);
            found(cx);
            run("rmmod", "choosy");
        },
    );
    report.case("module choices: the point, and a choice among too many", |_| {
        run("insmod", MODULE);
        point(cx);
        run("rmmod", "choosy");
    });
    report.case("module choices: a component chooses between two of them, in one sequence", |_| {
        run("insmod", MODULE);
        between(cx);
        run("rmmod", "choosy");
    });
    report.case("probe sites: functions that cannot or must not be probed are refused", |_| {
        refused(cx)
    });
    report.case(
        "probe sites: a rename in steps is found with one, and one in a step is silent",
        |_| named(cx),
    );
}

/// Returns a registry with the counter's component and its checkers.
pub fn with_choosy() -> Registry {
    let mut registry = explode::registry();
    registry.components.push(choosy());
    registry.checkers.extend([counts(), pairs()]);
    registry
}

pub fn run(program: &str, argument: &str) {
    let ended = Command::new(program).arg(argument).output().expect(program);
    assert!(
        ended.status.success(),
        "{program} {argument}: {}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// Returns the counter, and the number of other results. No stray question got another answer than
/// to run normally.
fn counted() -> (u64, u64) {
    let text = fs::read_to_string(COUNTER).expect("the module is loaded");
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().expect(word)).collect();
    let [count, others, 0] = numbers[..] else { panic!("a stray question was heard: {text}") };
    (count, others)
}

/// Returns the component of the counter, on no disk.
fn choosy() -> ComponentDef {
    ComponentDef::new("choosy", "a counter in the kernel", |options| {
        let (failures, wrong) = (KernelFaults::of(options)?, options.bool("wrong", false)?);
        Ok(Box::new(Choosy { failures, wrong, adder: None }))
    })
    .modes([Mode::Vm])
    .options([
        FAILURE_OPTIONS[0],
        FAILURE_OPTIONS[1],
        FAILURE_OPTIONS[2],
        OptionDef { name: "wrong", about: "a failure counts: true, false", default: "false" },
    ])
}

struct Choosy {
    failures: KernelFaults,
    wrong: bool,
    adder: Option<Rc<Adder>>,
}

/// Adds once or twice, by a choice of its own.
struct Adder(Asks);

impl Adder {
    fn add(&self) {
        // A call that fails by choice is not a failure of the test.
        fs::write(COUNTER, "add").ok();
        if self.0.choose(2, "again") == 1 {
            fs::write(COUNTER, "add").ok();
        }
    }
}

impl Component for Choosy {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.adder = Some(Rc::new(Adder(below.asks.clone())));
        for word in ["reset", if self.wrong { "wrong" } else { "right" }] {
            fs::write(COUNTER, word)
                .map_err(|error| StepError::new(format!("{COUNTER}: {error}")))?;
        }
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.adder.clone().map_or(Surface::Child, |adder| Surface::Engine(adder))
    }

    fn facts(&self) -> Facts {
        Facts::default().kernel_failures(self.failures.clone()).reads_only_its_disks(false)
    }
}

/// Returns the checker: a call that fails has no effect (EX-100).
fn counts() -> CheckerDef {
    CheckerDef::new("counts", "what fails is not counted", |options| {
        Ok(Box::new(Counts { word: options.text("word", "add")? }))
    })
    .options([OptionDef {
        name: "word",
        about: "the word that the counter receives",
        default: "add",
    }])
}

struct Counts {
    word: String,
}

impl Checker for Counts {
    fn mutate(&mut self, cx: &mut MutateCx<'_>) -> Result<(), CheckError> {
        let (before, others) = cx.without_faults(|_| counted());
        let written: io::Result<()> = fs::write(COUNTER, &self.word);
        if self.word == "many" {
            cx.check_crashes_now(self, &[])?;
        }
        let (count, others_now) = cx.without_faults(|_| counted());
        let expected = before + u64::from(written.is_ok() && self.word == "add");
        if count != expected {
            let message = format!("{written:?}, and the counter is {count}, not {expected}");
            return Err(
                Violation::new(Verdict::Corrupt, "failed-add-has-no-effect", message).into()
            );
        }
        assert!(others_now - others <= 1, "one add goes one way");
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

/// Returns the checker that lets the component add.
fn pairs() -> CheckerDef {
    CheckerDef::new("pairs", "the component adds once or twice", |_| Ok(Box::new(Pairs)))
}

struct Pairs;

impl Checker for Pairs {
    fn mutate(&mut self, cx: &mut MutateCx<'_>) -> Result<(), CheckError> {
        cx.stack().engine::<Adder>()?.add();
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

pub fn counter(cx: Cx<'_>, fail: &str, wrong: bool) -> Plan {
    let options = Options::none().with("fail", fail).with("wrong", wrong);
    let stack = StackSpec::default().plug("choosy", options);
    let mut plan = Plan::of_parts(cx.registry, "counts", stack).expect("both are there");
    plan.settings.depth = 2;
    plan
}

/// Two adds with three results each, two of which are not normal. One of these is allowed on a
/// path.
fn found(cx: Cx<'_>) {
    let signature = "counts/corrupt/failed-add-has-no-effect";
    for (fail, wrong, counts, times) in [
        ("module", true, [6, 7, 6], 2),
        ("module", false, [9, 8, 6], 0),
        ("none", true, [3, 2, 0], 0),
    ] {
        let (summary, findings) = cx.explore(&counter(cx, fail, wrong));
        let Summary { states, operations, choices, .. } = &summary;
        let counted = [states, operations, choices].map(|count| u64::try_from(&count.0).unwrap());
        assert_eq!((counted, summary.complete), (counts, true), "{fail}, {wrong}: {summary:?}");
        // A finding is reported when it is found, and again with its count.
        let is_expected = |finding: &Finding| finding.signature == signature && finding.replayed;
        assert!(findings.iter().all(is_expected), "{fail}, {wrong}: {findings:?}");
        assert_eq!(
            findings.last().map_or(0, |finding| u64::try_from(&finding.count.0).unwrap()),
            times
        );
    }
    // With all other kinds, which have choices in the same calls.
    let mut plan = counter(cx, "all", true);
    plan.settings.depth = 1;
    let (_, findings) = cx.explore(&plan);
    assert!(
        !findings.is_empty() && findings.iter().all(|finding| finding.signature == signature),
        "{findings:?}"
    );
}

/// The choices of the kernel and of the component form one sequence. The first add has 3 results.
/// Then the component adds again or does not. After a normal first add the second one also has 3
/// results.
fn between(cx: Cx<'_>) {
    let mut plan = Plan::of_parts(cx.registry, "pairs", counter(cx, "module", false).stack)
        .expect("both are there");
    plan.settings.depth = 1;
    let (summary, findings) = cx.explore(&plan);
    assert!(summary.complete && findings.is_empty(), "{summary:?}, {findings:?}");
    let Summary { operations, choices, .. } = &summary;
    // 2 failures and 2 ways to go on, with 2 choices each; once 2 choices; 3 results with 3
    // choices.
    assert_eq!((operations, choices), (&8.into(), &19.into()));
    let runner = start(cx, &plan);
    // `go` does not answer a point that is not in the script. The path ends there.
    let mut script = go(&runner, "", &[]).choices;
    script.push(Choice::of(&ChoicePoint::action(2, Label::named("again").on("choosy")), 1));
    let kinds: Vec<(ChoiceKind, Option<String>)> = go(&runner, "", &script)
        .choices
        .into_iter()
        .map(|choice| (choice.kind, choice.label.object))
        .collect();
    let component = (ChoiceKind::Action, Some("choosy".to_owned()));
    assert_eq!(
        kinds,
        [(ChoiceKind::ModuleChoice, None), component, (ChoiceKind::ModuleChoice, None)]
    );
}

fn point(cx: Cx<'_>) {
    let plan = counter(cx, "module", true);
    let runner = start(cx, &plan);
    let once = go(&runner, "", &[]);
    let [Choice { kind, options, value, name: None, label }] = &once.choices[..] else {
        panic!("{:#?}", once.choices)
    };
    assert_eq!(
        (*kind, *options, *value, label.site.as_str()),
        (ChoiceKind::ModuleChoice, 3, 2, "module add")
    );
    assert!(label.stack.is_some() && label.object.is_none(), "{label:?}");
    // The script takes another result. A third one, which does not exist, diverges.
    let other = |value: u32, options: u32| Choice { value, options, ..once.choices[0].clone() };
    let again = go(&runner, "", &[other(1, 3)]);
    assert!(again.early.is_none(), "{:?}", again.early);
    assert_eq!(
        again.choices[0].name.as_deref(),
        Some("1 of 3: add < choosy_write < proc_reg_write < vfs_write < ksys_write")
    );
    let diverged = go(&runner, "", &[other(1, 4)]).early;
    assert!(matches!(diverged, Some(UnitStop::Diverged(_))), "{diverged:?}");
    let mut plan = plan.clone();
    plan.checker_options = Options::none().with("word", "many");
    let runner = start(cx, &plan);
    let unit = Unit::one(State::default(), Vec::new());
    let mut work = Unasked { asked: false };
    match runner.run(&unit, &mut work).early {
        Some(UnitStop::Broken(why)) => {
            assert!(
                why.message.starts_with("a module chooses one of 65537 options in choosy_write"),
                "{why:?}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(!work.asked, "no crash is looked at where the kernel's choices are not known");
}

/// Checks no crash, and records whether one was requested.
struct Unasked {
    asked: bool,
}

impl UnitHooks for Unasked {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        panic!("nothing is chosen here: {point:?}")
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &CrashRequest<'_>,
        _so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        self.asked = true;
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}

/// Returns the error of ext2's start with an option.
fn refusal(cx: Cx<'_>, option: &str, value: &str) -> Option<RunError> {
    let mut plan = cx.plan("fs-failures-ext2");
    let ext2 = &mut plan.stack.0[1];
    ext2.options = Options::none().with(option, value);
    Runner::start(cx.registry, &plan, cx.backend).err()
}

fn refused(cx: Cx<'_>) {
    for (site, said) in [
        (
            "ext2_add_lnik:-ENOSPC",
            "this kernel has no function 'ext2_add_lnik'; did you mean 'ext2_add_link'?",
        ),
        ("submit_bh_wbc:0", "the compiler has made 'submit_bh_wbc.constprop.0' of it"),
        ("no_such_function_at_all:0", "may be inlined into its callers"),
        ("init_once:0", "functions 'init_once', and only one could be probed"),
        ("ext2_add_link:-ENOSPC", "is not in the kernel's list of functions that may fail"),
        ("should_failslab:1", "'should_failslab' fails with an error, write one such as -EIO"),
        ("should_fail_alloc_page:-ENOMEM", "'should_fail_alloc_page' fails with true, write 1"),
        ("get_kprobe:0:unlisted", "'get_kprobe' cannot be probed: "),
    ] {
        match refusal(cx, "probe", site) {
            Some(RunError::Usage(error)) => {
                assert!(error.to_string().contains(said), "{site}: {error}")
            }
            other => panic!("{site}: {other:?}"),
        }
    }
    assert!(refusal(cx, "probe", "should_failslab:-ENOMEM").is_none());
}

/// The second step of the rename is a link, which fails if its name cannot be put into the
/// directory. So does a rename in one step, but without an effect.
fn named(cx: Cx<'_>) {
    for (probe, steps, found) in [
        ("ext2_add_link:-ENOSPC:unlisted", true, &["failed-rename-has-no-effect"][..]),
        ("ext2_add_link:-ENOSPC:unlisted", false, &[]),
        ("none", true, &[]),
    ] {
        let mut plan = cx.plan("ext2+rename-in-steps");
        let [_, ext2, rename] = &mut plan.stack.0[..] else { panic!("three layers") };
        ext2.options = Options::none().with("probe", probe);
        rename.options = rename.options.clone().with("steps", steps);
        let (summary, findings) = cx.explore(&plan);
        let mut promises: Vec<&str> = findings
            .iter()
            .map(|finding| {
                finding.signature.strip_prefix("fs-failures/corrupt/").expect("a difference")
            })
            .collect();
        promises.dedup();
        assert_eq!(promises, found, "{probe}, {steps}");
        assert!(
            summary.complete && findings.iter().all(|finding| finding.replayed),
            "{findings:?}"
        );
    }
}
