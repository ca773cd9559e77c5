//! The supervisor's ear: what it hears of a unit while it runs. Until the unit has ended all of it can be taken back.

use std::time::{Duration, Instant};

use super::supervise::Progressing;
use super::tell::Audience;
use crate::base::RunError;
use crate::choose::{Choice, Point};
use crate::explore::{Arrival, Reached, Strategy};
use crate::report::Message;
use crate::verdict::Step;
use crate::worker::{Listener, Snapshot};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(1);

/// Hears of one attempt to run a unit.
pub(super) struct Hearing<'a, 'p> {
    pub run: &'a mut Progressing<'p>,
    pub strategy: &'a mut dyn Strategy,
    pub audience: &'a mut dyn Audience,
    /// The answers to points past the end of the script; those of an earlier attempt hold for this one.
    pub answers: &'a mut Vec<Choice>,
    /// How many of them were given in this attempt.
    pub answered: usize,
    /// What the last mutate led to.
    pub reached: Reached,
    /// A bound has ended it with mutates left.
    pub cut: bool,
    /// The states of this attempt.
    pub arrivals: Vec<(Arrival, Reached)>,
    /// Those that are new, each with its depth before, if it had one.
    new: Vec<(u128, Option<u32>)>,
    /// The topologies that are new.
    new_topologies: Vec<u128>,
    /// What was known before the last step that the worker is wary of.
    pub wary: Option<(Step, Snapshot)>,
    /// What the audience could not hear.
    pub failed: Option<RunError>,
}

impl<'a, 'p> Hearing<'a, 'p> {
    pub fn new(
        run: &'a mut Progressing<'p>,
        strategy: &'a mut dyn Strategy,
        audience: &'a mut dyn Audience,
        answers: &'a mut Vec<Choice>,
    ) -> Hearing<'a, 'p> {
        Hearing {
            run,
            strategy,
            audience,
            answers,
            answered: 0,
            reached: Reached::Stopped,
            cut: false,
            arrivals: Vec::new(),
            new: Vec::new(),
            new_topologies: Vec::new(),
            wary: None,
            failed: None,
        }
    }

    /// Takes everything back but the answers.
    pub fn undo(&mut self) {
        self.answered = 0;
        self.reached = Reached::Stopped;
        self.cut = false;
        self.arrivals.clear();
        for (signature, before) in self.new.drain(..).rev() {
            self.run.states.undo(signature, before);
        }
        for topology in self.new_topologies.drain(..) {
            self.run.topologies.remove(&topology);
        }
    }
}

impl Listener for Hearing<'_, '_> {
    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        let Point { kind, options, label, .. } = point;
        let index = self.answered;
        self.answered += 1;
        if let Some(known) = self.answers.get(index)
            && (known.kind, known.options, &known.label) == (*kind, *options, label)
        {
            return known.value;
        }
        self.answers.truncate(index);
        // The kernel does not wait for answers: it has run normally, and has done nothing of its own.
        let value = match kind {
            _ if kind.is_of_kernel() => options - 1,
            _ if kind.is_made_elsewhere() => 0,
            _ => self.strategy.fallback(point),
        };
        self.answers.push(Choice::of(point, value));
        value
    }

    fn reached(&mut self, arrival: &Arrival, more: bool) -> bool {
        let Arrival { signature, depth, topology, .. } = *arrival;
        let before = self.run.states.depth(signature);
        let new = self.run.states.reach(signature, depth);
        if new {
            self.new.push((signature, before));
        }
        let topology = topology.filter(|topology| self.run.topologies.insert(*topology));
        self.new_topologies.extend(topology);
        let reached = if new { Reached::New } else { Reached::Known };
        self.arrivals.push((arrival.clone(), reached));
        // At depth 0 no mutate has led anywhere yet; what the first one leads to is not known before it returns.
        if depth > 0 {
            self.reached = reached;
        }
        self.cut = more && self.run.bound_reached();
        !self.cut
    }

    fn about_to(&mut self, _step: Step, checked: u64) {
        if self.run.last_progress.elapsed() >= PROGRESS {
            self.run.last_progress = Instant::now();
            let progress = self.run.progress(self.strategy.waiting(), checked);
            if let Err(error) = self.audience.tell(&Message::Progress(progress)) {
                self.failed.get_or_insert(error);
            }
        }
    }

    fn wary(&mut self, step: Step, snapshot: Snapshot) {
        self.wary = Some((step, snapshot));
    }

    fn stop(&mut self) -> bool {
        self.failed.is_some() || self.run.time.is_up()
    }
}
