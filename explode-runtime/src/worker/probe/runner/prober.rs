//! A worker that stands still at a request for crash checks.

use std::time::Instant;

use explode_ramdisk::Image;

use crate::choose::{Choice, Divergence};
use crate::events::CallLog;
use crate::verdict::{Violation, WorkerStep};
use crate::worker::probe::protocol::{ProbeCommand, ProbeGoal, ProbeOrder, ProbeReply};

/// Who asks.
pub(crate) trait ProbeChannel {
    /// A step that may hang, or end this process, comes next.
    fn before(&mut self, step: WorkerStep);

    /// Says something.
    fn report(&mut self, said: ProbeReply);

    /// Says something, and hears what comes next.
    fn next(&mut self, said: ProbeReply) -> ProbeCommand;
}

pub(super) struct ProbeRunner<'a> {
    pub order: &'a ProbeOrder,
    pub talk: &'a mut dyn ProbeChannel,
    pub started: Instant,
    /// The number of the mutate that runs, from 1.
    pub mutate: u32,
    /// How many choices were made before each mutate.
    pub begins: Vec<usize>,
    /// How many answers, of those that are used in order, are used.
    pub used: usize,
    pub past_end: Option<Divergence>,
    pub looked: u64,
    /// There was no search, since the log was the recorded one.
    pub same_log: bool,
    /// A bound has ended the search.
    pub cut: bool,
    pub stood: bool,
    /// What was done so far.
    pub log: CallLog,
    pub pristine: Image,
}

impl ProbeRunner<'_> {
    pub fn send(&mut self, said: ProbeReply) {
        self.talk.report(said);
    }

    /// Why what was looked for is not there.
    pub fn nothing(&self) -> &'static str {
        match self.order.until {
            ProbeGoal::Mutate => "mutate found nothing wrong",
            ProbeGoal::At(_) => {
                "no crash can leave the recorded disk in the recorded epoch, with these arguments"
            }
            ProbeGoal::Failing { .. } if self.same_log => {
                "the log is the recorded one, so no other disk was searched for"
            }
            ProbeGoal::Failing { .. } if self.looked == 0 => {
                "no crash disk of the last mutate could be looked at"
            }
            ProbeGoal::Failing { .. } => "no crash disk of the last mutate failed that way",
        }
    }

    /// Choices mutate by mutate.
    pub fn split(&self, choices: &[Choice]) -> Vec<Vec<Choice>> {
        let ends = self.begins.iter().skip(1).copied().chain([choices.len()]);
        self.begins.iter().zip(ends).map(|(begin, end)| choices[*begin..end].to_vec()).collect()
    }

    pub fn is_the_error(&self, violation: &Violation) -> bool {
        violation.verdict == self.order.verdict && violation.promise == self.order.promise
    }
}
