//! The worker's side of a probe: it runs the way, stands still at the requested place, and tries
//! what the supervisor asks for.

mod answers;
mod disks;
mod prober;

use std::time::Instant;

use crate::check::Ask;
use crate::choose::{Choice, Divergence, Point};
use crate::events::{CallLog, What, event_lines};
use crate::explore::{Arrival, Unit};
use crate::judge::{Pipeline, stood_still};
use crate::stack::Stack;
use crate::unit::{Early, SoFar, System, Work};
use crate::verdict::{Failure, Step};
use crate::worker::probe::protocol::{Answers, End, Probe, ProbeSaid, Probed, PromiseLine, Until};
use disks::Here;
use prober::Prober;

pub(crate) use prober::Talk;

/// Runs a probe to its end.
pub(crate) fn probe(system: &dyn System, order: &Probe, talk: &mut dyn Talk) -> Probed {
    let unit = Unit { mutates: order.mutates, ..Unit::default() };
    let mut prober = Prober {
        order,
        talk,
        started: Instant::now(),
        mutate: 0,
        begins: Vec::new(),
        used: 0,
        past_end: None,
        looked: 0,
        same_log: false,
        cut: false,
        stood: false,
        log: CallLog::new(order.noted),
        pristine: system.about().pristine.clone(),
    };
    let ended = system.run(&unit, &mut prober);
    let choices = prober.split(&ended.choices);
    let answered = ended.choices.len();
    let left = match &order.answers {
        Answers::Exactly(answers) => answers.get(answered).cloned(),
        Answers::AsFits(_) => None,
    };
    let left = left.map(|recorded| Divergence::unasked(answered, recorded));
    let end = if let Some(divergence) = prober.past_end {
        End::Diverged(divergence.to_string())
    } else {
        match (ended.early, left) {
            (Some(Early::Diverged(divergence)), _) => End::Diverged(divergence.to_string()),
            (Some(Early::Broken(why)), _) => End::Broken(why),
            (_, Some(divergence)) => End::Diverged(divergence.to_string()),
            (Some(Early::Violated(violation, _)), _) => End::Violated(violation),
            _ if prober.stood => End::Stood,
            _ => End::Nothing(prober.nothing().to_owned(), prober.cut),
        }
    };
    let promise = system.about().profile.and_then(|profile| {
        let line = profile.promises.iter().find(|line| line.name == order.promise)?;
        Some(PromiseLine {
            system: profile.system.clone(),
            name: line.name.to_owned(),
            kept: line.kept,
            quote: line.quote.to_owned(),
            source: line.source.to_owned(),
        })
    });
    Probed {
        choices,
        failed: prober.log.failed_steps(),
        end,
        looked: prober.looked,
        promise,
        events: event_lines(&ended.events),
    }
}

impl Work for Prober<'_> {
    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        let value = self.answer(point);
        if self.order.wary {
            self.tell(ProbeSaid::Chose(self.mutate, Choice::of(point, value)));
        }
        value
    }

    fn log(&self) -> Option<CallLog> {
        Some(self.log.clone())
    }

    fn ahead(&self) -> Vec<Choice> {
        self.left().to_vec()
    }

    fn chosen(&mut self, choice: &Choice) {
        self.note(choice);
        if self.order.wary {
            self.tell(ProbeSaid::Chose(self.mutate, choice.clone()));
        }
    }

    fn about_to(&mut self, step: Step, so_far: &SoFar<'_>) {
        if let Step::Mutate { mutates, .. } = step
            && mutates > self.mutate
        {
            self.mutate = mutates;
            self.log.note(What::Mutate(mutates));
            self.begins.push(so_far.choices.len());
            if matches!(self.order.answers, Answers::AsFits(_)) {
                self.used = 0;
            }
        }
        if matches!(step, Step::Chop { .. }) {
            self.log.note(What::Restart);
        }
        self.talk.before(step);
    }

    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        so_far: &SoFar<'_>,
    ) -> Result<(), Failure> {
        let place = so_far.place;
        self.talk.before(Step::Between);
        if self.past_end.is_some() || self.cut {
            return Err(Failure::Stop);
        }
        let wanted = match &self.order.until {
            Until::Mutate => false,
            Until::Failing { only: Some((interval, _)), .. } => place.interval == *interval,
            Until::Failing { .. } => place.mutates == self.order.mutates,
            Until::At(spot) => place.interval == spot.interval,
        };
        if wanted {
            let judge = pipeline.judge();
            let asked = pipeline.asked(stack.devices(), ask, (place.interval, so_far.choices))?;
            let found = match &self.order.until {
                Until::At(spot) if asked.args(spot.epoch) == spot.args => {
                    Some((spot.epoch, spot.disks.clone()))
                }
                Until::Failing { only: Some((_, log)), .. }
                    if format!("{:032x}", asked.log_hash()) == *log =>
                {
                    self.same_log = true;
                    None
                }
                _ => self.failing(judge, ask, &asked, place)?,
            };
            let stood = match found {
                Some((epoch, disks)) => {
                    let here = Here { judge, ask, asked: &asked, place, epoch, told: epoch };
                    self.stand(here, &disks, stack, so_far.choices)?
                }
                None => false,
            };
            stood_still(stack.devices())?;
            if stood || matches!(self.order.until, Until::At(_)) {
                return Err(Failure::Stop);
            }
        }
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _arrival: Arrival, _signature: Option<&[u8]>, _more: bool) -> bool {
        self.past_end.is_none() && !self.cut
    }
}
