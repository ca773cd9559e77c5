//! The supervisor's ear: what it hears of a unit while it runs.

use super::progress::Progressing;
use super::tell::Audience;
use crate::base::RunError;
use crate::choose::Choice;
use crate::verdict::Step;
use crate::worker::{Listener, Snapshot};

/// Hears of one unit.
pub(super) struct Hearing<'a, 'p> {
    pub run: &'a mut Progressing<'p>,
    pub audience: &'a mut dyn Audience,
    /// How many states wait.
    waiting: usize,
    /// The choices past the end of the script, in this attempt, as far as they were heard.
    pub chosen: Vec<Choice>,
    /// What was known before the last step that the worker is wary of.
    pub wary: Option<(Step, Snapshot)>,
    /// What the audience could not hear.
    pub failed: Option<RunError>,
}

impl<'a, 'p> Hearing<'a, 'p> {
    pub fn new(
        run: &'a mut Progressing<'p>,
        audience: &'a mut dyn Audience,
        waiting: usize,
    ) -> Hearing<'a, 'p> {
        Hearing { run, audience, waiting, chosen: Vec::new(), wary: None, failed: None }
    }
}

impl Listener for Hearing<'_, '_> {
    fn chose(&mut self, choice: &Choice) {
        self.chosen.push(choice.clone());
    }

    fn about_to(&mut self, _step: Step, checked: u64) {
        if let Err(error) = self.run.tell(self.waiting, checked, self.audience) {
            self.failed.get_or_insert(error);
        }
    }

    fn wary(&mut self, step: Step, snapshot: Snapshot) {
        self.wary = Some((step, snapshot));
    }

    fn stop(&mut self) -> bool {
        self.failed.is_some() || self.run.time.is_up()
    }
}
