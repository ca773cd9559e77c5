//! The steps of a crash test as a checker. It knows the contents after each step and the steps that
//! a crash may lose.

use std::fmt::Debug;

use super::engine::OpenEngine;
use super::parts::EngineParts;
use super::step::Step;
use crate::base::{StepError, catch_panic};
use crate::check::{Checker, CheckerDef, Cx};
use crate::crash::Epoch;
use crate::stack::Stack;
use crate::verdict::{CheckError, Verdict, Violation};

/// The name of the checker.
pub(super) const NAME: &str = "crash-test";

/// Returns the definition of the checker for the registry.
pub(super) fn def<S: 'static, M: Clone + Debug + PartialEq + 'static>(
    parts: EngineParts<S, M>,
) -> CheckerDef {
    CheckerDef::new(NAME, "the steps of a crash test survive every crash", move |_| {
        Ok(Box::new(Model { parts: parts.clone(), history: Vec::new(), before: 0, durable: 0 }))
    })
}

struct Model<S, M> {
    parts: EngineParts<S, M>,
    /// The contents of the store after 0, 1, 2 ... steps.
    history: Vec<M>,
    /// The number of steps that were durable before the last one began.
    before: usize,
    /// The number of steps that are durable now.
    durable: usize,
}

impl<S, M: Debug + PartialEq> Model<S, M> {
    /// Returns a violation unless a crash in this epoch may leave these contents.
    fn judge(&self, found: &M, epoch: Epoch) -> Result<(), Violation> {
        let steps = self.history.len() - 1;
        let (least, most) = match epoch {
            Epoch::Begin => (self.before, steps.saturating_sub(1)),
            Epoch::InBetween => (self.before, steps),
            Epoch::End | Epoch::Now | Epoch::Soft => (self.durable, steps),
        };
        let held = |steps: &[M]| steps.iter().rposition(|state| state == found);
        if held(&self.history[least..=most]).is_some() {
            Ok(())
        } else if let Some(present) = held(&self.history[..least]) {
            let message = format!(
                "{least} steps were durable, {present} are there; it holds {}",
                shown(found)
            );
            Err(Violation::new(Verdict::Lost, "durable", message))
        } else {
            let message = format!("no step so far leaves what is there; it holds {}", shown(found));
            Err(Violation::new(Verdict::Corrupt, "atomic", message))
        }
    }
}

/// Returns the contents as text, cut after 120 characters.
fn shown(state: &impl Debug) -> String {
    let text = format!("{state:?}");
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

impl<S: 'static, M: Clone + Debug + PartialEq + 'static> Checker for Model<S, M> {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        // The history continues across a chop.
        if self.history.is_empty() {
            let store = stack.engine::<OpenEngine<S>>()?;
            self.history.push((self.parts.read)(&mut store.borrow_mut()).map_err(StepError::new)?);
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let store = cx.stack().engine::<OpenEngine<S>>()?;
        let mut state =
            self.history.last().cloned().expect("there is a state before the first step");
        cx.check_crashes_start(&[]);
        let mut step = Step { cx, lazy: false };
        (self.parts.step)(&mut store.borrow_mut(), &mut state, &mut step)
            .map_err(|error| CheckError::broken(format!("step {}: {error}", self.history.len())))?;
        let lazy = step.lazy;
        self.history.push(state);
        self.before = self.durable;
        if !lazy {
            self.durable = self.history.len() - 1;
        }
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let store = stack.engine::<OpenEngine<S>>()?;
        let unreadable = |error: String| Violation::new(Verdict::Corrupt, "readable", error);
        let read = catch_panic(|| {
            (self.parts.read)(&mut store.borrow_mut()).map_err(|error| error.to_string())
        });
        let found = read.and_then(|read| read).map_err(unreadable)?;
        Ok(self.judge(&found, epoch)?)
    }
}
