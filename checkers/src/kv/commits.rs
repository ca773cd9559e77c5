//! Commits (EX-108, for a key-value store): committed changes are there, whole and in order; others
//! are not.
//!
//! Every mutate is one commit, synced or lazy, or a checkpoint. Each commit leaves contents that
//! never existed before, so the contents of a recovered store determine how many commits it holds.

use explode_components::engine::{
    ATOMIC, Change, DURABLE, Durability, EngineError, INTACT, ISOLATED, Store, StoreContents,
};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

/// The name in the registry.
pub const NAME: &str = "kv-commits";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "committed changes of a key-value store are there whole and in order, others are not",
        build,
    )
    .options([
        OptionDef { name: "large", about: "size of a large value in bytes", default: "5000" },
        OptionDef {
            name: "changes",
            about: "number of changes in a commit: several, one",
            default: "several",
        },
    ])
}

/// The number of bytes of a value that takes more than one block of 4096 bytes.
const LARGE_BYTES: u64 = 5000;

/// The steps that a mutate chooses from.
#[derive(Clone, Copy)]
enum CommitStep {
    /// Writes a small value, synced.
    Put,
    /// Writes a small value, lazily: it becomes durable some time later.
    PutLazily,
    /// Writes a value of more than one block, synced.
    PutLarge,
    /// Deletes the first key, synced.
    Delete,
    /// Makes a checkpoint.
    Checkpoint,
}

const STEPS: [CommitStep; 5] = [
    CommitStep::Put,
    CommitStep::PutLazily,
    CommitStep::PutLarge,
    CommitStep::Delete,
    CommitStep::Checkpoint,
];

/// The numbers of commits before and after the checked interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Allowed {
    before: CommitCount,
    after: CommitCount,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct CommitCount {
    /// The number of commits that were synced, or followed by a synced one.
    durable: usize,
    all: usize,
}

struct Commits {
    /// The number of bytes of a large value.
    large: usize,
    /// True if a commit has only one change. Then two commits may leave the same contents.
    single: bool,
    /// The contents after 0, 1, 2, ... commits.
    history: Vec<StoreContents>,
    allowed: Allowed,
    /// The number of mutates so far. Keys and values contain it.
    steps: u32,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let single = options.one_of("changes", &[("several", false), ("one", true)])?;
    let large = match options.int("large", LARGE_BYTES)? {
        large @ 20..=65_536 => large as usize,
        large => {
            return Err(UsageError(format!("a large value of {large} bytes; use 20 to 65536")));
        }
    };
    let (history, allowed, steps) = (Vec::new(), Allowed::default(), 0);
    Ok(Box::new(Commits { large, single, history, allowed, steps }))
}

impl Commits {
    /// Returns the changes of a step. If a commit has several, the key `step` makes all contents
    /// distinct.
    fn changes(&self, step: CommitStep) -> Vec<Change> {
        let n = self.steps;
        let value = |bytes: usize| format!("{n:<bytes$}").into_bytes();
        let main = match step {
            CommitStep::Put | CommitStep::PutLazily => {
                Some(Change::Put(format!("key{n}"), value(20)))
            }
            CommitStep::PutLarge => Some(Change::Put("large".to_owned(), value(self.large))),
            CommitStep::Delete => {
                let now = self.history.last();
                now.and_then(|now| now.keys().find(|key| *key != "step").cloned())
                    .map(Change::Delete)
            }
            CommitStep::Checkpoint => return Vec::new(),
        };
        let step = Change::Put("step".to_owned(), value(1));
        match main {
            Some(main) if self.single => vec![main],
            main => [step].into_iter().chain(main).collect(),
        }
    }

    /// Checks that the contents are a prefix of the history that the epoch allows.
    fn judge(&self, found: &StoreContents, epoch: Epoch) -> Result<(), Violation> {
        let Allowed { before, after } = self.allowed;
        let (least, most) = match epoch {
            Epoch::Begin => (before.durable, before.all),
            Epoch::InBetween => (before.durable, after.all),
            Epoch::End | Epoch::Now | Epoch::Soft => (after.durable, after.all),
        };
        if self.history[least..=most].contains(found) {
            return Ok(());
        }
        match self.history.iter().position(|contents| contents == found) {
            Some(held) if held < least => {
                let message = format!("{least} commits were durable, {held} are there");
                Err(Violation::new(Verdict::Lost, DURABLE, message))
            }
            Some(held) if held > most => {
                let message = format!("{most} commits were made, {held} are there");
                Err(Violation::new(Verdict::Resurrected, ISOLATED, message))
            }
            Some(_) => Ok(()),
            None => {
                let keys = found.len();
                let message = format!("{keys} keys that none of the {} commits leaves", after.all);
                Err(Violation::new(Verdict::Corrupt, ATOMIC, message))
            }
        }
    }
}

impl Checker for Commits {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        // The history continues after a chop.
        if self.history.is_empty() {
            self.history.push(stack.engine::<Store>()?.0.contents()?);
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let store = cx.stack().engine::<Store>()?;
        let step = STEPS[cx.choose_named(NAME, STEPS.len())];
        self.steps += 1;
        let args = [format!("step{}", self.steps)];
        let before = self.allowed.after;
        self.allowed = Allowed { before, after: before };
        cx.check_crashes_start(&args);
        let changes = self.changes(step);
        if let CommitStep::Checkpoint = step {
            store.0.checkpoint().map_err(StepError::from)?;
        } else {
            let durability = if let CommitStep::PutLazily = step {
                Durability::Lazy
            } else {
                Durability::Synced
            };
            store.0.commit(&changes, durability).map_err(StepError::from)?;
            let mut contents = self.history.last().cloned().unwrap_or_default();
            changes.iter().for_each(|change| change.apply(&mut contents));
            self.history.push(contents);
            self.allowed.after.all += 1;
            if durability == Durability::Synced {
                self.allowed.after.durable = self.allowed.after.all;
            }
        }
        cx.check_crashes_end(self, &args)
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let found = stack.engine::<Store>()?.0.contents().map_err(|error| match error {
            EngineError::Corrupt(text) => Violation::new(Verdict::Corrupt, INTACT, text).into(),
            below => CheckError::broken(below),
        })?;
        Ok(self.judge(&found, epoch)?)
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((&self.history, self.allowed)))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.engine::<Store>()?;
        Ok(CheckerFacts::default())
    }
}
