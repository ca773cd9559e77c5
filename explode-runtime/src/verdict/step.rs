//! The steps of a worker that may hang, or end it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a worker is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WorkerStep {
    /// Work of the tool's own, which may take any time: restoring disks, going through
    /// combinations.
    Between,
    /// The first start of the stack.
    FirstStart,
    /// A later start.
    Start,
    /// The checker's init.
    Init,
    /// A call of mutate, or its part after a request for crash checks.
    Mutate {
        /// Calls so far, this one included.
        mutates: u32,
        /// Requests for crash checks so far.
        interval: u64,
    },
    /// Something with a crash disk.
    Disk {
        /// The key of its check.
        key: u128,
        /// How many crashes during recovery led to it.
        crashes: u32,
        /// What happens to the disk.
        stage: DiskStage,
    },
    /// A chop: the stack is unmounted, and mounted again.
    Chop {
        /// After so many calls of mutate.
        mutates: u32,
    },
    /// The checker's finish.
    Finish,
}

/// What is done with a crash disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiskStage {
    /// A component recovers.
    Recover,
    /// A component is mounted.
    Mount,
    /// The checker looks.
    Check,
}

/// The kind of a step, as traces and signatures name it.
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
    /// Its kind; none between steps.
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
