//! Going to where a trace fails: by its recorded disk, or by a search for the error.

use super::bench::{Bench, Failing, Outcome, WayEnd};
use crate::base::RunError;
use crate::choose::Choice;
use crate::crash::Name;
use crate::trace::Trace;
use crate::worker::probe::{Answers, Spot, Standing, Until};

/// Where a trace fails.
#[derive(Debug)]
pub enum Reached {
    /// It fails like this.
    Fails(Box<Failure>),
    /// It does not; this is what was there.
    Not(String),
    /// The replay went another way.
    Diverged(String),
}

/// How a trace fails now.
#[derive(Debug)]
pub struct Failure {
    /// The choices, where, and what was seen.
    pub failing: Failing,
    /// The moment of the crash, if there was one.
    pub standing: Option<Standing>,
    /// The log was another one than recorded, and a disk of the interval was found by a search
    /// (EX-60).
    pub by_search: bool,
}

impl Spot {
    /// That of a trace; none without a crash.
    pub fn of(trace: &Trace) -> Option<Spot> {
        let crash_disk = trace.crash_disk.clone()?;
        Some(Spot {
            mutates: trace.mutates,
            interval: trace.interval,
            epoch: trace.epoch?,
            args: trace.args.clone(),
            log: trace.log.clone(),
            disks: [crash_disk].into_iter().chain(trace.recovery.iter().cloned()).collect(),
        })
    }

    /// What each of its disks has kept.
    pub fn pieces(&self) -> Vec<Vec<Name>> {
        self.disks.iter().map(|disk| disk.blocks.clone()).collect()
    }
}

/// Goes to where the trace fails, and sees that it does.
///
/// # Errors
/// Those of [`Bench::way`].
pub fn reach(bench: &mut Bench<'_, '_>, trace: &Trace) -> Result<Reached, RunError> {
    let Some(spot) = Spot::of(trace) else {
        let end =
            bench.way(Answers::Exactly(trace.choices.clone()), trace.mutates, Until::Mutate)?;
        return Ok(match end {
            WayEnd::Fails(failing) => Reached::Fails(Box::new(Failure {
                failing: *failing,
                standing: None,
                by_search: false,
            })),
            WayEnd::Stands(_) => Reached::Not("it stood still at a disk".to_owned()),
            WayEnd::Not(why) => Reached::Not(why),
            WayEnd::Diverged(what) => Reached::Diverged(what),
            WayEnd::Broken(why) => return Err(why.into()),
        });
    };
    let mut why = "the recorded disk does not fail that way".to_owned();
    match bench.way(
        Answers::Exactly(trace.choices.clone()),
        trace.mutates,
        Until::At(spot.clone()),
    )? {
        WayEnd::Stands(standing) => {
            if let Outcome::Same(_, violation) = bench.attempt(&spot.pieces())? {
                return Ok(Reached::Fails(Box::new(failure(*standing, violation, false))));
            }
            if standing.spot.log == spot.log {
                return Ok(Reached::Not(why));
            }
        }
        WayEnd::Diverged(what) => return Ok(Reached::Diverged(what)),
        WayEnd::Broken(why) => return Err(why.into()),
        WayEnd::Not(not) => why = not,
        WayEnd::Fails(_) => {}
    }
    let first = spot.disks[0].blocks.clone();
    let until = bench.failing_elsewhere(first);
    match look_until(bench, Answers::Exactly(trace.choices.clone()), trace.mutates, until)? {
        Look::Fails(failure) => {
            Ok(Reached::Fails(Box::new(Failure { by_search: true, ..*failure })))
        }
        Look::Not(not) => Ok(Reached::Not(format!("{why}; {not}"))),
    }
}

/// What a search has found.
pub enum Look {
    /// The error.
    Fails(Box<Failure>),
    /// This instead.
    Not(String),
}

/// Runs a way, and looks for the error in its last mutate; then stands there, if there is a disk to
/// stand at.
///
/// # Errors
/// Those of [`Bench::way`].
pub fn look(
    bench: &mut Bench<'_, '_>,
    answers: Answers,
    mutates: u32,
    first: Vec<Name>,
) -> Result<Look, RunError> {
    let until = bench.failing(first);
    look_until(bench, answers, mutates, until)
}

fn look_until(
    bench: &mut Bench<'_, '_>,
    answers: Answers,
    mutates: u32,
    until: Until,
) -> Result<Look, RunError> {
    match bench.way(answers, mutates, until)? {
        WayEnd::Stands(standing) => match bench.attempt(&standing.spot.pieces())? {
            Outcome::Same(_, violation) => {
                Ok(Look::Fails(Box::new(failure(*standing, violation, false))))
            }
            _ => Ok(Look::Not("the disk that failed that way does not any more".to_owned())),
        },
        WayEnd::Fails(failing) => {
            let standing = stand(bench, &failing)?;
            Ok(Look::Fails(Box::new(Failure { failing: *failing, standing, by_search: false })))
        }
        WayEnd::Not(why) | WayEnd::Diverged(why) => Ok(Look::Not(why)),
        WayEnd::Broken(why) => Ok(Look::Not(why.to_string())),
    }
}

/// Stands at the disk of which a worker has died.
fn stand(bench: &mut Bench<'_, '_>, failing: &Failing) -> Result<Option<Standing>, RunError> {
    let Some(spot) = &failing.spot else { return Ok(None) };
    let choices: Vec<Choice> = failing.choices.concat();
    Ok(bench.stand(&choices, spot)?.map(|standing| *standing))
}

fn failure(standing: Standing, violation: crate::verdict::Violation, by_search: bool) -> Failure {
    let failing = Failing {
        choices: standing.choices.clone(),
        failed: standing.failed.clone(),
        spot: Some(standing.spot.clone()),
        violation,
        promise: None,
    };
    Failure { failing, standing: Some(standing), by_search }
}
