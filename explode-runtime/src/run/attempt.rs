//! The supervisor's listener for a unit that runs.

use super::progress::RunState;
use super::sink::RunSink;
use crate::base::RunError;
use crate::choose::Choice;
use crate::verdict::WorkerStep;
use crate::worker::{UnitListener, UnitSnapshot};

/// Receives the progress of one attempt at a unit.
pub(super) struct Attempt<'a, 'p> {
    pub run: &'a mut RunState<'p>,
    pub sink: &'a mut dyn RunSink,
    /// The number of states that wait.
    waiting: usize,
    /// The choices past the end of the script that the worker has reported in this attempt.
    pub chosen: Vec<Choice>,
    /// The last snapshot, and the step that it precedes.
    pub snapshot: Option<(WorkerStep, UnitSnapshot)>,
    /// The error of the sink, once it has failed.
    pub failed: Option<RunError>,
}

impl<'a, 'p> Attempt<'a, 'p> {
    pub fn new(
        run: &'a mut RunState<'p>,
        sink: &'a mut dyn RunSink,
        waiting: usize,
    ) -> Attempt<'a, 'p> {
        Attempt { run, sink, waiting, chosen: Vec::new(), snapshot: None, failed: None }
    }
}

impl UnitListener for Attempt<'_, '_> {
    fn chose(&mut self, choice: &Choice) {
        self.chosen.push(choice.clone());
    }

    fn next_walk(&mut self) {
        self.chosen.clear();
    }

    fn next_step(&mut self, _step: WorkerStep, checked: u64) {
        if let Err(error) = self.run.report_progress(self.waiting, checked, self.sink) {
            self.failed.get_or_insert(error);
        }
    }

    fn snapshot_before(&mut self, step: WorkerStep, snapshot: UnitSnapshot) {
        self.snapshot = Some((step, snapshot));
    }

    fn stop(&mut self) -> bool {
        self.failed.is_some() || self.run.time.is_up()
    }
}
