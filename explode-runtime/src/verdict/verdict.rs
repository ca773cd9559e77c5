//! Verdicts (`docs/reference/json.md`) and the violations that checkers report.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// All promises are kept.
    Ok,
    /// Recovery repaired something, within the system's promise.
    Repaired,
    /// Promised data is gone.
    Lost,
    /// Contents or structure are wrong.
    Corrupt,
    /// Data is there that never existed, or that was durably removed.
    Resurrected,
    /// Recovery failed.
    RecoverFailed,
    /// The mount after recovery failed.
    MountFailed,
    /// The check failed with a message of the checker, or the process died in a step.
    CheckFailed,
    /// The guest's kernel panicked.
    KernelPanic,
    /// The guest's kernel reported an oops or a bug.
    KernelOops,
    /// The guest's kernel printed a warning.
    KernelWarn,
    /// A step did not end within the deadline.
    Hang,
    /// A replay took another path.
    Diverged,
    /// The tool, a component or the machine failed. This says nothing about the checked system.
    Broken,
    /// A requirement is missing.
    Unsupported,
}

impl Verdict {
    /// Returns the word for the verdict in reports and traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Repaired => "repaired",
            Verdict::Lost => "lost",
            Verdict::Corrupt => "corrupt",
            Verdict::Resurrected => "resurrected",
            Verdict::RecoverFailed => "recover-failed",
            Verdict::MountFailed => "mount-failed",
            Verdict::CheckFailed => "check-failed",
            Verdict::KernelPanic => "kernel-panic",
            Verdict::KernelOops => "kernel-oops",
            Verdict::KernelWarn => "kernel-warn",
            Verdict::Hang => "hang",
            Verdict::Diverged => "diverged",
            Verdict::Broken => "broken",
            Verdict::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A broken promise, as a checker reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The verdict of the violation.
    pub verdict: Verdict,
    /// The name of the promise: one word for one kind of error, whatever the details. Profiles and
    /// signatures use it.
    pub promise: String,
    /// The expected and the actual result, for a person.
    pub message: String,
}

impl Violation {
    /// Returns a violation of `promise`.
    pub fn new(
        verdict: Verdict,
        promise: impl Into<String>,
        message: impl Into<String>,
    ) -> Violation {
        Violation { verdict, promise: promise.into(), message: message.into() }
    }

    /// Returns the signature under a checker. Findings with one signature are one bug.
    pub fn signature(&self, checker: &str) -> String {
        format!("{checker}/{}/{}", self.verdict, self.promise)
    }
}
