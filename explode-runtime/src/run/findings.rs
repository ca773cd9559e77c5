//! The findings of a run: bugs by signature, and failures of the tool or a component. Each is
//! written, replayed and reported.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::deadline::RunDeadline;
use super::sink::RunSink;
use crate::base::{RunError, as_json};
use crate::plan::{Plan, RunOrigin};
use crate::report::{Finding, Message};
use crate::run::confirm::Confirmation;
use crate::trace::{FoundError, Trace};
use crate::verdict::{Broken, BrokenKind};

/// Bugs by signature, and failures of the tool or a component.
pub(super) struct Findings<'a> {
    plan: &'a Plan,
    origin: RunOrigin,
    bugs: BTreeMap<String, FindingRecord>,
    /// Errors to be replayed and reported.
    fresh: Vec<(String, FoundError)>,
    /// Signatures of errors that killed a worker, and did so in a replay.
    confirmed: BTreeSet<String>,
    /// The messages of all failures, and the failures that are not reported yet.
    broken: BTreeSet<String>,
    fresh_broken: Vec<Broken>,
    /// The number of failures, repeated ones included.
    pub times_broken: u64,
    /// The changes since the last [`FindingsChange`]: signatures, and messages of failures.
    changed: BTreeSet<String>,
    new_broken: Vec<String>,
}

/// A bug: errors of one signature.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FindingRecord {
    /// The number of checks that have shown it.
    count: u64,
    /// The number of its errors that were replayed. At most the last one was reproduced.
    tries: u32,
    /// True if one of its errors is fresh.
    waiting: bool,
    /// The finding that was reported last, and its count at that time.
    #[serde(rename = "told", with = "as_json")]
    reported: Option<(Finding, u64)>,
}

/// The changes that a unit has made to the findings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FindingsChange {
    bugs: Vec<(String, FindingRecord)>,
    broken: Vec<String>,
    times_broken: u64,
}

/// The result of [`Findings::report`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedFindings {
    /// True if there was anything to report.
    pub any: bool,
    /// True if the time was up before all errors were replayed.
    pub late: bool,
}

/// The reason why a finding was not replayed when the time was up.
const LATE: &str = "the time of the run was up before its replay";

/// The number of errors of one signature that are replayed before the signature is given up. An
/// error that does not reproduce does not count as a finding.
const TRIES: u32 = 3;

impl FindingRecord {
    fn is_due(&self) -> bool {
        !self.waiting
            && self.tries < TRIES
            && self.reported.as_ref().is_none_or(|(finding, _)| !finding.replayed)
    }
}

impl<'a> Findings<'a> {
    pub fn new(plan: &'a Plan, origin: RunOrigin) -> Findings<'a> {
        Findings {
            plan,
            origin,
            bugs: BTreeMap::new(),
            fresh: Vec::new(),
            confirmed: BTreeSet::new(),
            broken: BTreeSet::new(),
            fresh_broken: Vec::new(),
            times_broken: 0,
            changed: BTreeSet::new(),
            new_broken: Vec::new(),
        }
    }

    /// Counts an error that `times` checks have shown.
    pub fn found(&mut self, error: FoundError, times: u64) {
        let signature = error.violation.signature(&self.plan.checker);
        let bug = self.bugs.entry(signature.clone()).or_default();
        bug.count += times;
        self.changed.insert(signature.clone());
        if bug.is_due() {
            bug.waiting = true;
            self.fresh.push((signature, error));
        }
    }

    /// Counts a failure of the tool or a component that happened `times` times.
    pub fn broken(&mut self, why: &Broken, times: u64) {
        self.times_broken += times;
        if self.broken.insert(why.message.clone()) {
            self.fresh_broken.push(why.clone());
            self.new_broken.push(why.message.clone());
        }
    }

    /// Replays an error that killed its worker. Once a signature is reproduced, it is not replayed
    /// again.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn confirm(
        &mut self,
        error: &FoundError,
        sink: &mut dyn RunSink,
    ) -> Result<Confirmation, RunError> {
        let signature = error.violation.signature(&self.plan.checker);
        if self.confirmed.contains(&signature) {
            return Ok(Confirmation::Reproduced);
        }
        let trace = Trace::of(self.plan, &self.origin, error);
        let kept = sink.keep(&self.id(&signature), &trace);
        let path = kept.map_err(|failed| failed.with_unsaved([trace.to_json()]))?;
        let confirmation = sink.confirm(&path);
        if confirmation == Confirmation::Reproduced {
            self.confirmed.insert(signature);
        }
        Ok(confirmation)
    }

    /// Returns true if an error is to be replayed.
    pub fn is_any_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Writes the trace of each fresh error, replays it, and reports it. Then reports the failures.
    /// When the time is up, an error is replayed only if it can be the first finding of the run.
    pub fn report(
        &mut self,
        sink: &mut dyn RunSink,
        time: RunDeadline<'_>,
    ) -> Result<ReportedFindings, RunError> {
        let mut any_late = false;
        let any = !self.fresh.is_empty() || !self.fresh_broken.is_empty();
        let mut fresh = std::mem::take(&mut self.fresh).into_iter();
        while let Some((signature, error)) = fresh.next() {
            let trace = Trace::of(self.plan, &self.origin, &error);
            let id = self.id(&signature);
            let path = sink.keep(&id, &trace).map_err(|failed| {
                let others =
                    fresh.by_ref().map(|(_, error)| Trace::of(self.plan, &self.origin, &error));
                failed
                    .with_unsaved(std::iter::once(trace).chain(others).map(|trace| trace.to_json()))
            })?;
            let dispensable = error.by_design.is_some() || self.distinct() > 0;
            let mut late = false;
            let confirmation = if self.confirmed.contains(&signature) {
                Confirmation::Reproduced
            } else if dispensable && time.is_up() {
                late = true;
                Confirmation::Not(LATE.to_owned())
            } else {
                sink.confirm(&path)
            };
            let not_replayed = match confirmation {
                Confirmation::Reproduced => None,
                Confirmation::Not(reason) => Some(reason),
            };
            any_late |= late;
            if let Some(reason) = not_replayed.as_ref().filter(|_| !late) {
                let why = format!("a finding did not reproduce: {signature}: {reason}");
                self.broken(&BrokenKind::NotReproduced.of(why), 1);
            }
            let bug = self.bugs.get_mut(&signature).expect("a fresh error has its bug");
            bug.waiting = false;
            bug.tries += u32::from(!late);
            if not_replayed.is_some() && bug.reported.is_some() {
                continue;
            }
            let finding = Finding {
                id,
                verdict: error.violation.verdict,
                by_design: error.by_design.is_some(),
                profile: error.by_design,
                message: error.violation.message,
                epoch: error.way.epoch,
                signature,
                count: bug.count.into(),
                trace: path.display().to_string(),
                replayed: not_replayed.is_none(),
                not_replayed,
            };
            bug.reported = Some((finding.clone(), bug.count));
            sink.emit(&Message::Finding(finding))?;
        }
        for broken in std::mem::take(&mut self.fresh_broken) {
            sink.emit(&broken.into())?;
        }
        Ok(ReportedFindings { any, late: any_late })
    }

    /// Returns the changes since the last call.
    pub fn change(&mut self) -> FindingsChange {
        let bugs = std::mem::take(&mut self.changed).into_iter().map(|signature| {
            let bug = self.bugs[&signature].clone();
            (signature, bug)
        });
        FindingsChange {
            bugs: bugs.collect(),
            broken: std::mem::take(&mut self.new_broken),
            times_broken: self.times_broken,
        }
    }

    /// Applies a change of an earlier process.
    pub fn restore(&mut self, change: FindingsChange) {
        let FindingsChange { bugs, broken, times_broken } = change;
        self.bugs.extend(bugs);
        self.broken.extend(broken);
        self.times_broken = times_broken;
    }

    /// Reports again each finding whose count has grown since its last report.
    pub fn report_counts(&self, sink: &mut dyn RunSink) -> Result<(), RunError> {
        for bug in self.bugs.values() {
            let Some((finding, reported)) = &bug.reported else { continue };
            if bug.count > *reported {
                sink.emit(&Message::Finding(Finding {
                    count: bug.count.into(),
                    ..finding.clone()
                }))?;
            }
        }
        Ok(())
    }

    /// Returns the number of findings: bugs that were replayed and are not by design.
    pub fn distinct(&self) -> u64 {
        let reported = self.bugs.values().filter_map(|bug| bug.reported.as_ref());
        reported.filter(|(finding, _)| finding.replayed && !finding.by_design).count() as u64
    }

    fn id(&self, signature: &str) -> String {
        format!("{:08x}", xxh3_64(format!("{}/{signature}", self.plan.target).as_bytes()) as u32)
    }
}
