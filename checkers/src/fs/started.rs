//! Checkers that begin on one of several small trees, by choice (option `start`).

use explode_ramdisk::files::Files;
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{Checker, CheckerAbilities, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::CheckError;

use super::start::Start;

/// The option of a checker that begins on trees.
pub(in crate::fs) const START: OptionDef = OptionDef {
    name: "start",
    about: "files before the first call: empty (those of the stack), committed (two small trees, \
            synced, also mounted again), mounted (these trees, mounted again), both (empty and \
            committed); a committed one takes a mutate",
    default: "both",
};

/// The same for a checker whose steps are on files of its own.
pub(in crate::fs) const START_OF_STEPS: OptionDef = OptionDef {
    name: START.name,
    about: "files before the first step: empty (those of the stack), committed (files of the \
            checker, synced, also mounted again), mounted (these files, mounted again), both \
            (empty and committed); committed ones take a mutate",
    default: START.default,
};

/// Returns true if a value of the option `start` includes a start.
type IsWanted = fn(Start) -> bool;

/// The values of the option `start`, the default first.
pub(in crate::fs) const STARTS: [(&str, IsWanted); 4] = [
    ("both", |_| true),
    ("empty", |start| !start.is_committed()),
    ("committed", Start::is_committed),
    ("mounted", Start::is_remounted),
];

/// A checker that can begin on files that are made and synced.
pub(in crate::fs) trait FromFiles: Checker + Clone {
    /// Returns all starts, the simplest first. By default those of a checker of steps.
    fn starts(&self) -> Vec<Start> {
        Start::OF_STEPS.to_vec()
    }

    /// Returns true, the default, if files are durable without an unmount once they are synced.
    fn promises_sync(&self) -> bool {
        true
    }

    /// Makes the files of a committed start and syncs them, without checks. The checker then takes
    /// them as durable.
    fn begin(&mut self, start: Start, files: &dyn Files) -> Result<(), CheckError>;
}

/// A checker whose first mutate chooses the tree on which it begins, if there are several. A tree
/// that must be made takes the whole mutate: the file system may be mounted again after it. From
/// the files of the stack the checker goes on at once.
#[derive(Clone, Debug)]
pub(in crate::fs) struct Started<C> {
    /// The name of the checker in the registry.
    name: &'static str,
    checker: C,
    /// The possible starts.
    starts: Vec<Start>,
    /// The chosen start. `None` before the first mutate.
    start: Option<Start>,
}

impl<C: FromFiles> Started<C> {
    /// Creates the checker with its name and its option `start`.
    pub(in crate::fs) fn new(
        name: &'static str,
        checker: C,
        options: &Options,
    ) -> Result<Started<C>, UsageError> {
        let is_wanted = options.one_of(START.name, &STARTS)?;
        let mut starts = checker.starts();
        starts.retain(|start| is_wanted(*start));
        Ok(Started { name, checker, starts, start: None })
    }

    /// Chooses a start and makes its files.
    fn begin(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let names: Vec<String> = self.starts.iter().map(|start| start.name()).collect();
        let label = Label::named(&format!("{} start", self.name));
        let point = ChoicePoint::action(names.len() as u32, label);
        let start = self.starts[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        self.start = Some(start);
        if !start.is_committed() {
            return self.checker.mutate(cx);
        }
        let files = cx.stack().files()?;
        cx.without_faults(|_| self.checker.begin(start, files.as_ref()))
    }
}

impl<C: FromFiles + 'static> Checker for Started<C> {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.checker.init(stack)?;
        if self.start.is_none() {
            // Without sync a tree is committed by the unmount.
            let syncs = self.checker.promises_sync();
            self.starts.retain(|start| syncs || !start.is_committed() || start.is_remounted());
            if stack.starts_populated() {
                self.starts = vec![Start::AsMade];
            }
            self.start = (self.starts == [Start::AsMade]).then_some(Start::AsMade);
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        match self.start {
            None => self.begin(cx),
            Some(_) => self.checker.mutate(cx),
        }
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.checker.check(stack, epoch, args)
    }

    /// Returns the signature with the start: a tree that was mounted again differs from one that
    /// was not, and so do the limits.
    fn get_sig(&self) -> Option<Vec<u8>> {
        let signature = self.checker.get_sig()?;
        let start = self.start.map(Start::name);
        Some(if self.starts.len() > 1 { digest((start, signature)) } else { signature })
    }

    fn finish(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.checker.finish(stack)
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        self.checker.check_key()
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        self.checker.fork().map(|_| Box::new(self.clone()) as Box<dyn Checker>)
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        self.checker.facts(stack)
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        self.checker.abilities().remounts(self.start.is_some_and(Start::is_remounted))
    }
}
