//! The worker's side of a probe: runs the path, stops at the requested place, and tries the disks
//! that the supervisor requests.

mod answers;
mod disks;
mod prober;

use std::time::Instant;

use crate::check::CrashRequest;
use crate::choose::{Choice, ChoicePoint, Divergence};
use crate::events::{CallLog, LoggedAction, ToldStory, event_lines};
use crate::explore::{ReachedState, Unit};
use crate::judge::{CrashPipeline, check_still};
use crate::stack::Stack;
use crate::unit::{System, UnitHooks, UnitProgress, UnitStop};
use crate::verdict::{CheckError, WorkerStep};
use crate::worker::probe::protocol::{
    CitedPromise, ProbeAnswers, ProbeEnd, ProbeGoal, ProbeOrder, ProbeReply, ProbeResult,
};
use disks::ProbedRequest;
use prober::ProbeRunner;

pub(crate) use prober::ProbeChannel;

/// Runs a probe to its end.
pub(crate) fn probe(
    system: &dyn System,
    order: &ProbeOrder,
    talk: &mut dyn ProbeChannel,
) -> ProbeResult {
    let unit = Unit { mutates: order.mutates, ..Unit::default() };
    let mut prober = ProbeRunner {
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
        has_stopped: false,
        log: CallLog::new(order.noted).ticking(order.ticks),
        pristine: system.facts().pristine.clone(),
        told: ToldStory::default(),
    };
    let ended = system.run(&unit, &mut prober);
    let choices = prober.split(&ended.choices);
    let answered = ended.choices.len();
    let left = match &order.answers {
        ProbeAnswers::Exactly(answers) => answers.get(answered).cloned(),
        ProbeAnswers::AsFits(_) => None,
    };
    let left = left.map(|recorded| Divergence::not_met(answered, recorded));
    let end = if let Some(divergence) = prober.past_end {
        ProbeEnd::Diverged(divergence.to_string())
    } else {
        match (ended.early, left) {
            (Some(UnitStop::Diverged(divergence)), _) => ProbeEnd::Diverged(divergence.to_string()),
            (Some(UnitStop::Broken(why)), _) => ProbeEnd::Broken(why),
            (_, Some(divergence)) => ProbeEnd::Diverged(divergence.to_string()),
            (Some(UnitStop::Violated(violation, _)), _) => ProbeEnd::Violated(violation),
            _ if prober.has_stopped => ProbeEnd::Stopped,
            _ => ProbeEnd::Nothing(prober.nothing().to_owned(), prober.cut),
        }
    };
    let promise = system.facts().profile.and_then(|profile| {
        let line = profile.promises.iter().find(|line| line.name == order.promise)?;
        Some(CitedPromise {
            system: profile.system.clone(),
            name: line.name.to_owned(),
            kept: line.kept,
            quote: line.quote.to_owned(),
            source: line.source.to_owned(),
        })
    });
    ProbeResult {
        choices,
        failed: prober.log.failed_commands(),
        end,
        looked: prober.looked,
        promise,
        events: event_lines(&ended.events),
        told: prober.told,
    }
}

impl UnitHooks for ProbeRunner<'_> {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let value = self.answer(point);
        if self.order.snapshot_before {
            self.send(ProbeReply::Chose(self.mutate, Choice::of(point, value)));
        }
        value
    }

    fn log(&self) -> Option<CallLog> {
        Some(self.log.clone())
    }

    fn wants_story(&self) -> bool {
        self.order.noted
    }

    fn tell(&mut self, story: ToldStory) {
        self.told = story;
    }

    fn ahead(&self) -> Vec<Choice> {
        self.left().to_vec()
    }

    fn chosen(&mut self, choice: &Choice) {
        self.note(choice);
        if self.order.snapshot_before {
            self.send(ProbeReply::Chose(self.mutate, choice.clone()));
        }
    }

    fn before(&mut self, step: WorkerStep, so_far: &UnitProgress<'_>) {
        if let WorkerStep::Mutate { mutates, .. } = step
            && mutates > self.mutate
        {
            self.mutate = mutates;
            self.log.note(LoggedAction::Mutate(mutates));
            self.begins.push(so_far.choices.len());
            if matches!(self.order.answers, ProbeAnswers::AsFits(_)) {
                self.used = 0;
            }
        }
        if matches!(step, WorkerStep::Chop { .. }) {
            self.log.note(LoggedAction::Restart);
        }
        self.talk.before(step);
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        request: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        let place = so_far.place;
        self.talk.before(WorkerStep::Between);
        if self.past_end.is_some() || self.cut {
            return Err(CheckError::Stop);
        }
        let wanted = match &self.order.until {
            ProbeGoal::Mutate => false,
            ProbeGoal::Failing { only: Some((interval, _)), .. } => place.interval == *interval,
            ProbeGoal::Failing { .. } => place.mutates == self.order.mutates,
            ProbeGoal::At(spot) => place.interval == spot.interval,
        };
        if wanted {
            let judge = pipeline.judge();
            let open_request = pipeline.open_request(
                stack.devices(),
                request,
                (place.interval, so_far.choices),
            )?;
            let found = match &self.order.until {
                ProbeGoal::At(spot) if open_request.args(spot.epoch) == spot.args => {
                    Some((spot.epoch, spot.disks.clone()))
                }
                ProbeGoal::Failing { only: Some((_, log)), .. }
                    if format!("{:032x}", open_request.log_hash()) == *log =>
                {
                    self.same_log = true;
                    None
                }
                _ => self.failing(judge, request, &open_request, place)?,
            };
            let stood = match found {
                Some((epoch, disks)) => {
                    let probed = ProbedRequest {
                        judge,
                        request,
                        open_request: &open_request,
                        place,
                        epoch,
                        judged_as: epoch,
                    };
                    self.stop_at(probed, &disks, stack, so_far.choices)?
                }
                None => false,
            };
            check_still(stack.devices())?;
            if stood || matches!(self.order.until, ProbeGoal::At(_)) {
                return Err(CheckError::Stop);
            }
        }
        Ok(pipeline.skip(stack.devices(), request.when)?)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        self.past_end.is_none() && !self.cut
    }
}
