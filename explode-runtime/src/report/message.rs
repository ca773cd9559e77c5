//! The messages of a run. Other programs rely on their JSON form: one object on each line, with a
//! `type`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{ExactCount, Mode, Options, RunError, TallyGroup, plural};
use crate::crash::Epoch;
use crate::plan::RunSettings;
use crate::stack::StackSpec;
use crate::verdict::{Broken, BrokenKind, Verdict};

/// One message of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Message {
    /// The plan of the run, as the first message.
    Run(RunInfo),
    /// The progress of the run, sent repeatedly.
    Progress(Progress),
    /// A finding, or a result that is by design.
    Finding(Finding),
    /// A failure. During a run it is reported once and counted in the summary. It is also the only
    /// message of a run that is refused, and the last message of a run that an error ends. That one
    /// is not counted.
    Broken {
        /// The cause of the failure.
        kind: BrokenKind,
        /// The reason in words.
        message: String,
        /// The profile's line and its source, if the profile excludes every promise of the checker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
    },
    /// All paths of a number of mutates are explored, in a run whose checker counts its workloads.
    Depth(DepthDone),
    /// The result of the run, as the last message.
    Summary(Summary),
}

impl Message {
    /// Returns the message about an error that ends a run. `None` for a usage error.
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

/// The description of a run: everything that determines it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunInfo {
    /// The target's name.
    pub target: String,
    /// The mode of the run.
    #[serde(rename = "in")]
    pub mode: Mode,
    /// The seed, which is also in `options`.
    pub seed: u64,
    /// The stack, bottom first, with the defaults of the options that were not given.
    pub stack: StackSpec,
    /// The checker's name.
    pub checker: String,
    /// The checker's options that were given.
    pub checker_options: Options,
    /// The defaults of the checker's options that were not given.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub checker_defaults: Options,
    /// The effective options of the run.
    pub options: RunSettings,
    /// The versions of everything that determines the result, by name.
    pub versions: BTreeMap<String, String>,
    /// State of components that the event log does not show.
    #[serde(default)]
    pub unobserved: Vec<String>,
    /// Calls that the stack does not have and the checker omits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported_calls: Vec<String>,
    /// The number of mutates of a complete run on paths of 1, 2, 3 and more mutates, if the checker
    /// counts them. Numbers that take too long to count are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forecast: Vec<ExactCount>,
    /// `unobserved`, under its key in the last release.
    #[serde(default)]
    pub hides: Vec<String>,
    /// `unsupported_calls`, under its key in the last release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_out: Vec<String>,
    /// True if checks are skipped whose verdict is known.
    #[serde(default)]
    pub skipping: bool,
    /// The reason for which checks are not skipped. `None` if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_skipping: Option<String>,
    /// The run folder.
    pub out: String,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The number of distinct states so far.
    pub states: u64,
    /// The number of waiting states.
    pub waiting: u64,
    /// The number of explored calls of mutate.
    pub operations: ExactCount,
    /// The number of checks made.
    pub checked: ExactCount,
    /// The number of checks whose verdict an earlier check has supplied.
    pub equivalent: ExactCount,
    /// The number of disks that no sample contains.
    pub left_out: ExactCount,
    /// The number of distinct findings.
    pub findings: u64,
    /// The number of checks in each second since the beginning, to a tenth.
    pub rate: f64,
    /// The time since the beginning, in seconds.
    pub seconds: f64,
}

/// The counts of the paths of one length. Only paths through new states are explored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthCounts {
    /// The number of mutates of the paths.
    pub depth: u32,
    /// The number of explored calls of mutate at their ends.
    pub mutates: ExactCount,
    /// The number of these calls in a complete run, as the checker counts them. `None` if it does
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ExactCount>,
    /// The number of checks during these calls whose verdict is known: checks made, and checks
    /// whose verdict an earlier check has supplied.
    pub checked: ExactCount,
    /// The number of these calls whose crashes during recovery were followed. `None` unless these
    /// come after all paths of the length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<ExactCount>,
    /// True if all paths of this length were explored.
    pub explored: bool,
}

impl DepthCounts {
    /// Returns how deep a run went, in words. `None` if its strategy does not take paths by their
    /// length.
    pub fn text(depths: &[DepthCounts]) -> Option<String> {
        let last = depths.last()?;
        let explored = depths.iter().filter(|counts| counts.explored).map(|counts| counts.depth);
        let explored = format!("depth {} explored", explored.max().unwrap_or_default());
        let of = last.forecast.as_ref().map_or_else(String::new, |of| format!(" of {of}"));
        let DepthCounts { depth, mutates, .. } = last;
        let begun = format!(", {mutates}{of} mutates at depth {depth}");
        Some(if last.explored { explored } else { explored + &begun })
    }

    /// Returns from how many mutates crashes during recovery were followed, in words. `None` unless
    /// these come after all paths of a length.
    pub fn followed_text(depths: &[DepthCounts]) -> Option<String> {
        let last =
            depths.iter().rev().find(|counts| counts.explored && counts.followed.is_some())?;
        let DepthCounts { depth, mutates, followed, .. } = last;
        let followed = followed.as_ref()?;
        Some(format!("followed from {followed} of {mutates} mutates at depth {depth}"))
    }
}

/// The end of the paths of one length.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DepthDone {
    /// The counts.
    #[serde(flatten)]
    pub counts: DepthCounts,
    /// The time since the beginning, in seconds.
    pub seconds: f64,
    /// The number of mutates at the ends of paths that are longer by one, as the checker counts
    /// them. `None` if it does not.
    pub next_mutates: Option<ExactCount>,
    /// The number of disks to check there, if each mutate has as many as those of this length.
    pub next_disks: Option<ExactCount>,
}

/// A bug, with any number of disks that show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The name of the trace.
    pub id: String,
    /// The verdict of the checks that show it.
    pub verdict: Verdict,
    /// True if the profile excludes it.
    pub by_design: bool,
    /// The profile's line and its source, if the profile excludes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The expected and the actual result.
    pub message: String,
    /// The epoch of the crash. `None` without a crash.
    pub epoch: Option<Epoch>,
    /// The signature. Findings with one signature are one bug.
    pub signature: String,
    /// The number of checks that have shown it.
    pub count: ExactCount,
    /// The path of its trace.
    pub trace: String,
    /// True if a replay in a fresh process has reproduced it.
    pub replayed: bool,
    /// The result of the replay, if it has not reproduced the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_replayed: Option<String>,
}

impl Finding {
    /// Returns the name of the broken promise. For a step that hung or ended its process it is that
    /// step.
    pub fn promise(&self) -> &str {
        let verdict = format!("/{}/", self.verdict);
        self.signature.split_once(&verdict).map_or("", |(_, promise)| promise)
    }

    /// Returns the number of checks that have shown the finding, for a person.
    pub fn shown_by(&self) -> String {
        format!("shown by {}", plural(&self.count, "check"))
    }

    /// Returns the time at which the finding appears, for a person.
    pub fn when(&self) -> String {
        let running = || "while the system ran".to_owned();
        self.epoch.map_or_else(running, |epoch| format!("epoch {epoch}"))
    }
}

/// The result of a run. Counts are exact and do not include replays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The number of distinct signatures of states, including the first.
    pub states: ExactCount,
    /// The largest number of mutates on the shortest path to a state.
    #[serde(default)]
    pub deepest: u32,
    /// The counts of the paths of each length, if the strategy takes paths by their length and the
    /// checker counts its workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depths: Vec<DepthCounts>,
    /// The number of distinct topologies of states, if the checker [reports
    /// them](crate::check::Topology).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topologies: Option<ExactCount>,
    /// The number of explored calls of mutate.
    pub operations: ExactCount,
    /// The number of answered points with two or more options.
    pub choices: ExactCount,
    /// The number of crash disks, summed over all emissions.
    pub crash_disks: ExactCount,
    /// The number of distinct check keys: `checked` + `equivalent` + `pending`.
    pub distinct: ExactCount,
    /// The number of checks made.
    pub checked: ExactCount,
    /// The number of checks whose verdict an earlier check has supplied.
    pub equivalent: ExactCount,
    /// The number of checks that were not made because the run was stopped.
    pub pending: ExactCount,
    /// The number of disks that no sample contains.
    pub left_out: ExactCount,
    /// The number of checked disks of crashes during recovery.
    pub crash_crash_disks: ExactCount,
    /// The number of disks of crashes during recovery that no sample contains.
    #[serde(default)]
    pub crash_crash_left_out: ExactCount,
    /// The number of checks whose violation the profile excludes.
    pub by_design: ExactCount,
    /// The number of checks and mutates that failed in the tool or a component.
    pub broken: ExactCount,
    /// The number of distinct signatures of findings.
    pub findings: ExactCount,
    /// The other counts of a system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<TallyGroup>,
    /// True if no state waits within the depth, no disk is left out, and no check is pending.
    pub complete: bool,
    /// True if the run ended by itself, and not by a bound on its time or states, or by a signal.
    #[serde(skip)]
    pub has_ended: bool,
    /// The time from the first message to the last, in seconds.
    pub seconds: f64,
}

/// The group of counts of what a run is to reach, which tells whether it has tested what it was
/// made for.
pub const REACHED: &str = "reached";

impl Summary {
    /// Returns the names of what the run was to reach, and has not.
    pub fn unreached(&self) -> impl Iterator<Item = &str> {
        let counts = self.to_reach();
        counts.filter(|(_, count)| count.is_zero()).map(|(name, _)| name.as_str())
    }

    /// Returns true if the run has done all that it was made for: everything within its bounds, or
    /// as many random walks as it was to make if `walks` is their number, and has reached all that
    /// it was to reach. Random walks that are to reach nothing never have.
    pub fn is_covered(&self, walks: Option<u64>) -> bool {
        // Two walks may be the same, so the number of states is no number of walks.
        let by_walks = walks.is_some() && self.has_ended && self.to_reach().next().is_some();
        (self.complete || by_walks) && self.unreached().next().is_none()
    }

    fn to_reach(&self) -> impl Iterator<Item = &(String, ExactCount)> {
        let groups = self.tallies.iter().filter(|group| group.name == REACHED);
        groups.flat_map(|group| &group.tallies)
    }

    /// Returns the number of disks that no sample contains, of crashes and of crashes during
    /// recovery. They were not checked.
    pub fn disks_left_out(&self) -> ExactCount {
        ExactCount(&self.left_out.0 + &self.crash_crash_left_out.0)
    }

    /// Returns the number of disks whose verdict is known, of crashes and of crashes during
    /// recovery: checked ones, and ones equivalent to a checked one.
    pub fn disks_checked(&self) -> ExactCount {
        ExactCount(&self.checked.0 + &self.equivalent.0 + &self.crash_crash_disks.0)
    }
}
