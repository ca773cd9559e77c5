//! A merge replaces all of its files or none (EXC-10), whenever the machine or the program stops.

use explode_components::broken::merge::Folder;
use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

/// The name in the registry.
pub const NAME: &str = "merge-whole";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(NAME, "files that are replaced together are all old or all new", build)
}

/// The generations before and after the checked interval.
#[derive(Default)]
struct ArchiveChecker {
    before: u64,
    after: u64,
}

fn build(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(ArchiveChecker::default()))
}

impl Checker for ArchiveChecker {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        (self.before, self.after) = (self.after, self.after + 1);
        cx.check_crashes_start(&[]);
        cx.stack().engine::<Folder>()?.merge(self.after)?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let corrupt = |message| Violation::new(Verdict::Corrupt, "whole", message);
        let found = stack.engine::<Folder>()?.generations();
        let found = found.map_err(|errno| corrupt(format!("the files cannot be read: {errno}")))?;
        let [generation, ..] = found;
        if found != [generation; 3] {
            return Err(corrupt(format!("a mixture of generations: {found:?}")).into());
        }
        let (least, most) = match epoch {
            Epoch::Begin => (self.before, self.before),
            Epoch::InBetween => (self.before, self.after),
            Epoch::Now | Epoch::End | Epoch::Soft => (self.after, self.after),
        };
        if generation < least {
            let message = format!("generation {least} was merged, {generation} is there");
            return Err(Violation::new(Verdict::Lost, "merged", message).into());
        }
        if generation > most {
            return Err(
                corrupt(format!("generation {generation} is there, before it was merged")).into()
            );
        }
        Ok(())
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        Some(self.after.to_le_bytes().to_vec())
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(self.after.to_le_bytes().to_vec())
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.engine::<Folder>()?;
        Ok(CheckerFacts::default())
    }
}
