//! The death of a worker.

use super::step::{StepName, WorkerStep};
use super::verdict::{Verdict, Violation};

/// The end of a worker that died, or had to be killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerDeath {
    /// The step that the worker was about to do.
    pub step: WorkerStep,
    /// The verdict if the death can be repeated. `None` if the verdict depends on the step.
    pub verdict: Option<Verdict>,
    /// The way in which the worker ended, in words.
    pub message: String,
    /// True if the worker was killed from outside, so that the death says nothing about the step.
    pub killed_externally: bool,
}

impl WorkerDeath {
    /// Returns the violation of the checked system, if the death can be repeated.
    pub fn violation(&self, step: StepName) -> Violation {
        let verdict = self.verdict.unwrap_or(match step {
            StepName::Recover => Verdict::RecoverFailed,
            StepName::Start | StepName::Mount => Verdict::MountFailed,
            _ => Verdict::CheckFailed,
        });
        let promise =
            if self.verdict.is_some() { step.to_string() } else { format!("died-in-{step}") };
        Violation::new(verdict, promise, format!("in step {step}: {}", self.message))
    }
}

impl std::fmt::Display for WorkerDeath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.step.name() {
            Some(name) => write!(f, "in step {name}: {}", self.message),
            None => write!(f, "between two steps: {}", self.message),
        }
    }
}
