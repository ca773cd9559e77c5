//! The contents of a script, collected by a replay of a trace.

use std::fmt;

use crate::base::{Mode, RunError};
use crate::choose::{Choice, ChoiceKind};
use crate::crash::{Epoch, PieceName};
use crate::events::LoggedAction;
use crate::explain::{
    DiskTry, LocatedFailure, Location, ProbeSession, SearchBounds, SearchResult, locate, look,
};
use crate::stack::{ShellFileSystem, no_shell_form};
use crate::trace::Trace;
use crate::verdict::{ShellDemand, Verdict, Violation};
use crate::worker::probe::{CitedPromise, CrashMoment, ProbeAnswers, StoppedAt};
use crate::worker::{DiskContents, Evidence, RemoteWorkers};

/// The reason why no script can be made of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptRefused {
    /// A script cannot reproduce this kind of finding.
    Cannot(String),
    /// The replay did not reproduce the finding, or only on another disk.
    NotSeen(String),
}

impl fmt::Display for ScriptRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptRefused::Cannot(why) => write!(f, "no script can show this finding: {why}"),
            ScriptRefused::NotSeen(why) => write!(f, "the finding was not seen again: {why}"),
        }
    }
}

/// A finding that a script can reproduce.
#[derive(Debug)]
pub struct Reproduction {
    /// The trace.
    pub trace: Trace,
    /// The violation in the replay.
    pub violation: Violation,
    /// The profile's line about the broken promise. `None` without such a line.
    pub promise: Option<CitedPromise>,
    /// The choices, mutate by mutate.
    pub choices: Vec<Vec<Choice>>,
    /// The moment of the crash, followed by those of crashes during recovery.
    pub moments: Vec<CrashMoment>,
    /// The logged actions.
    pub done: Vec<crate::events::LoggedCall>,
    /// The size of the disk in bytes.
    pub bytes: u64,
    /// The file system on it.
    pub system: ShellFileSystem,
    /// The demands of the check. Empty if recovery or mounting fails.
    pub demands: Vec<ShellDemand>,
    /// The disks. The other disk, if present, has lost nothing and is sound.
    pub disks: DiskContents,
    /// True if the crash disk has exactly the writes that were submitted before the crash.
    pub submitted: bool,
    /// True if the lost writes had been submitted, and the disk that has only what was flushed
    /// before the crash shows the loss as well, also if time passes before each call. Always false
    /// for a script that stands alone.
    pub unflushed: bool,
}

/// The form of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptForm {
    /// A shell script that stands alone.
    Alone,
    /// A test of the suite xfstests.
    Xfstests,
}

/// Returns an error if the trace alone shows that no script is possible.
///
/// # Errors
/// The reason. The system need not run to find it.
pub fn refuse(trace: &Trace) -> Result<(), ScriptRefused> {
    let refuse = |why: &str| Err(ScriptRefused::Cannot(why.to_owned()));
    if trace.mode == Mode::Mem {
        return refuse("its system runs in process, without a kernel");
    }
    if let Some(step) = trace.died {
        return refuse(&format!(
            "its step {step} hangs, or ends the process or the kernel that it runs in"
        ));
    }
    match trace.epoch {
        None => return refuse("it was seen while the system ran, without a crash"),
        Some(Epoch::Soft) => {
            return refuse("its crash is a soft one: the program died, and the disk lost nothing");
        }
        Some(_) => {}
    }
    if let Some(why) = trace.choices.iter().find_map(beyond) {
        return refuse(&why);
    }
    let names: Vec<&str> = trace.stack.0.iter().map(|layer| layer.name.as_str()).collect();
    match names[..] {
        [_disk, _file_system] => Ok(()),
        _ => refuse(&no_shell_form(&names)),
    }
}

/// Describes an effect of a choice that no command can cause. `None` if the commands and the
/// recorded disk cover the choice: those of a checker, and the kernel's own work.
fn beyond(choice: &Choice) -> Option<String> {
    let label = &choice.label;
    match choice.kind {
        ChoiceKind::Action
        | ChoiceKind::Input
        | ChoiceKind::Thread
        | ChoiceKind::LateCompletion => None,
        _ if choice.rank() == 0 => None,
        ChoiceKind::IoFailure => {
            let name = choice.name.clone().unwrap_or_else(|| label.to_string());
            Some(format!(
                "a block of the medium goes bad by choice ({name}), and no command can make it do \
                 that"
            ))
        }
        _ => Some(format!(
            "a function of the kernel or a request fails by choice ({label}), and no command can \
             make it do that"
        )),
    }
}

/// Replays a trace and collects the contents of a script of this form. The bounds are for a search,
/// if the recorded disk does not occur any more.
///
/// # Errors
/// A worker cannot be started, or the tool or a component is broken.
pub fn collect(
    remote: &mut RemoteWorkers<'_>,
    trace: &Trace,
    form: ScriptForm,
    bounds: SearchBounds,
) -> Result<Result<Reproduction, ScriptRefused>, RunError> {
    if let Err(refused) = refuse(trace) {
        return Ok(Err(refused));
    }
    let mut session = ProbeSession::new(remote, trace, bounds).noting();
    let failure = match locate(&mut session, trace)? {
        Location::Fails(failure) => *failure,
        Location::Not(why) => return Ok(Err(ScriptRefused::NotSeen(why))),
        Location::Diverged(divergence) => {
            return Ok(Err(ScriptRefused::NotSeen(format!("the replay diverged: {divergence}"))));
        }
    };
    let LocatedFailure { failing, stopped: Some(stopped), .. } = failure else {
        return Ok(Err(ScriptRefused::Cannot("it has no crash disk".to_owned())));
    };
    let whole = whole(&stopped.moments);
    let mut pieces = stopped.spot.pieces();
    if let Some(last) = pieces.last_mut() {
        last.clone_from(&whole);
    }
    let is_sound = session.attempt(&pieces)? == DiskTry::Sound;
    let evidence = session.evidence(whole, &failing.violation)?;
    let promise = session.leave().or(failing.promise);
    // A script that stands alone has a recorded disk in any case.
    let unflushed = is_sound && form == ScriptForm::Xfstests;
    let unflushed = unflushed && is_unflushed(remote, trace, bounds)?;
    Ok(case(
        trace,
        failing.violation,
        promise,
        (failing.choices, stopped.moments),
        evidence,
        (is_sound, unflushed),
    ))
}

/// Returns true if the disk that has only what was flushed before the crash has the error of the
/// trace, although time passes before each call.
fn is_unflushed(
    remote: &mut RemoteWorkers<'_>,
    trace: &Trace,
    bounds: SearchBounds,
) -> Result<bool, RunError> {
    let mut session = ProbeSession::new(remote, trace, bounds).ticking();
    let answers = ProbeAnswers::Exactly(trace.choices.clone());
    let found = match look(&mut session, answers, trace.mutates, Vec::new())? {
        SearchResult::Fails(failure) => {
            failure.stopped.filter(|at| Some(at.spot.epoch) == trace.epoch)
        }
        SearchResult::Not(_) => None,
    };
    let Some(StoppedAt { spot, .. }) = found else { return Ok(false) };
    let nothing = vec![Vec::new(); spot.disks.len()];
    Ok(matches!(session.attempt(&nothing)?, DiskTry::Same(..)))
}

/// Returns the pieces of the disk that has lost nothing at the last moment.
fn whole(moments: &[CrashMoment]) -> Vec<PieceName> {
    let ranges = moments.last().into_iter().flat_map(|moment| &moment.ranges);
    ranges.filter_map(|range| Some(range.name(range.newest()?))).collect()
}

fn case(
    trace: &Trace,
    violation: Violation,
    promise: Option<CitedPromise>,
    (choices, moments): (Vec<Vec<Choice>>, Vec<CrashMoment>),
    evidence: Evidence,
    (is_sound, unflushed): (bool, bool),
) -> Result<Reproduction, ScriptRefused> {
    let refused = ScriptRefused::Cannot;
    let Evidence { done, plain, demands, disks, submitted } = evidence;
    let (bytes, system) = plain.map_err(refused)?;
    let mut disks = disks.map_err(refused)?;
    disks.other = disks.other.filter(|_| is_sound);
    let before_check = matches!(violation.verdict, Verdict::RecoverFailed | Verdict::MountFailed);
    let demands = match demands {
        _ if before_check => Vec::new(),
        Some(demands) => demands,
        None => {
            let (checker, promise) = (&trace.checker, &violation.promise);
            let text = format!(
                "checker {checker} cannot express the broken promise `{promise}` as a shell test"
            );
            return Err(refused(text));
        }
    };
    if let Some(why) = done.iter().find_map(crate::events::LoggedCall::beyond_commands) {
        return Err(refused(format!("{why}, which no plain command does")));
    }
    let texts = done.iter().filter_map(|done| match &done.what {
        LoggedAction::Shell(text) => Some(text),
        _ => None,
    });
    let checks = demands.iter().filter_map(|demand| match demand {
        ShellDemand::Command { text, .. } => Some(text),
        _ => None,
    });
    if let Some(text) = texts.chain(checks).find(|text| is_in_quotes(text)) {
        return Err(refused(format!(
            "`{text}` has {{path}} or {{dev}} between single quotes, where a script has a \
             variable; use double quotes"
        )));
    }
    Ok(Reproduction {
        trace: trace.clone(),
        violation,
        promise,
        choices,
        moments,
        done,
        bytes,
        system,
        demands,
        disks,
        submitted,
        unflushed,
    })
}

/// Returns true if a variable of the script is between single quotes.
fn is_in_quotes(text: &str) -> bool {
    let mut double = false;
    let mut single = false;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if single && (rest.starts_with("$mnt") || rest.starts_with("$dev")) {
            return true;
        }
        match letter {
            '\\' if !single => rest = &rest[1..],
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            _ => {}
        }
        rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{beyond, is_in_quotes};
    use crate::choose::{Choice, ChoiceKind, Label};

    fn choice(kind: ChoiceKind, value: u32, name: &str) -> Choice {
        Choice {
            kind,
            options: 3,
            value,
            name: Some(name.to_owned()),
            label: Label::named("somewhere"),
        }
    }

    #[test]
    fn a_block_that_goes_bad_is_beyond_commands_and_none_is_not() {
        assert_eq!(beyond(&choice(ChoiceKind::IoFailure, 0, "none")), None);
        for value in [1, 2] {
            let why = beyond(&choice(ChoiceKind::IoFailure, value, "ramdisk block 7 unreadable"));
            let why = why.expect("a fault");
            assert!(
                why.contains("the medium goes bad by choice (ramdisk block 7 unreadable)"),
                "{why}"
            );
        }
    }

    #[test]
    fn a_function_that_fails_is_beyond_commands_and_one_that_runs_is_not() {
        assert_eq!(beyond(&choice(ChoiceKind::RequestFailure, 2, "normal")), None);
        for value in [0, 1] {
            let why =
                beyond(&choice(ChoiceKind::RequestFailure, value, "fail")).expect("a failure");
            assert!(why.contains("fails by choice (somewhere)"), "{why}");
        }
        for value in 0..3 {
            assert_eq!(beyond(&choice(ChoiceKind::Action, value, "")), None);
            assert_eq!(beyond(&choice(ChoiceKind::LateCompletion, value, "")), None);
        }
    }

    #[test]
    fn variables_in_single_quotes_are_detected() {
        for text in
            ["grep 'a' $mnt/f", "echo \"it's $mnt\"", r"echo it\'s $mnt", "a '$other' $dev", "a \\"]
        {
            assert!(!is_in_quotes(text), "{text}");
        }
        for text in ["sh -c 'cat $mnt/f'", "a \"b\" '$dev'"] {
            assert!(is_in_quotes(text), "{text}");
        }
    }
}
