//! Telling: every message goes to whoever listens, and to the run folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::RunError;
use super::folder::RunFolder;
use super::plan::Plan;
use super::unit::Runner;
use crate::report::{Message, RunInfo};

/// Who is told.
pub(super) struct Teller<'a> {
    pub folder: RunFolder,
    pub sink: &'a mut dyn FnMut(&Message),
}

impl Teller<'_> {
    /// The sink first: what cannot be written has at least been said.
    pub fn tell(&mut self, message: Message) -> Result<(), RunError> {
        (self.sink)(&message);
        self.folder.append(&message)
    }
}

/// The first message: everything that decides the run.
pub(super) fn run_info(plan: &Plan, runner: &Runner<'_>, out: &Path) -> RunInfo {
    let hides = runner.hides().iter().map(|(name, what)| format!("{name}: {what}"));
    RunInfo {
        target: plan.target.clone(),
        mode: plan.mode,
        seed: plan.settings.seed,
        stack: plan.stack.clone(),
        checker: plan.checker.clone(),
        checker_options: plan.checker_options.clone(),
        options: plan.settings.clone(),
        versions: runner.origin().versions.clone(),
        hides: hides.collect(),
        out: out.display().to_string(),
    }
}

/// Versions of what decides a result: this program, and what the components say of theirs.
pub(super) fn versions(components: Vec<(&'static str, String)>) -> BTreeMap<String, String> {
    let ours = ("explode", env!("CARGO_PKG_VERSION").to_owned());
    components.into_iter().chain([ours]).map(|(name, version)| (name.to_owned(), version)).collect()
}
