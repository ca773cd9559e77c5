//! The trace file (`docs/reference/trace-format.md`): self-contained JSON, format 1.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::crash_disk::CrashDiskRecord;
use super::recorded::RecordedCrash;
use super::tag::{Secret, Tagged};
use crate::base::{MOST_TRACE_BYTES, Mode, Options, read_at_most};
use crate::choose::Choice;
use crate::crash::Epoch;
use crate::plan::{Plan, RunOrigin, RunSettings};
use crate::stack::{Carried, StackSpec};
use crate::trace::{FoundError, Position};
use crate::verdict::{StepName, Verdict};

/// The format that this version writes and reads.
const FORMAT: u32 = 1;

/// A finding with everything that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The format of the file, which is 1.
    pub format: u32,
    /// The version of explode that wrote it.
    pub explode: String,
    /// The versions of the checked systems, by name.
    pub versions: BTreeMap<String, String>,
    /// The target's name.
    pub target: String,
    /// The name of the `#[test]` that made the trace. Only it knows the target. Absent for targets
    /// of programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The mode of the run.
    #[serde(rename = "in")]
    pub mode: Mode,
    /// The stack, bottom first, with the defaults of the options that were not given.
    pub stack: StackSpec,
    /// The checker's name.
    pub checker: String,
    /// The checker's options that were given.
    pub checker_options: Options,
    /// The defaults of the checker's options that were not given.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub checker_defaults: Options,
    /// The effective options of the run, including its seed.
    pub options: RunSettings,
    /// The identity of the pristine disks, in 32 hexadecimal digits. The stack's description makes
    /// them again.
    pub pristine: String,
    /// Every choice from the pristine disks on.
    pub choices: Vec<Choice>,
    /// The number of calls of mutate that made the choices.
    pub mutates: u32,
    /// The calls of mutate, by number, after which there was a chop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chops: Vec<u32>,
    /// The index of the request for crash checks that found the error, from 0.
    pub interval: u64,
    /// The epoch of the crash. Null without a crash.
    pub epoch: Option<Epoch>,
    /// The arguments of the check.
    pub args: Vec<String>,
    /// The hash of all events up to the error, in 32 hexadecimal digits.
    pub log: String,
    /// The disk that the crash left. Null without a crash.
    pub crash_disk: Option<CrashDiskRecord>,
    /// The disks that crashes during recovery left, each during the recovery of the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<CrashDiskRecord>,
    /// The step that ended the process or the guest, or that hung. Absent if the process itself
    /// found the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died: Option<StepName>,
    /// The verdict of the error.
    pub verdict: Verdict,
    /// The signature, which identifies the bug.
    pub signature: String,
    /// True if the profile excludes the finding.
    pub by_design: bool,
    /// The expected and the actual result.
    pub message: String,
    /// The crash in a form from which a replay builds its disk without the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Box<RecordedCrash>>,
    /// A keyed hash of all other keys, in 64 hexadecimal digits. Absent if the trace contains no
    /// commands, or if there was no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

/// An error of reading a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The text is not the JSON of a trace. The message has line and column.
    #[error("not a trace: {0}")]
    Json(#[from] serde_json::Error),
    /// The trace has another format.
    #[error("format {0}, and this explode reads format {FORMAT}; use the version that wrote it")]
    Format(u32),
    /// The trace contradicts itself.
    #[error("not a trace: {0}; the file is damaged, or was edited by hand")]
    Damaged(String),
}

/// Returns the calls of mutate that a chop follows on the path to a place, in order.
fn chops(period: Option<u32>, place: Position) -> Vec<u32> {
    let demanded = u32::from(place.remounted);
    match period {
        // With a chop after each call, the one that the checker demands is among them.
        Some(1) => (1..=place.chops + demanded).collect(),
        Some(period) => {
            let regular = (1..=place.chops).map(|chop| chop * period);
            (1..=demanded).chain(regular).collect()
        }
        None => (1..=demanded).collect(),
    }
}

impl Trace {
    /// Returns the trace of an error.
    pub fn of(plan: &Plan, origin: &RunOrigin, error: &FoundError) -> Trace {
        let witness = &error.way;
        Trace {
            format: FORMAT,
            explode: env!("CARGO_PKG_VERSION").to_owned(),
            versions: origin.versions.clone(),
            target: plan.target.clone(),
            test: None,
            mode: plan.mode,
            stack: origin.stack.clone(),
            checker: plan.checker.clone(),
            checker_options: plan.checker_options.clone(),
            checker_defaults: origin.checker_defaults.clone(),
            options: plan.settings.clone(),
            pristine: origin.pristine.clone(),
            choices: witness.choices.clone(),
            mutates: witness.place.mutates,
            chops: chops(plan.settings.chop, witness.place),
            interval: witness.place.interval,
            epoch: witness.epoch,
            args: witness.args.clone(),
            log: format!("{:032x}", witness.log_hash),
            crash_disk: witness.disk.as_ref().map(CrashDiskRecord::of),
            recovery: witness.recovery.iter().map(CrashDiskRecord::of).collect(),
            died: error.died,
            verdict: error.violation.verdict,
            signature: error.violation.signature(&plan.checker),
            by_design: error.by_design.is_some(),
            message: error.violation.message.clone(),
            recorded: None,
            tag: None,
        }
    }

    /// Returns the shell commands in the trace, which a replay runs.
    pub fn commands(&self) -> Vec<Carried> {
        self.plan().commands()
    }

    /// Returns the trace with a tag of this secret if it contains commands, and without a tag
    /// otherwise.
    #[must_use = "this returns the tagged trace"]
    pub fn tagged(mut self, secret: Option<&Secret>) -> Trace {
        self.tag = None;
        self.tag = secret
            .filter(|_| !self.commands().is_empty())
            .map(|secret| secret.tag(Tagged::Trace, &self));
        self
    }

    /// Returns true if its tag is that of this secret, and the trace has not changed since.
    pub fn is_tagged_by(&self, secret: &Secret) -> bool {
        let untagged = Trace { tag: None, ..self.clone() };
        self.tag.as_deref().is_some_and(|tag| secret.verifies(Tagged::Trace, &untagged, tag))
    }

    /// Reads a trace from a file.
    ///
    /// # Errors
    /// Returns the errors of the file, which may be too long, and those of
    /// [`from_json`](Trace::from_json).
    pub fn read(path: &Path) -> Result<Trace, TraceError> {
        Trace::from_json(&read_at_most(path, MOST_TRACE_BYTES)?)
    }

    /// Reads a trace.
    ///
    /// # Errors
    /// Returns an error that says what is wrong, with line and column if the text is not the JSON
    /// of a trace.
    pub fn from_json(text: &[u8]) -> Result<Trace, TraceError> {
        #[derive(Deserialize)]
        struct Probe {
            format: u32,
        }
        // serde would also accept an array of the values without their names.
        if text.trim_ascii_start().first() == Some(&b'[') {
            return Err(TraceError::Damaged("a trace is a JSON object".to_owned()));
        }
        let Probe { format } = serde_json::from_slice(text)?;
        if format != FORMAT {
            return Err(TraceError::Format(format));
        }
        let trace: Trace = serde_json::from_slice(text)?;
        trace
            .contradiction()
            .map_or(Ok(trace), |contradiction| Err(TraceError::Damaged(contradiction)))
    }

    /// Returns the contradiction in the trace that no run can have. `None` if there is none.
    fn contradiction(&self) -> Option<String> {
        let Trace {
            choices,
            mutates,
            epoch,
            log,
            crash_disk,
            checker,
            died,
            verdict,
            signature,
            recorded,
            ..
        } = self;
        let begun = !matches!(died, Some(StepName::Start | StepName::Init));
        let depth = self.options.depth;
        let unreal = choices.iter().position(|choice| choice.value >= choice.options);
        let is_hash =
            |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some(at) = unreal {
            let (value, options) = (choices[at].value, choices[at].options);
            Some(format!("choice {at} has the value {value} of {options} options, 0 is the first"))
        } else if (*mutates == 0 && begun) || *mutates > depth {
            Some(format!("it has {mutates} mutates, and the depth is {depth}"))
        } else if !self
            .chops
            .iter()
            .zip([0].iter().chain(&self.chops))
            .all(|(chop, before)| before < chop)
            || self.chops.last().is_some_and(|last| {
                *last > *mutates || (*last == *mutates && *died != Some(StepName::Chop))
            })
        {
            Some(format!("it has chops after {:?} of {mutates} mutates", self.chops))
        } else if epoch.is_some() != crash_disk.is_some() {
            Some("an epoch and a crash disk belong together".to_owned())
        } else if crash_disk.is_none() && !self.recovery.is_empty() {
            Some("without a crash there is no crash during recovery".to_owned())
        } else if self.recovery.len() > self.options.crash_depth as usize {
            let (crashes, depth) = (self.recovery.len(), self.options.crash_depth);
            Some(format!(
                "it has {crashes} crashes during recovery, and the crash depth is {depth}"
            ))
        } else if recorded.as_ref().is_some_and(|recorded| {
            crash_disk.is_none() || recorded.recovery.len() != self.recovery.len()
        }) {
            Some("its recorded crash is another one than its own".to_owned())
        } else if !is_hash(log) {
            Some(format!("the hash of the log is '{log}', and not 32 hexadecimal digits"))
        } else if let Some(disk) =
            crash_disk.iter().chain(&self.recovery).find(|disk| !is_hash(&disk.id))
        {
            Some(format!(
                "the id of the crash disk is '{}', and not 32 hexadecimal digits",
                disk.id
            ))
        } else if self.promised().is_none() {
            Some(format!(
                "the signature '{signature}' is none of checker '{checker}' and verdict '{verdict}'"
            ))
        } else {
            None
        }
    }

    /// Returns the name of the broken promise.
    pub fn promise(&self) -> &str {
        self.promised().unwrap_or_default()
    }

    /// Returns the end of the signature. `None` if the signature is of another checker or verdict.
    fn promised(&self) -> Option<&str> {
        let Trace { checker, verdict, signature, .. } = self;
        signature.strip_prefix(&format!("{checker}/{verdict}/"))
    }

    /// Returns the text of the file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a trace is plain data");
        text.push('\n');
        text
    }

    /// Returns the plan with which the trace was found. Its defaults are those of that run.
    pub fn plan(&self) -> Plan {
        Plan {
            target: self.target.clone(),
            mode: self.mode,
            stack: self.stack.clone(),
            checker: self.checker.clone(),
            checker_options: self
                .checker_options
                .clone()
                .with_defaults(self.checker_defaults.clone()),
            settings: self.options.clone(),
        }
    }
}
