//! Verdicts (`docs/reference/json.md`) and the violations that checkers report.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What became of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// All promises kept.
    Ok,
    /// Recovery had to fix something, within its promise.
    Repaired,
    /// Something promised is gone.
    Lost,
    /// Wrong contents or structure.
    Corrupt,
    /// Something is there that never was, or was gone for good.
    Resurrected,
    /// Recovery gave up.
    RecoverFailed,
    /// It could not be mounted after recovery.
    MountFailed,
    /// The checker's own words.
    CheckFailed,
    /// The guest's kernel has given up.
    KernelPanic,
    /// The guest's kernel has gone wrong, and says where.
    KernelOops,
    /// The guest's kernel has warned of itself.
    KernelWarn,
    /// A step did not end within the deadline.
    Hang,
    /// A replay took another path.
    Diverged,
    /// The tool, a component or the machine failed: nothing is said of the checked system.
    Broken,
    /// A requirement is missing.
    Unsupported,
}

impl Verdict {
    /// The word of the reports and traces.
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

/// A broken promise, as a checker sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// How bad.
    pub verdict: Verdict,
    /// Which promise: the same word for the same kind of error, whatever the details. Profiles and
    /// signatures go by it.
    pub promise: String,
    /// What was expected and what was found, for a person.
    pub message: String,
}

impl Violation {
    /// A violation of `promise`.
    pub fn new(
        verdict: Verdict,
        promise: impl Into<String>,
        message: impl Into<String>,
    ) -> Violation {
        Violation { verdict, promise: promise.into(), message: message.into() }
    }

    /// Its signature under a checker: findings with the same one are one bug.
    pub fn signature(&self, checker: &str) -> String {
        format!("{checker}/{}/{}", self.verdict, self.promise)
    }
}
