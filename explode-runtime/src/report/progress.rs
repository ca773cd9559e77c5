//! The progress of a run for a person: its words, its share of the whole, and the times for lines
//! that stay in the output.

use std::time::Duration;

use super::message::Progress;
use crate::base::{ExactCount, plural};
use crate::plan::RunSettings;

/// Returns the text of a line of progress. The most important counts are first, because a terminal
/// may be narrow.
pub fn progress_text(progress: &Progress) -> String {
    let Progress { states, checked, equivalent, left_out, findings, rate, seconds, .. } = progress;
    let (findings, states) = (plural(findings, "finding"), plural(states, "state"));
    let tenths = usize::from(*rate < 100.0);
    let disks = format!("{} at {rate:.tenths$}/s", plural(checked, "disk"));
    let others = format!("{left_out} left out, {equivalent} equivalent");
    format!("[{seconds:>6.1}s] {findings}; {states}, {disks}, {others}")
}

/// Returns the rate in counts per second, to a tenth. It is 0 if no time has passed.
pub fn rate(count: &ExactCount, elapsed_ms: u64) -> f64 {
    let count = u64::try_from(&count.0).unwrap_or(u64::MAX);
    let tenths = u128::from(count) * 10_000 / u128::from(elapsed_ms.max(1));
    if elapsed_ms == 0 { 0.0 } else { tenths as f64 / 10.0 }
}

/// Returns the share of a run that is done, from 0 to 1: by its states or its budget, whichever is
/// larger. `None` if neither is bounded.
pub fn share(settings: &RunSettings, states: u64, elapsed: Duration) -> Option<f64> {
    let of = |done: f64, most: u64| (done / most.max(1) as f64).min(1.0);
    let states = settings.states.map(|most| of(states as f64, most));
    let time = settings.budget_ms.map(|most| of(elapsed.as_secs_f64() * 1000.0, most));
    states.into_iter().chain(time).reduce(f64::max)
}

/// The times for lines of progress that stay in the output: after 10 seconds, 20, 40, and so on.
#[derive(Debug)]
pub(super) struct ProgressPace {
    /// The time of the next line, in seconds.
    next: f64,
}

impl Default for ProgressPace {
    fn default() -> ProgressPace {
        ProgressPace { next: 10.0 }
    }
}

impl ProgressPace {
    /// Returns true if a line is due after `seconds` seconds. Several missed times give only one
    /// line.
    pub fn is_due(&mut self, seconds: f64) -> bool {
        let due = seconds >= self.next;
        while seconds >= self.next {
            self.next *= 2.0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HumanWriter, Message};
    use super::*;
    use crate::run::StrategyName;

    fn progress() -> Progress {
        Progress {
            states: 1,
            waiting: 7,
            operations: 8.into(),
            checked: 345.into(),
            equivalent: 6.into(),
            left_out: ExactCount("36893488147419103232".parse().unwrap()),
            findings: 2,
            rate: 28.0,
            seconds: 12.34,
        }
    }

    #[test]
    fn a_progress_line_has_all_counts_in_words() {
        assert_eq!(
            progress_text(&progress()),
            "[  12.3s] 2 findings; 1 state, 345 disks at 28.0/s, about 3.7 x 10^19 left out, 6 \
             equivalent"
        );
        let fast = progress_text(&Progress { checked: 1.into(), rate: 2831.4, ..progress() });
        assert!(fast.contains(", 1 disk at 2831/s, "), "{fast}");
    }

    #[test]
    fn the_json_line_has_exact_counts() {
        assert_eq!(
            serde_json::to_string(&Message::Progress(progress())).unwrap(),
            r#"{"type":"progress","states":1,"waiting":7,"operations":8,"checked":345,"equivalent":6,"#
                .to_owned()
                + r#""left_out":"36893488147419103232","findings":2,"rate":28.0,"seconds":12.34}"#
        );
    }

    #[test]
    fn a_rate_is_a_number_at_any_time() {
        assert_eq!(rate(&5.into(), 0), 0.0);
        assert_eq!(rate(&0.into(), 10), 0.0);
        assert_eq!(rate(&1.into(), 3000), 0.3);
        assert_eq!(rate(&12345.into(), 1000), 12345.0);
    }

    #[test]
    fn lasting_progress_lines_become_rarer() {
        let mut sparse = ProgressPace::default();
        let due: Vec<u32> = (0..1000).filter(|second| sparse.is_due(f64::from(*second))).collect();
        assert_eq!(due, [10, 20, 40, 80, 160, 320, 640]);

        let mut sparse = ProgressPace::default();
        assert!(!sparse.is_due(9.9));
        assert!(sparse.is_due(45.0), "once for 10, 20 and 40");
        assert!(!sparse.is_due(79.9));
        assert!(sparse.is_due(80.0));
    }

    #[test]
    fn text_has_progress_when_it_is_due() {
        let mut out = Vec::new();
        let mut human = HumanWriter::new(&mut out, false, "explode");
        for seconds in [1.0, 9.0, 12.34, 13.0] {
            human.message(&Message::Progress(Progress { seconds, ..progress() })).unwrap();
        }
        let line = format!("     Running {}\n", progress_text(&progress()));
        assert_eq!(String::from_utf8(out).unwrap(), line);
    }

    #[test]
    fn the_first_bound_gives_the_share_that_is_done() {
        let bounded = |states, budget_ms| {
            let settings = RunSettings { states, budget_ms, ..settings() };
            share(&settings, 5, Duration::from_secs(30))
        };
        assert_eq!(bounded(None, None), None);
        assert_eq!(bounded(Some(20), None), Some(0.25));
        assert_eq!(bounded(Some(20), Some(60_000)), Some(0.5));
        assert_eq!(bounded(Some(6), Some(300_000)), Some(5.0 / 6.0));
        assert_eq!(bounded(None, Some(1)), Some(1.0), "no more than all");
    }

    fn settings() -> RunSettings {
        RunSettings {
            strategy: StrategyName::Exhaust,
            prefix: None,
            chop: None,
            seed: 0,
            depth: 1,
            states: None,
            budget_ms: None,
            walks: None,
            walks_in_unit: 1,
            rules: Default::default(),
            limit: 1,
            samples: 1,
            crash_depth: 0,
            soft: false,
            deadline_ms: 1,
            skip: true,
            guest: Default::default(),
        }
    }
}
