//! The completeness of a crash test within its bounds.

use crate::plan::RunSettings;
use crate::report::Summary;

/// Describes what a passing run omitted and the settings to raise. `None` if it omitted nothing.
pub(super) fn incomplete(summary: &Summary, settings: &RunSettings) -> Option<String> {
    if summary.complete {
        return None;
    }
    let RunSettings { limit, samples, states, budget_ms, walks, .. } = settings;
    let (mut missing, mut raise) = (Vec::new(), Vec::new());
    let left_out = summary.disks_left_out();
    if !left_out.is_zero() {
        missing.push(format!(
            "{left_out} crash disks were left out, {} were checked (a sample)",
            summary.disks_checked()
        ));
        raise.push(format!("limit (now {limit})"));
        raise.push(format!("samples (now {samples})"));
    }
    if !summary.pending.is_zero() {
        missing.push(format!("{} checks were not made", summary.pending));
    }
    let bounds = [("states", *states), ("budget_ms", *budget_ms), ("walks", *walks)];
    let set =
        bounds.into_iter().filter_map(|(name, bound)| Some(format!("{name} (now {})", bound?)));
    raise.extend(set);
    if missing.is_empty() {
        missing.push(format!("the run stopped after {} states", summary.states));
    }
    let raise =
        if raise.is_empty() { String::new() } else { format!("; raise {}", raise.join(" or ")) };
    Some(format!("{}{raise} by with(|settings| ...)", missing.join(", ")))
}
