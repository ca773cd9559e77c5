//! The supervisor's ear: what it hears of a unit while it runs.

use super::progress::RunState;
use super::sink::RunSink;
use crate::base::RunError;
use crate::choose::Choice;
use crate::verdict::WorkerStep;
use crate::worker::{UnitListener, UnitSnapshot};

/// Hears of one unit.
pub(super) struct Attempt<'a, 'p> {
    pub run: &'a mut RunState<'p>,
    pub sink: &'a mut dyn RunSink,
    /// How many states wait.
    waiting: usize,
    /// The choices past the end of the script, in this attempt, as far as they were heard.
    pub chosen: Vec<Choice>,
    /// What was known before the last step that the worker is wary of.
    pub snapshot: Option<(WorkerStep, UnitSnapshot)>,
    /// What the sink could not hear.
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

    fn next_step(&mut self, _step: WorkerStep, checked: u64) {
        if let Err(error) = self.run.tell(self.waiting, checked, self.sink) {
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
