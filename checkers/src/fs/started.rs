//! Checkers that begin on one of several small trees, by choice (option `start`).

use explode_ramdisk::files::{Files, WriteMethod};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{Checker, CheckerAbilities, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::CheckError;

use super::model::Abstract;
use super::start::Start;
use super::topology::{Limits, TopologyCall};

/// The trees on which a checker begins.
pub(in crate::fs) const START: OptionDef = OptionDef {
    name: "start",
    about: "files before the first call: empty (those of the stack), committed (two small trees, \
            synced, also mounted again), both",
    default: "empty",
};

/// A checker that can begin on a tree that is made and synced.
pub(in crate::fs) trait FromTree: Checker + Clone {
    /// Returns the tree.
    fn tree(&self) -> &Abstract;

    /// Returns the limits of the tree.
    fn limits_mut(&mut self) -> &mut Limits;

    /// Returns true if the system promises that what was synced by sync(2) is durable.
    fn promises_sync(&self) -> bool;

    /// Returns the number of writes so far, which decides the bytes of the next one.
    fn writes_mut(&mut self) -> &mut u32;

    /// Notes a call of the tree that has succeeded and has written these bytes.
    fn made(&mut self, call: &TopologyCall, bytes: &[u8]);

    /// Notes that the whole tree is durable.
    fn committed(&mut self);
}

/// A checker whose first mutate chooses the tree on which it begins, if there are several.
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

impl<C: FromTree> Started<C> {
    /// Creates the checker with its name and its option [`START`].
    pub(in crate::fs) fn new(
        name: &'static str,
        checker: C,
        options: &Options,
    ) -> Result<Started<C>, UsageError> {
        let named =
            [("empty", (true, false)), ("committed", (false, true)), ("both", (true, true))];
        let (empty, committed) = options.one_of(START.name, &named)?;
        let is_wanted = |start: &Start| match start {
            Start::AsMade => empty,
            start => committed && !start.is_open(),
        };
        let starts: Vec<Start> = Start::ALL.into_iter().filter(is_wanted).collect();
        let start = (starts == [Start::AsMade]).then_some(Start::AsMade);
        Ok(Started { name, checker, starts, start })
    }

    /// Makes a call of the tree, without checks.
    fn make(&mut self, call: &TopologyCall, files: &dyn Files) -> Result<(), CheckError> {
        *self.checker.writes_mut() += u32::from(call.writes());
        let writes = *self.checker.writes_mut();
        let bytes = call.bytes(self.checker.tree(), writes);
        match call.make(files, &bytes, WriteMethod::Plain) {
            Ok(()) => self.checker.made(call, &bytes),
            // The tree of a file system without links lacks the second name.
            Err(errno) if call.is_refused(errno) => {}
            Err(errno) => return Err(CheckError::broken(format!("{}: {errno}", call.name()))),
        }
        Ok(())
    }

    /// Makes the files on which the checker begins.
    fn begin(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let names: Vec<String> = self.starts.iter().map(|start| start.name()).collect();
        let label = Label::named(&format!("{} start", self.name));
        let point = ChoicePoint::action(names.len() as u32, label);
        let start = self.starts[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        self.start = Some(start);
        if !start.is_committed() {
            return Ok(());
        }
        let files = cx.stack().files()?;
        let calls = self.checker.limits_mut().calls;
        for call in start.calls(calls) {
            self.make(&call, files.as_ref())?;
        }
        files.sync().map_err(|errno| CheckError::broken(format!("sync: {errno}")))?;
        self.checker.committed();
        // The checker may make as many more nodes as without a tree.
        let tree = self.checker.tree();
        let (all, is_directory) = (tree.paths(), |id| tree.is_directory(id));
        let dirs = all.iter().filter(|(_, id)| is_directory(*id)).count();
        let files = all.len() - dirs;
        let limits = self.checker.limits_mut();
        limits.dirs += dirs;
        limits.files += files;
        Ok(())
    }
}

impl<C: FromTree + 'static> Checker for Started<C> {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.checker.init(stack)?;
        if self.start.is_none() {
            // Without sync a tree is committed by the unmount.
            let syncs = self.checker.promises_sync();
            self.starts.retain(|start| syncs || !start.is_committed() || start.is_remounted());
            if stack.starts_populated() {
                self.starts = vec![Start::AsMade];
            }
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
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        self.checker.facts(stack)
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        self.checker.abilities().remounts(self.start.is_some_and(Start::is_remounted))
    }
}
