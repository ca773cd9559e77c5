//! How a worker ended.

use super::step::{StepName, WorkerStep};
use super::verdict::{Verdict, Violation};

/// A worker is gone: it died, or had to be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerDeath {
    /// What it was about to do.
    pub step: WorkerStep,
    /// What is said if it does so each time; none if that depends on the step.
    pub verdict: Option<Verdict>,
    /// How it ended.
    pub message: String,
    /// True if it was ended from outside, so that this says nothing of the step.
    pub killed_externally: bool,
}

impl WorkerDeath {
    /// What is said of the checked system, if this happens each time.
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
