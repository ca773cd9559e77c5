//! The definition of a command checker: alternatives, each a list of steps.

use serde::Deserialize;

use explode_runtime::base::UsageError;

/// The definition of a command checker.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandCheckerSpec {
    pub mutate: Vec<Alternative>,
    pub check: String,
    pub sig: Option<String>,
    /// True if `check` is started once and answers for many states.
    #[serde(default)]
    pub resident: bool,
}

/// One alternative of the choice that mutate makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alternative {
    pub name: String,
    pub steps: Vec<CommandStep>,
}

/// One step of an alternative.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(super) enum CommandStep {
    /// Begins an interval.
    Start(Vec<String>),
    /// Ends the interval.
    End(Vec<String>),
    /// Checks a crash at this moment.
    Crash(Vec<String>),
    /// Runs a command. With `must` its failure is an error of the checked system.
    Sh { command: String, must: bool },
}

/// A step as the stack file writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    start: Option<Vec<String>>,
    end: Option<Vec<String>>,
    crash: Option<Vec<String>>,
    sh: Option<String>,
    must: Option<bool>,
}

impl TryFrom<Written> for CommandStep {
    type Error = UsageError;

    fn try_from(written: Written) -> Result<CommandStep, UsageError> {
        match written {
            Written { start: Some(args), end: None, crash: None, sh: None, must: None } => {
                Ok(CommandStep::Start(args))
            }
            Written { start: None, end: Some(args), crash: None, sh: None, must: None } => {
                Ok(CommandStep::End(args))
            }
            Written { start: None, end: None, crash: Some(args), sh: None, must: None } => {
                Ok(CommandStep::Crash(args))
            }
            Written { start: None, end: None, crash: None, sh: Some(command), must } => {
                Ok(CommandStep::Sh { command, must: must.unwrap_or(false) })
            }
            _ => Err(UsageError(
                "a step is one of start, end, crash and sh, and only sh can have must".to_owned(),
            )),
        }
    }
}

/// Checks that the arguments can be passed to a check, which receives them separated by spaces.
///
/// # Errors
/// Returns an error if an argument is empty or contains white space.
pub fn check_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), UsageError> {
    let wrong =
        arguments.into_iter().find(|text| text.is_empty() || text.contains(char::is_whitespace));
    wrong.map_or(Ok(()), |text| {
        Err(UsageError(format!(
            "the argument '{text}' is empty or holds a space; arguments are separated by spaces"
        )))
    })
}

/// Checks that every `start` has its `end`. `words` are the kinds of the steps, in order.
///
/// # Errors
/// Returns the index of the step that has no partner.
pub fn check_intervals<'a>(
    words: impl IntoIterator<Item = &'a str>,
) -> Result<(), (usize, UsageError)> {
    let mut open = None;
    for (index, word) in words.into_iter().enumerate() {
        match (word, open) {
            ("start", None) => open = Some(index),
            ("start", Some(_)) => {
                return Err((index, UsageError("a second start before the end".to_owned())));
            }
            ("end", None) => {
                return Err((index, UsageError("an end without a start before it".to_owned())));
            }
            ("end", Some(_)) => open = None,
            _ => {}
        }
    }
    open.map_or(Ok(()), |index| {
        Err((index, UsageError("a start without an end after it".to_owned())))
    })
}

impl CommandCheckerSpec {
    /// Checks the rules that every definition must meet, whatever its source.
    pub fn check(&self) -> Result<(), UsageError> {
        if self.mutate.is_empty() {
            return Err(UsageError("mutate has no alternative; write at least one".to_owned()));
        }
        for alternative in &self.mutate {
            let words = alternative.steps.iter().map(CommandStep::word);
            check_intervals(words).map_err(|(_, error)| error)?;
            for step in &alternative.steps {
                if let CommandStep::Start(args)
                | CommandStep::End(args)
                | CommandStep::Crash(args) = step
                {
                    check_arguments(args.iter().map(String::as_str))?;
                }
            }
        }
        Ok(())
    }
}

impl CommandStep {
    fn word(&self) -> &'static str {
        match self {
            CommandStep::Start(_) => "start",
            CommandStep::End(_) => "end",
            CommandStep::Crash(_) => "crash",
            CommandStep::Sh { .. } => "sh",
        }
    }
}
