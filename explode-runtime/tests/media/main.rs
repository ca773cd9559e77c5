//! Blocks that go bad, as choices (EX-112, EX-118). A mirror over two disks survives each of them
//! if it tests its reads.

#[path = "../common/mod.rs"]
mod common;

mod mirror;
mod write_set;

use explode_runtime::base::{Options, TargetBounds};
use explode_runtime::check::{Checker, CheckerDef, Cx};
use explode_runtime::choose::ChoiceKind;
use explode_runtime::crash::Epoch;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::run::StrategyName;
use explode_runtime::stack::{Layer, Stack, StackSpec};
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use common::Said;
use mirror::{BLOCK, BLOCKS, Mirror};

/// A checker that fills one of two blocks. Both must hold what they were filled with, before a
/// crash and after it.
#[derive(Default)]
struct Holds {
    before: [u8; 2],
    after: [u8; 2],
    fills: u8,
}

impl Holds {
    fn judge(&self, mirror: &Mirror, legal: impl Fn(usize) -> Vec<u8>) -> Result<(), CheckError> {
        for block in 0..BLOCKS {
            let Ok(found) = mirror.read(block) else {
                return Err(CheckError::broken("neither copy can be read"));
            };
            if !legal(block as usize).iter().any(|letter| found == vec![*letter; BLOCK - 8]) {
                let message = format!("block {block} begins with {:?}", &found[..4]);
                return Err(Violation::new(Verdict::Corrupt, "held", message).into());
            }
        }
        Ok(())
    }
}

impl Checker for Holds {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let mirror = cx.stack().engine::<Mirror>()?;
        let block = cx.choose(2);
        self.fills += 1;
        self.before = self.after;
        self.after[block] = self.fills;
        cx.check_crashes_start(&[]);
        mirror.write(block as u64, self.fills);
        self.judge(&mirror, |block| vec![self.after[block]])?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        self.judge(stack.engine::<Mirror>()?.as_ref(), |block| match epoch {
            Epoch::Begin => vec![self.before[block]],
            Epoch::InBetween => vec![self.before[block], self.after[block]],
            Epoch::Now | Epoch::End | Epoch::Soft => vec![self.after[block]],
        })
    }
}

/// Runs two mutates on a mirror of this kind. Its disks have these faults, at most `most` on a
/// path.
fn run(kind: &str, faults: &str, most: u64) -> Said {
    run_to(2, kind, faults, most)
}

fn run_to(depth: u32, kind: &str, faults: &str, most: u64) -> Said {
    run_by(&StrategyName::Exhaust, depth, kind, faults, most)
}

/// Runs the mirror with a strategy. Walks end at 12 states.
fn run_by(strategy: &StrategyName, depth: u32, kind: &str, faults: &str, most: u64) -> Said {
    let checker = CheckerDef::new("test", "a checker for tests", |_: &Options| {
        Ok(Box::new(Holds::default()))
    });
    let registry = Registry {
        components: [mirror::disk(), mirror::mirror()].into(),
        checkers: [checker].into(),
        ..Registry::default()
    };
    let disk = |name: &str| Layer {
        name: name.to_owned(),
        component: "disk".to_owned(),
        children: Vec::new(),
        options: Options::none().with("faults", faults).with("most_faults", most),
    };
    let mirror = Layer {
        name: "mirror".to_owned(),
        component: "mirror".to_owned(),
        children: vec!["d0".to_owned(), "d1".to_owned()],
        options: Options::none().with("kind", kind),
    };
    let target = Target {
        name: "test".into(),
        about: "a target for tests".into(),
        stack: StackSpec(vec![disk("d0"), disk("d1"), mirror]),
        checker: "test".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded: false,
        expect: "clean".into(),
    };
    let mut plan = Plan::of(&registry, &target).unwrap();
    plan.settings.strategy = strategy.clone();
    plan.settings.states = strategy.is_endless().then_some(12);
    common::run(&registry, &plan)
}

/// Returns the counts of states, operations, choices of two or more options, findings, and
/// failures.
fn counts(said: &Said) -> [u64; 5] {
    let summary = said.summary();
    [&summary.states, &summary.operations, &summary.choices, &summary.findings, &summary.broken]
        .map(|count| u64::try_from(&count.0).unwrap())
}

/// In the first mutate no block can go bad. Then each disk has one block, so there are 1 + 2
/// options, and two blocks to fill: 2 + 2 x 3 x 2 operations. Each path is a state.
#[test]
fn each_block_that_holds_something_is_an_option() {
    assert_eq!(counts(&run("plain", "none", 1)), [7, 6, 6, 0, 0]);
    let said = run("plain", "unreadable", 1);
    assert_eq!(counts(&said), [15, 14, 26, 0, 0]);
    assert!(said.summary().complete);
    // Both kinds of both blocks: 1 + 4 options.
    assert_eq!(counts(&run("checksums", "both", 1)), [23, 22, 42, 0, 0]);
}

#[test]
fn garbage_is_caught_unless_there_are_checksums() {
    let said = run("plain", "garbage", 1);
    let found: Vec<&str> =
        said.findings().iter().map(|finding| finding.signature.as_str()).collect();
    assert_eq!(found, ["test/corrupt/held"]);
    assert!(said.findings()[0].replayed);
    let choice = &said.traces[0].choices[1];
    assert_eq!((choice.kind, choice.options, choice.value), (ChoiceKind::IoFailure, 3, 1));
    assert_eq!(
        (choice.name.as_deref(), choice.label.site.as_str()),
        (Some("d0 block 0 garbage"), "media")
    );
    assert_eq!(counts(&run("checksums", "garbage", 1)), [15, 14, 26, 0, 0]);
}

/// The seeded bug: the mirror uses the buffer of a failed read.
#[test]
fn a_mirror_that_does_not_look_is_found_and_replayed() {
    let said = run("careless", "unreadable", 1);
    let findings = said.findings();
    assert_eq!(findings.len(), 1, "{:?}", said.messages);
    assert_eq!((findings[0].signature.as_str(), findings[0].replayed), ("test/corrupt/held", true));
    assert_eq!(said.traces[0].choices[1].name.as_deref(), Some("d0 block 0 unreadable"));
    assert_eq!(counts(&run("careless", "none", 1))[3..], [0, 0], "sound disks do not show it");
}

/// Two bad blocks are too many for a mirror. It reports an error, which is neither a finding nor
/// broken.
#[test]
fn both_copies_unreadable_is_an_error_and_no_finding() {
    let said = run_to(3, "plain", "unreadable", 2);
    let [.., findings, broken] = counts(&said);
    assert_eq!([findings, broken], [0, 0]);
}

/// Walks draw the block that goes bad among the places that an earlier walk has met. The bug is
/// found, and replays.
#[test]
fn walks_draw_what_goes_bad() {
    let pct = StrategyName::Pct { d: 2, k: 10 };
    for strategy in [StrategyName::Random, StrategyName::Weighted, pct] {
        let said = run_by(&strategy, 3, "careless", "unreadable", 1);
        let findings = said.findings();
        assert_eq!(findings.len(), 1, "{strategy}: {:?}", said.messages);
        assert_eq!(
            (findings[0].signature.as_str(), findings[0].replayed),
            ("test/corrupt/held", true)
        );
        let bad = said.traces[0]
            .choices
            .iter()
            .filter(|choice| choice.kind == ChoiceKind::IoFailure && choice.value > 0);
        assert_eq!(bad.count(), 1, "{strategy}: within the budget");
        assert_eq!(counts(&run_by(&strategy, 3, "careless", "none", 1))[3..], [0, 0], "{strategy}");
    }
}
