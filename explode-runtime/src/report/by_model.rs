//! The models of simulated files under which a finding shows.

use std::collections::BTreeMap;

use crate::base::plural;
use crate::plan::CrashModel;

use super::message::{Finding, Message, Summary};

/// The result of a run under one model.
#[derive(Clone, Debug)]
pub struct ModelResult {
    /// The model.
    pub model: CrashModel,
    /// The summary of the run.
    pub summary: Summary,
    /// The findings, one for each signature, also those by design and those that no replay has
    /// reproduced.
    pub findings: BTreeMap<String, Finding>,
    /// True if the run tries no crashes during a recovery that other models crash.
    pub skips_recovery: bool,
}

/// The words for a finding under a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appearance {
    /// A replay has reproduced it.
    Shown,
    /// Found, and not replayed.
    NotReplayed,
    /// The profile of the model excludes it.
    ByDesign,
    /// No crash disk within the bounds shows it: all were checked.
    Absent,
    /// Not found. The reason says why it may be there nevertheless.
    NotFound(&'static str),
}

impl ModelResult {
    /// Adds a finding of the run. The strongest of one signature is kept.
    pub fn add(findings: &mut BTreeMap<String, Finding>, message: &Message) {
        let Message::Finding(new) = message else { return };
        let strength = |finding: &Finding| (finding.replayed, !finding.by_design);
        let known = findings.get(&new.signature);
        if known.is_none_or(|known| strength(known) <= strength(new)) {
            findings.insert(new.signature.clone(), new.clone());
        }
    }

    /// Notes which runs try no crashes during recovery, if one of the others does. `recovers` tells
    /// that a command recovers.
    pub fn note_recovery(results: &mut [ModelResult], recovers: bool) {
        let is_nested = |summary: &Summary| {
            !summary.crash_crash_disks.is_zero() || !summary.crash_crash_left_out.is_zero()
        };
        let is_any = recovers || results.iter().any(|result| is_nested(&result.summary));
        for result in results {
            result.skips_recovery = is_any && result.model == CrashModel::Strict;
        }
    }

    /// Returns the findings that count: replayed, and not by design.
    pub fn shown(&self) -> impl Iterator<Item = &Finding> {
        self.findings.values().filter(|finding| finding.replayed && !finding.by_design)
    }

    /// Returns the appearance of the finding with this signature.
    ///
    /// A path ends at its first finding, so a run with another finding has not seen what comes
    /// after it.
    pub fn appearance(&self, signature: &str) -> Appearance {
        match self.findings.get(signature) {
            Some(Finding { replayed: true, by_design: false, .. }) => Appearance::Shown,
            Some(Finding { by_design: true, .. }) => Appearance::ByDesign,
            Some(_) => Appearance::NotReplayed,
            None if !self.summary.complete => Appearance::NotFound("some"),
            None if !self.summary.broken.is_zero() => Appearance::NotFound("and a failure"),
            None if !self.findings.is_empty() => Appearance::NotFound("up to other findings"),
            None if self.skips_recovery => Appearance::NotFound("none during recovery"),
            None => Appearance::Absent,
        }
    }

    /// Returns the model, the number of disks whose verdict is known, and how many these are.
    fn extent(&self, how: &str) -> String {
        let disks = plural(&self.summary.disks_checked(), "disk");
        format!("{} ({disks} checked, {how})", self.model)
    }
}

/// Returns the models under which a finding shows, in one line. "Not under" a model is said only if
/// all crash disks within the bounds were checked there.
pub fn shows(signature: &str, results: &[ModelResult]) -> String {
    let list = |words: &str, one: &dyn Fn(&ModelResult, Appearance) -> Option<String>| {
        let found = results.iter().filter_map(|result| one(result, result.appearance(signature)));
        let found = found.collect::<Vec<_>>().join(", ");
        if found.is_empty() { None } else { Some(format!("{words} {found}")) }
    };
    let named = |wanted: Appearance| {
        move |result: &ModelResult, is: Appearance| (is == wanted).then(|| result.model.to_string())
    };
    let parts = [
        list("under", &named(Appearance::Shown)),
        list("not replayed under", &named(Appearance::NotReplayed)),
        list("by design under", &named(Appearance::ByDesign)),
        list("not under", &|result, is| (is == Appearance::Absent).then(|| result.extent("all"))),
        list("not found under", &|result, is| match is {
            Appearance::NotFound(how) => Some(result.extent(how)),
            _ => None,
        }),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn finding(signature: &str, replayed: bool, by_design: bool) -> Finding {
        Finding {
            id: "1".to_owned(),
            verdict: Verdict::CheckFailed,
            by_design,
            profile: None,
            message: signature.to_owned(),
            epoch: None,
            signature: signature.to_owned(),
            count: 1.into(),
            trace: "1.json".to_owned(),
            replayed,
            not_replayed: None,
        }
    }

    fn result(
        model: CrashModel,
        found: &[Finding],
        change: impl FnOnce(&mut Summary),
    ) -> ModelResult {
        let mut summary = Summary { checked: 5.into(), complete: true, ..Summary::default() };
        change(&mut summary);
        let mut findings = BTreeMap::new();
        for finding in found {
            ModelResult::add(&mut findings, &Message::Finding(finding.clone()));
        }
        ModelResult { model, summary, findings, skips_recovery: false }
    }

    #[test]
    fn only_a_complete_search_without_findings_excludes_one() {
        let [posix, ext4, xfs, _, strict] = CrashModel::ALL;
        let gone = finding("gone", true, false);
        let shown = result(posix, std::slice::from_ref(&gone), |_| ());
        let says = |other: ModelResult| shows("gone", &[shown.clone(), other]);
        let all = result(ext4, &[], |_| ());
        assert_eq!(says(all), "under posix; not under ext4 (5 disks checked, all)");
        let some = result(ext4, &[], |summary| summary.complete = false);
        assert_eq!(says(some), "under posix; not found under ext4 (5 disks checked, some)");
        let other = result(xfs, &[finding("torn", true, false)], |_| ());
        assert_eq!(
            says(other),
            "under posix; not found under xfs (5 disks checked, up to other findings)"
        );
        let broken = result(xfs, &[], |summary| summary.broken = 1.into());
        assert_eq!(
            says(broken),
            "under posix; not found under xfs (5 disks checked, and a failure)"
        );
        let nested = result(posix, &[finding("gone", true, false)], |summary| {
            summary.crash_crash_disks = 1.into();
        });
        let mut results = [nested, result(strict, &[], |_| ())];
        assert!(shows("gone", &results).ends_with("not under strict (5 disks checked, all)"));
        ModelResult::note_recovery(&mut results, false);
        assert_eq!(
            shows("gone", &results),
            "under posix; not found under strict (5 disks checked, none during recovery)"
        );
        assert_eq!(says(result(ext4, &[gone], |_| ())), "under posix, ext4");
    }

    #[test]
    fn a_finding_that_is_not_replayed_is_not_shown() {
        let [posix, ext4, ..] = CrashModel::ALL;
        let unsure = finding("gone", false, false);
        let by_design = result(posix, &[finding("gone", true, true)], |_| ());
        let results = [by_design, result(ext4, std::slice::from_ref(&unsure), |_| ())];
        assert_eq!(shows("gone", &results), "not replayed under ext4; by design under posix");
        // The same finding is reported again when its replay has succeeded.
        let again = [unsure.clone(), finding("gone", true, false), unsure];
        assert_eq!(shows("gone", &[result(ext4, &again, |_| ())]), "under ext4");
    }
}
