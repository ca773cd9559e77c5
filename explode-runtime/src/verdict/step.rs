//! The steps of a worker that may hang or kill it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The step that a worker is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WorkerStep {
    /// Work of the tool that may take any time: restoring disks, or enumerating combinations.
    Between,
    /// The first start of the stack.
    FirstStart,
    /// A later start.
    Start,
    /// The checker's init.
    Init,
    /// A call of mutate, or its part after a request for crash checks.
    Mutate {
        /// The number of calls so far, including this one.
        mutates: u32,
        /// The number of requests for crash checks so far.
        interval: u64,
    },
    /// A stage of a crash disk's check.
    Disk {
        /// The key of its check.
        key: u128,
        /// The number of crashes during recovery that led to the disk.
        crashes: u32,
        /// The stage of the check.
        stage: DiskStage,
    },
    /// A chop: the stack is stopped and started again on its disks.
    Chop {
        /// The number of calls of mutate before the chop.
        mutates: u32,
    },
    /// The checker's finish.
    Finish,
}

/// A stage of the check of a crash disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiskStage {
    /// The recovery of a component.
    Recover,
    /// The mount of a component.
    Mount,
    /// A call of the checker's `check`.
    Check,
}

/// The kind of a step, as traces and signatures record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StepName {
    /// A start of the stack on the pristine disks.
    Start,
    /// The checker's init.
    Init,
    /// A call of mutate.
    Mutate,
    /// The recovery of a crash disk.
    Recover,
    /// A mount on a crash disk.
    Mount,
    /// A check of a crash disk.
    Check,
    /// A chop.
    Chop,
    /// The checker's finish.
    Finish,
}

impl WorkerStep {
    /// Returns the kind of the step. `None` between steps.
    pub fn name(self) -> Option<StepName> {
        match self {
            WorkerStep::Between => None,
            WorkerStep::FirstStart | WorkerStep::Start => Some(StepName::Start),
            WorkerStep::Init => Some(StepName::Init),
            WorkerStep::Mutate { .. } => Some(StepName::Mutate),
            WorkerStep::Disk { stage: DiskStage::Recover, .. } => Some(StepName::Recover),
            WorkerStep::Disk { stage: DiskStage::Mount, .. } => Some(StepName::Mount),
            WorkerStep::Disk { stage: DiskStage::Check, .. } => Some(StepName::Check),
            WorkerStep::Chop { .. } => Some(StepName::Chop),
            WorkerStep::Finish => Some(StepName::Finish),
        }
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StepName::Start => "start",
            StepName::Init => "init",
            StepName::Mutate => "mutate",
            StepName::Recover => "recover",
            StepName::Mount => "mount",
            StepName::Check => "check",
            StepName::Chop => "chop",
            StepName::Finish => "finish",
        })
    }
}
