//! The messages. Their JSON form, one object a line with a `type`, is what other programs rely on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{ExactCount, Mode, Options, RunError};
use crate::crash::Epoch;
use crate::plan::RunSettings;
use crate::stack::StackSpec;
use crate::verdict::{Broken, BrokenKind, Verdict};

/// One message of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Message {
    /// What is going to be run; the first message.
    Run(RunInfo),
    /// How far the run is; sent repeatedly.
    Progress(Progress),
    /// A finding, or something that is by design.
    Finding(Finding),
    /// Something that could not be done; reported once, counted in the summary. The only message of
    /// a run that is refused, and the last one of a run that an error ends: that one is not
    /// counted.
    Broken {
        /// Who or what stands in the way.
        kind: BrokenKind,
        /// The error in words.
        message: String,
        /// The profile's line and its source, if it excludes all that the checker is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
    },
    /// The result; the last message.
    Summary(Summary),
}

impl Message {
    /// Returns the message about an error that ends a run; `None` if the user has named something
    /// wrong.
    pub fn ended_by(error: &RunError) -> Option<Message> {
        let Broken { kind, message } = error.as_broken()?;
        let profile =
            if let RunError::NotPromised(line) = error { Some(line.clone()) } else { None };
        Some(Message::Broken { kind, message, profile })
    }
}

impl From<Broken> for Message {
    fn from(Broken { kind, message }: Broken) -> Message {
        Message::Broken { kind, message, profile: None }
    }
}

/// What is going to be run: everything that decides it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunInfo {
    /// The target's name.
    pub target: String,
    /// Where it runs.
    #[serde(rename = "in")]
    pub mode: Mode,
    /// The seed, which is in `options` too.
    pub seed: u64,
    /// The stack, bottom first, with what holds for the options that were not given.
    pub stack: StackSpec,
    /// The checker's name.
    pub checker: String,
    /// The checker's options, as they were given.
    pub checker_options: Options,
    /// What holds for those that were not.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub checker_defaults: Options,
    /// The effective options.
    pub options: RunSettings,
    /// Versions of what decides the result.
    pub versions: BTreeMap<String, String>,
    /// State of components that the event log does not show.
    #[serde(default)]
    pub unobserved: Vec<String>,
    /// Calls that the stack does not have and the checker omits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported_calls: Vec<String>,
    /// `unobserved`, under its key in the last release.
    #[serde(default)]
    pub hides: Vec<String>,
    /// `unsupported_calls`, under its key in the last release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_out: Vec<String>,
    /// Are checks skipped whose verdict is known?
    #[serde(default)]
    pub skipping: bool,
    /// Why they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_skipping: Option<String>,
    /// The run folder.
    pub out: String,
}

/// How far a run is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// States that wait.
    pub waiting: u64,
    /// Calls of mutate explored.
    pub operations: ExactCount,
    /// Checks made.
    pub checked: ExactCount,
    /// Checks that an earlier one has answered.
    pub equivalent: ExactCount,
    /// Disks that no sample met.
    pub left_out: ExactCount,
    /// Distinct findings.
    pub findings: u64,
    /// Checks made a second, since the beginning; to a tenth.
    pub rate: f64,
    /// Since the beginning.
    pub seconds: f64,
}

/// One bug, however many disks show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Names its trace.
    pub id: String,
    /// How bad.
    pub verdict: Verdict,
    /// The profile excludes it.
    pub by_design: bool,
    /// The profile's line and its source, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What was expected and what was found.
    pub message: String,
    /// When the crash was; none without a crash.
    pub epoch: Option<Epoch>,
    /// Findings with the same one are one bug.
    pub signature: String,
    /// How many checks have shown it.
    pub count: ExactCount,
    /// The path of its trace.
    pub trace: String,
    /// Its replay, in a fresh process, has shown it again.
    pub replayed: bool,
    /// What its replay said, if it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_replayed: Option<String>,
}

impl Finding {
    /// Which promise is broken; of a step that has ended its process, or hangs, that step.
    pub fn promise(&self) -> &str {
        let verdict = format!("/{}/", self.verdict);
        self.signature.split_once(&verdict).map_or("", |(_, promise)| promise)
    }

    /// When it shows itself, for a person.
    pub fn when(&self) -> String {
        self.epoch.map_or_else(|| "without a crash".to_owned(), |epoch| format!("epoch {epoch}"))
    }
}

/// The result of a run. Counts are exact; none counts replays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Distinct signatures of states, the first included.
    pub states: ExactCount,
    /// Distinct topologies of states, of a checker that [says them](crate::check::Topology).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topologies: Option<ExactCount>,
    /// Calls of mutate explored.
    pub operations: ExactCount,
    /// Answered points with two or more options.
    pub choices: ExactCount,
    /// The sum over all emissions.
    pub crash_disks: ExactCount,
    /// Keys: `checked` + `equivalent` + `pending`.
    pub distinct: ExactCount,
    /// Checks made.
    pub checked: ExactCount,
    /// Checks that an earlier one has answered.
    pub equivalent: ExactCount,
    /// Checks that a stop has left.
    pub pending: ExactCount,
    /// Disks that no sample met.
    pub left_out: ExactCount,
    /// Disks of crashes during recovery that were checked.
    pub crash_crash_disks: ExactCount,
    /// Disks of crashes during recovery that no sample met.
    #[serde(default)]
    pub crash_crash_left_out: ExactCount,
    /// Checks whose violation the profile excludes.
    pub by_design: ExactCount,
    /// Checks and mutates that the tool or a component could not make.
    pub broken: ExactCount,
    /// Distinct signatures of findings.
    pub findings: ExactCount,
    /// Nothing waits within the depth, nothing is left out, nothing is pending.
    pub complete: bool,
    /// From the first message to the last.
    pub seconds: f64,
}

impl Summary {
    /// Disks that no sample met, of crashes and of crashes during recovery. They were not checked.
    pub fn disks_left_out(&self) -> ExactCount {
        ExactCount(&self.left_out.0 + &self.crash_crash_left_out.0)
    }

    /// Disks whose verdict is known: checked, or equal to one that was, of crashes and of crashes
    /// during recovery.
    pub fn disks_checked(&self) -> ExactCount {
        ExactCount(&self.checked.0 + &self.equivalent.0 + &self.crash_crash_disks.0)
    }
}
