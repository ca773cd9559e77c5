//! The failure texts of a crash test that has no story for its finding.

use std::fmt::Display;

use itertools::Itertools as _;

use crate::explain::CAUSES;
use crate::report::{Finding, detail_line, status_line};

/// Returns an observation of a store that is not deterministic, with the usual causes.
pub(super) fn with_causes(text: &str) -> String {
    format!("{text}\nusual causes: {CAUSES}")
}

/// Returns the report on a store that is not deterministic, with the observation and the finding,
/// if there is one.
pub(super) fn diverged(text: &str, finding: Option<&Finding>) -> String {
    let mut lines =
        vec![status_line("DIVERGED", &format!("the store is not deterministic: {text}"))];
    lines.extend(finding.into_iter().flat_map(found));
    lines.join("\n")
}

/// Returns the report on a finding whose trace could not be run again.
pub(super) fn without_story(finding: &Finding, error: &dyn Display) -> String {
    let mut lines = found(finding).into_iter().chain([detail_line("no story", &error.to_string())]);
    lines.join("\n")
}

fn found(finding: &Finding) -> Vec<String> {
    vec![
        status_line("FAIL", &format!("{}: {}", finding.verdict, finding.message)),
        detail_line("bug", &finding.signature),
        detail_line("when", &finding.when()),
        detail_line("trace", &finding.trace),
    ]
}
