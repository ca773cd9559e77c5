//! What a run has found: bugs by signature, and what was broken; each is written, replayed and told.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use super::error::{Confirmation, RunError};
use super::plan::Plan;
use super::tell::Audience;
use super::unit::ErrorFound;
use crate::check::{Profile, Violation};
use crate::report::{Finding, Message};
use crate::trace::{Origin, Trace};

/// Bugs by signature, and what was broken.
pub(super) struct Findings<'a> {
    plan: &'a Plan,
    profile: Option<&'a Profile>,
    origin: &'a Origin,
    bugs: BTreeMap<String, Bug>,
    /// Errors that are to be replayed and told.
    fresh: Vec<(String, ErrorFound)>,
    /// What was broken, and what of it was not told yet.
    broken: BTreeSet<String>,
    fresh_broken: Vec<String>,
    /// How often anything was broken.
    pub times_broken: u64,
}

/// A bug: errors of one signature.
#[derive(Default)]
struct Bug {
    /// How many checks have shown it.
    count: u64,
    /// Errors of it that were replayed, in vain but for the last.
    tries: u32,
    /// One of its errors is fresh.
    waiting: bool,
    /// What was told last, and with which count.
    told: Option<(Finding, u64)>,
}

/// So many errors of one signature are replayed before it is given up: one that does not reproduce is no finding.
const TRIES: u32 = 3;

impl Bug {
    fn is_due(&self) -> bool {
        !self.waiting && self.tries < TRIES && self.told.as_ref().is_none_or(|(finding, _)| !finding.replayed)
    }
}

impl<'a> Findings<'a> {
    pub fn new(plan: &'a Plan, profile: Option<&'a Profile>, origin: &'a Origin) -> Findings<'a> {
        Findings {
            plan,
            profile,
            origin,
            bugs: BTreeMap::new(),
            fresh: Vec::new(),
            broken: BTreeSet::new(),
            fresh_broken: Vec::new(),
            times_broken: 0,
        }
    }

    /// Counts a violation; `details` are asked for only if it is to be told. Returns whether it is by design.
    pub fn found(&mut self, violation: Violation, details: impl FnOnce(Violation) -> ErrorFound) -> bool {
        let by_design = self.excluded(&violation).is_some();
        let signature = violation.signature(&self.plan.checker);
        let bug = self.bugs.entry(signature.clone()).or_default();
        bug.count += 1;
        if bug.is_due() {
            bug.waiting = true;
            self.fresh.push((signature, details(violation)));
        }
        by_design
    }

    /// Counts something that the tool or a component could not do.
    pub fn broken(&mut self, why: &str) {
        self.times_broken += 1;
        if self.broken.insert(why.to_owned()) {
            self.fresh_broken.push(why.to_owned());
        }
    }

    /// Writes the trace of each fresh error, replays it, and tells it; then what was broken.
    pub fn report(&mut self, audience: &mut dyn Audience) -> Result<(), RunError> {
        let mut fresh = std::mem::take(&mut self.fresh).into_iter();
        while let Some((signature, error)) = fresh.next() {
            let trace = self.trace(&error);
            let id =
                format!("{:08x}", xxh3_64(format!("{}/{signature}", self.plan.target).as_bytes()) as u32);
            let path = audience.keep(&id, &trace).map_err(|failed| {
                let others = fresh.by_ref().map(|(_, error)| self.trace(&error));
                failed.with_unsaved(std::iter::once(trace).chain(others).map(|trace| trace.to_json()))
            })?;
            let not_replayed = match audience.confirm(&path) {
                Confirmation::Reproduced => None,
                Confirmation::Not(what) => Some(what),
            };
            if let Some(what) = &not_replayed {
                self.broken(&format!("a finding did not reproduce: {signature}: {what}"));
            }
            let profile = self.excluded(&error.violation);
            let bug = self.bugs.get_mut(&signature).expect("a fresh error has its bug");
            bug.waiting = false;
            bug.tries += 1;
            if not_replayed.is_some() && bug.told.is_some() {
                continue;
            }
            let finding = Finding {
                id,
                verdict: error.violation.verdict,
                by_design: profile.is_some(),
                profile,
                message: error.violation.message,
                epoch: error.epoch,
                signature,
                count: bug.count.into(),
                trace: path.display().to_string(),
                replayed: not_replayed.is_none(),
                not_replayed,
            };
            bug.told = Some((finding.clone(), bug.count));
            audience.tell(&Message::Finding(finding))?;
        }
        for message in std::mem::take(&mut self.fresh_broken) {
            audience.tell(&Message::Broken { message })?;
        }
        Ok(())
    }

    /// Tells again what was seen more often since.
    pub fn tell_counts(&self, audience: &mut dyn Audience) -> Result<(), RunError> {
        for bug in self.bugs.values() {
            let Some((finding, told)) = &bug.told else { continue };
            if bug.count > *told {
                audience.tell(&Message::Finding(Finding { count: bug.count.into(), ..finding.clone() }))?;
            }
        }
        Ok(())
    }

    /// Findings: bugs that were replayed and are not by design.
    pub fn distinct(&self) -> u64 {
        let told = self.bugs.values().filter_map(|bug| bug.told.as_ref());
        told.filter(|(finding, _)| finding.replayed && !finding.by_design).count() as u64
    }

    fn trace(&self, error: &ErrorFound) -> Trace {
        Trace::of(self.plan, self.origin, error, self.excluded(&error.violation).is_some())
    }

    fn excluded(&self, violation: &Violation) -> Option<String> {
        let profile = self.profile?;
        let line = profile.excludes(&violation.promise)?;
        Some(format!("{}: \"{}\" ({})", profile.system, line.quote, line.source))
    }
}
