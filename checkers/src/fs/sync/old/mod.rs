//! The checker as it was before it used the model, to compare with.

mod calls;
mod model;
mod models;
mod step;

use std::collections::BTreeMap;

use explode_runtime::base::{Fault, Options};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerFacts, Cx, Demands, Unsupported, digest,
};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{Demand, Failure, Violation};

use crate::fs::model::SyncCall as Call;
use crate::fs::model::promise::{self, Promise};
use calls::Calls;
use models::Models;
use step::Step;

const NAME: &str = "fs-sync";

/// What was done, and what of it is promised. (No signature: what is not synced yet is part of the
/// state too.)
#[derive(Clone, Debug)]
pub struct Sync {
    hole: usize,
    /// Crashes come only when all is synced.
    at_rest: bool,
    models: Models,
    versions: BTreeMap<char, u32>,
    /// What must be there, and what else would be if the profile excluded nothing.
    promises: Vec<Promise>,
    others: Option<Vec<Promise>>,
}

impl Checker for Sync {
    fn init(&mut self, stack: &Stack) -> Result<(), Fault> {
        self.models.exclude(stack.excluded());
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let files = cx.stack().files()?;
        let steps = Step::possible(&self.models.all);
        let names: Vec<String> = steps.iter().map(|step| step.name().to_owned()).collect();
        let point = Point::action(steps.len() as u32, Label::named(NAME));
        let step = steps[cx.choose_at(&Point { names: &names, ..point }) as usize];
        let Sync { hole, models, versions, .. } = self;
        step.take(*hole, &mut Calls { files: files.as_ref(), models, versions })?;
        let all = self.models.all.promises();
        let left_alone = all.is_empty() || self.at_rest && !self.models.all.is_synced();
        (self.promises, self.others) = match &self.models.kept {
            Some(kept) => (kept.promises(), Some(all)),
            None => (all, None),
        };
        if left_alone { Ok(()) } else { cx.check_crashes_now(self, &[]) }
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let excluded = self.models.excluded();
        promise::judge(stack.files()?.as_ref(), &self.promises, self.others.as_deref(), excluded)
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(match &self.others {
            None => digest(&self.promises),
            Some(others) => digest((&self.promises, others)),
        })
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default().about(Call::OURS.into_iter().map(Call::synced)))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self)
    }
}

impl Demands for Sync {
    fn demands(
        &self,
        _epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<Demand>> {
        Some(self.promises.iter().flat_map(Promise::demands).collect())
    }
}

impl crate::fs::side_by_side::Side for Sync {
    const AROUND: bool = false;

    fn steps(&mut self, _files: &dyn explode_ramdisk::Files) -> Vec<String> {
        Step::possible(&self.models.all).iter().map(|step| step.name().to_owned()).collect()
    }

    fn take_step(
        &mut self,
        files: &dyn explode_ramdisk::Files,
        number: usize,
    ) -> Result<bool, Failure> {
        let step = Step::possible(&self.models.all)[number];
        let Sync { hole, models, versions, .. } = self;
        step.take(*hole, &mut Calls { files, models, versions })?;
        let all = self.models.all.promises();
        let left_alone = all.is_empty() || self.at_rest && !self.models.all.is_synced();
        (self.promises, self.others) = match &self.models.kept {
            Some(kept) => (kept.promises(), Some(all)),
            None => (all, None),
        };
        Ok(!left_alone)
    }
}

/// One, to compare.
pub fn one(options: &Options) -> Sync {
    let hole = options.int("hole", 300 << 10).unwrap() as usize;
    let at_rest = options.one_of("when", &[("always", false), ("synced", true)]).unwrap();
    Sync {
        hole,
        at_rest,
        models: Models::new(),
        versions: BTreeMap::new(),
        promises: Vec::new(),
        others: None,
    }
}
