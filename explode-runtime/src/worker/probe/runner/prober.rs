//! A probe that runs or has stopped, and its connection to the supervisor.

use std::time::Instant;

use explode_ramdisk::Image;

use crate::choose::{Choice, Divergence};
use crate::events::{CallLog, ToldStory};
use crate::verdict::{Violation, WorkerStep};
use crate::worker::probe::protocol::{ProbeCommand, ProbeGoal, ProbeOrder, ProbeReply};

/// The connection of a probe to the supervisor.
pub(crate) trait ProbeChannel {
    /// Announces a step that may hang or end this process.
    fn before(&mut self, step: WorkerStep);

    /// Sends a reply.
    fn report(&mut self, reply: ProbeReply);

    /// Sends a reply and returns the next command.
    fn next(&mut self, reply: ProbeReply) -> ProbeCommand;
}

pub(super) struct ProbeRunner<'a> {
    pub order: &'a ProbeOrder,
    pub talk: &'a mut dyn ProbeChannel,
    pub started: Instant,
    /// The number of the current mutate, from 1; 0 before the first.
    pub mutate: u32,
    /// The number of choices made before each mutate.
    pub begins: Vec<usize>,
    /// The number of used answers, on the whole path for `Exactly`, in the current mutate for
    /// `AsFits`.
    pub used: usize,
    pub past_end: Option<Divergence>,
    pub looked: u64,
    /// True if nothing was searched because the log is the recorded one.
    pub same_log: bool,
    /// True if a bound has ended the search.
    pub cut: bool,
    pub has_stopped: bool,
    /// The calls so far.
    pub log: CallLog,
    pub pristine: Image,
    /// The system's own story.
    pub told: ToldStory,
}

impl ProbeRunner<'_> {
    pub fn send(&mut self, reply: ProbeReply) {
        self.talk.report(reply);
    }

    /// Returns the reason why the goal was not reached.
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

    /// Splits choices into those of each mutate.
    pub fn split(&self, choices: &[Choice]) -> Vec<Vec<Choice>> {
        let ends = self.begins.iter().skip(1).copied().chain([choices.len()]);
        self.begins.iter().zip(ends).map(|(begin, end)| choices[*begin..end].to_vec()).collect()
    }

    pub fn is_the_error(&self, violation: &Violation) -> bool {
        violation.verdict == self.order.verdict && violation.promise == self.order.promise
    }
}
