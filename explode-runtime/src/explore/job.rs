//! Jobs: parts of an exploration that workers run alone.

use serde::{Deserialize, Serialize};

use super::unit::Unit;
use crate::choose::Choice;

/// Consecutive units from one state: the first unit, and optionally all later combinations that
/// begin with a part of its script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The first unit.
    pub unit: Unit,
    /// The number of choices of its script that all units keep. `None` if the job is the first unit
    /// alone.
    pub fixed: Option<usize>,
}

impl Job {
    /// Returns the job of one unit.
    pub fn one(unit: Unit) -> Job {
        Job { unit, fixed: None }
    }

    /// Returns the job of all combinations from a unit on that keep the first `fixed` choices of
    /// its script.
    pub fn all(unit: Unit, fixed: usize) -> Job {
        Job { unit, fixed: Some(fixed) }
    }

    /// Returns the rest of the job after its first unit. `choices` are those of that unit,
    /// including those of its state. `None` if nothing is left.
    pub fn after(&self, choices: &[Choice]) -> Option<Job> {
        let fixed = self.fixed?;
        let made = made_in(&self.unit, choices);
        let turning = turning(made).filter(|turning| *turning >= fixed)?;
        let unit = Unit { script: turned(made, turning), ..self.unit.clone() };
        Some(Job { unit, fixed: Some(fixed) })
    }

    /// Splits the job into at most `most` jobs, in the order of their units. The first keeps the
    /// whole script of the first unit. The next ones begin with each later option of its last
    /// choice, and so on.
    pub fn split(self, most: usize) -> Vec<Job> {
        let Some(fixed) = self.fixed else { return vec![self] };
        let script = self.unit.script.clone();
        let mut jobs = vec![Job { fixed: Some(script.len()), unit: self.unit.clone() }];
        for at in (fixed..script.len()).rev() {
            let choice = &script[at];
            for rank in choice.rank() + 1..choice.options {
                if jobs.len() >= most {
                    return jobs;
                }
                let begin = script[..at].iter().cloned().chain([choice.with_rank(rank)]);
                let unit = Unit { script: begin.collect(), ..self.unit.clone() };
                jobs.push(Job { unit, fixed: Some(at + 1) });
            }
        }
        jobs
    }
}

/// Returns the choices after those of the unit's state.
pub(super) fn made_in<'a>(unit: &Unit, choices: &'a [Choice]) -> &'a [Choice] {
    &choices[unit.state.choices.len().min(choices.len())..]
}

/// Returns the script of the combination after `made`. `None` after the last one. The choices are
/// an odometer whose last one turns fastest. The choices after the one that turns are dropped,
/// because others may follow.
pub(super) fn following(made: &[Choice]) -> Option<Vec<Choice>> {
    turning(made).map(|turning| turned(made, turning))
}

fn turning(made: &[Choice]) -> Option<usize> {
    made.iter().rposition(|choice| choice.rank() + 1 < choice.options)
}

fn turned(made: &[Choice], turning: usize) -> Vec<Choice> {
    let mut script = made[..=turning].to_vec();
    script[turning] = script[turning].with_rank(script[turning].rank() + 1);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::{ChoicePoint, Label};

    /// Runs a unit of a toy whose points have 3, 2 and 2 options. The last point exists only if the
    /// first answer is not 1.
    fn run(unit: &Unit) -> Vec<Choice> {
        let mut made: Vec<Choice> = Vec::new();
        for options in [3, 2, 2] {
            if made.len() == 2 && made[0].value == 1 {
                break;
            }
            let answer = unit.script.get(made.len()).map_or(0, |choice| choice.value);
            made.push(Choice::of(&ChoicePoint::action(options, Label::named("toy")), answer));
        }
        made
    }

    fn all(job: Job) -> Vec<Vec<u32>> {
        let mut left = Some(job);
        let mut ran = Vec::new();
        while let Some(job) = left {
            let made = run(&job.unit);
            ran.push(made.iter().map(|choice| choice.value).collect());
            left = job.after(&made);
        }
        ran
    }

    #[test]
    fn parts_of_a_job_are_the_job_in_order() {
        let whole = Job::all(Unit { mutates: 1, ..Unit::default() }, 0);
        let expected = all(whole.clone());
        assert_eq!(expected.len(), 10);
        let mut left = Some(whole);
        let mut before = 0;
        while let Some(job) = left {
            let parts: Vec<Vec<u32>> =
                job.clone().split(usize::MAX).into_iter().flat_map(all).collect();
            assert_eq!(parts, expected[before..]);
            before += 1;
            left = job.after(&run(&job.unit));
        }
    }
}
