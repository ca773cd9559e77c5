//! A checker made of shell commands.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::steps::{Alternative, CommandCheckerSpec, CommandStep};
use explode_components::command::{
    CommandResult, LiveCommand, MarkLine, OutputMode, ResidentVerdict, Variable, VariableValue,
    ask_resident, fill_checker, run, run_live, run_with_requests,
};
use explode_runtime::base::{Blame, OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Saved, Unsupported,
};
use explode_runtime::choose::{ChoiceKind, ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::events::LoggedAction;
use explode_runtime::stack::{LayerPaths, Stack, is_of_commands};
use explode_runtime::verdict::{CheckError, ShellDemand, Verdict, Violation};
use itertools::Itertools as _;
use serde::{Deserialize, Serialize};

/// The name in the registry.
pub const NAME: &str = "commands";

/// Returns the definition of a checker made of commands, which has its own name in each stack file.
pub fn def() -> CheckerDef {
    CheckerDef::new(NAME, "a checker made of shell commands, in a stack file", build)
        .options([
            OptionDef {
                name: "mutate",
                about: "alternatives of one choice, each with its steps",
                default: "",
            },
            OptionDef { name: "check", about: "0 for ok, 1 for a broken promise", default: "" },
            OptionDef {
                name: "resident",
                about: "check is started once and answers a line for each state: true, false",
                default: "false",
            },
            OptionDef { name: "sig", about: "prints the signature of the state", default: "" },
        ])
        .recognises(is_of_commands)
        .unlisted()
        .needs_command_host()
}

#[derive(Clone)]
struct CommandChecker {
    definition: CommandCheckerSpec,
    /// The names of the alternatives, in order.
    names: Vec<String>,
    progress: CommandProgress,
    signature: Option<Vec<u8>>,
}

/// The part of the checker's state that a check reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandProgress {
    /// The number of calls of mutate on this path.
    mutates: u32,
    /// The promises so far, in order: the names of the alternatives that are complete, and those of
    /// `explode-mark done`.
    done: RefCell<Vec<String>>,
    /// The number of these at the last step `start`.
    done_at_start: Cell<usize>,
    /// The number of these at each `explode-mark crash` of this mutate, by name. Of equal names the
    /// first counts.
    done_at_request: RefCell<BTreeMap<String, usize>>,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let definition: CommandCheckerSpec = options.parse("a checker made of commands")?;
    definition.check()?;
    let names = definition.mutate.iter().map(|alternative| alternative.name.clone()).collect();
    Ok(Box::new(CommandChecker {
        definition,
        names,
        progress: CommandProgress::default(),
        signature: None,
    }))
}

/// The result of an alternative.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AlternativeResult {
    Well,
    /// A step failed. The steps after it were not run.
    Wrong,
}

impl CommandChecker {
    fn steps(
        &self,
        alternative: &Alternative,
        cx: &mut Cx<'_>,
    ) -> Result<AlternativeResult, CheckError> {
        let stack = cx.stack();
        let soft = crashes_softly(stack);
        for step in &alternative.steps {
            match step {
                CommandStep::Start(args) if !soft => {
                    self.progress.done_at_start.set(self.progress.done.borrow().len());
                    cx.check_crashes_start(&self.arguments(args)?);
                }
                CommandStep::Start(_) => {}
                CommandStep::End(args) if !soft => {
                    cx.check_crashes_end(self, &self.arguments(args)?)?
                }
                CommandStep::Crash(args) if !soft => {
                    cx.check_crashes_now(self, &self.arguments(args)?)?
                }
                CommandStep::End(args) | CommandStep::Crash(args) => {
                    cx.check_soft_crash(self, &self.arguments(args)?)?
                }
                CommandStep::Sh { command: text, must } => {
                    let command = fill_checker(text, &stack.paths(), self.progress.mutates)?;
                    let ended = self.run_step(&command, stack)?;
                    if let Some(log) = stack.log() {
                        let text =
                            fill_checker(text, &LayerPaths::in_script(), self.progress.mutates)?;
                        log.note(LoggedAction::Shell(text));
                    }
                    if ended.not_run() {
                        return Err(CheckError::broken(ended.failure_message(&command)));
                    }
                    let failed = ended.code() != Some(0);
                    if failed && *must {
                        return Err(self.violation("must", ended.failure_message(&command)).into());
                    }
                    if soft {
                        cx.check_soft_crash(self, &[])?;
                    }
                    if failed {
                        if let Some(log) = stack.log() {
                            log.failed(self.progress.mutates, ended.failure_message(text));
                        }
                        return Ok(AlternativeResult::Wrong);
                    }
                }
            }
        }
        Ok(AlternativeResult::Well)
    }

    /// Runs a command of mutate. On simulated files its calls are logged. Each call of
    /// `explode-mark` in it requests crash checks. On a kernel the devices receive these requests
    /// themselves.
    fn run_step(&self, command: &str, stack: &Stack) -> Result<CommandResult, StepError> {
        if stack.devices().kernel().is_some() {
            return run(command, stack.devices(), OutputMode::WithStderr, &[]);
        }
        let requests = stack.asks();
        let done = Rc::new(RefCell::new(self.progress.done.take()));
        let asked = Rc::new(RefCell::new(self.progress.done_at_request.take()));
        let (marked, asks) = (Rc::clone(&done), Rc::clone(&asked));
        let receive = move |line: MarkLine<'_>| match line {
            MarkLine::Crash(name) => {
                asks.borrow_mut().entry(name.to_owned()).or_insert(marked.borrow().len());
                requests.check_crashes_now(name);
            }
            MarkLine::Done(name) => {
                let mut done = marked.borrow_mut();
                requests.check_crashes_now(&done_request(done.len(), name));
                done.push(name.to_owned());
            }
        };
        let ended = if stack.confines_commands() {
            let log = stack.log().map(|log| log.of("files"));
            let marks = Some(Box::new(receive) as _);
            run_live(
                command,
                stack.devices(),
                LiveCommand { log, seed: self.progress.mutates, marks },
            )
        } else {
            let mut unsettled = None;
            let ended =
                run_with_requests(command, stack.devices(), &mut |line| match stack.write_out() {
                    Ok(()) => receive(line),
                    Err(fault) => unsettled = Some(fault),
                });
            unsettled.map_or(ended, Err)
        };
        self.progress.done.replace(done.take());
        self.progress.done_at_request.replace(asked.take());
        ended
    }

    /// Returns the promises on a crash disk, one per line, and the arguments of its check. A crash
    /// in the middle of an interval may come before the promises that were made in it. The check of
    /// a request runs later than the promises that followed the request.
    fn promised(&self, epoch: Epoch, args: &[String]) -> (String, Vec<String>) {
        let done = self.progress.done.borrow();
        let marked = |(at, name): (usize, &String)| {
            (args == [done_request(at, name)]).then(|| (at + 1, vec![name.clone()]))
        };
        let (count, args) = done.iter().enumerate().find_map(marked).unwrap_or_else(|| {
            let at_request = || match args {
                [name] => self.progress.done_at_request.borrow().get(name).copied(),
                _ => None,
            };
            let count = match epoch {
                Epoch::Begin | Epoch::InBetween => self.progress.done_at_start.get(),
                Epoch::Now => at_request().unwrap_or(done.len()),
                _ => done.len(),
            };
            (count, args.to_vec())
        });
        (done.iter().take(count).map(|name| format!("{name}\n")).collect(), args)
    }

    /// Asks a resident check about a state.
    fn ask(&self, stack: &Stack, epoch: Epoch, args: &str, done: &str) -> Result<(), CheckError> {
        let path = stack.paths().path.unwrap_or_default();
        let done: Vec<&str> = done.lines().collect();
        let question =
            format!("{}\t{}\t{args}\t{}", path.display(), epoch.as_str(), done.join(" "));
        match ask_resident(&self.definition.check, &question)? {
            ResidentVerdict::Well => Ok(()),
            ResidentVerdict::Fails(message) => {
                Err(self.violation(&promise(&message), message).into())
            }
            ResidentVerdict::Ended(message) => Err(self.violation("check", message).into()),
        }
    }

    fn arguments(&self, args: &[String]) -> Result<Vec<String>, StepError> {
        args.iter()
            .map(|arg| fill_checker(arg, &Default::default(), self.progress.mutates))
            .collect()
    }

    fn violation(&self, promise: &str, message: String) -> Violation {
        Violation::new(Verdict::CheckFailed, promise, message)
    }

    /// Runs `sig`, if it is defined. Its output becomes the signature of the state.
    fn look(&mut self, stack: &Stack) -> Result<(), StepError> {
        let Some(sig) = &self.definition.sig else { return Ok(()) };
        let sig = fill_checker(sig, &stack.paths(), self.progress.mutates)?;
        let ended = run(&sig, stack.devices(), OutputMode::Alone, &[])?;
        if ended.code() != Some(0) {
            return Err(ended.fault(&sig).blame(Blame::Tool));
        }
        self.signature = Some(ended.out);
        Ok(())
    }
}

/// Returns true if a crash loses only what a process has not written yet, because no kernel and no
/// simulated files are below the commands.
fn crashes_softly(stack: &Stack) -> bool {
    stack.devices().kernel().is_none() && !stack.confines_commands()
}

impl Checker for CommandChecker {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.look(stack)
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        self.progress.mutates += 1;
        self.progress.done_at_request.borrow_mut().clear();
        let options = u32::try_from(self.names.len()).expect("fewer than 2^32 alternatives");
        let label = Label { site: "mutate".to_owned(), ..Label::default() };
        let point = ChoicePoint {
            kind: ChoiceKind::Action,
            options,
            names: &self.names,
            weights: &[],
            label,
        };
        let alternative = self.definition.mutate[cx.choose_at(&point) as usize].clone();
        if self.steps(&alternative, cx)? == AlternativeResult::Well {
            self.progress.done.borrow_mut().push(alternative.name);
        }
        Ok(self.look(cx.stack())?)
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let (done, args) = self.promised(epoch, args);
        let args = args.join(" ");
        if self.definition.resident {
            return self.ask(stack, epoch, &args, &done);
        }
        let variables = [
            ("EXPLODE_EPOCH", VariableValue::Text(epoch.as_str())),
            ("EXPLODE_ARGS", VariableValue::Text(&args)),
            ("EXPLODE_DONE", VariableValue::FileWith(&done)),
        ];
        let variables = variables.map(|(name, value)| Variable { name, value });
        let check = fill_checker(&self.definition.check, &stack.paths(), self.progress.mutates)?;
        let ended = run(&check, stack.devices(), OutputMode::WithStderr, &variables)?;
        match (ended.code(), ended.last_line()) {
            (Some(0), _) => Ok(()),
            (Some(1), "") => Err(self.violation("check", ended.failure_message(&check)).into()),
            (Some(1), line) => Err(self.violation(&promise(line), line.to_owned()).into()),
            _ => Err(CheckError::broken(ended.failure_message(&check))),
        }
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        self.signature.clone()
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        let (start, requests) =
            (self.progress.done_at_start.get(), self.progress.done_at_request.borrow());
        Some(format!("{start} {requests:?} {:?}", self.progress.done.borrow()).into_bytes())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    /// The author of the commands knows which files are there. The files that the commands read are
    /// unknown here, unless the stack shows them.
    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        let confined = stack.confines_commands();
        if self.definition.resident && !confined {
            let text = "a resident check needs 'files' below it; omit 'resident', or use 'files'";
            return Err(Unsupported(text.to_owned()));
        }
        Ok(CheckerFacts::default().populated_ok().reads_only_its_disks(confined))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self).saved(self)
    }
}

impl Saved for CommandChecker {
    fn save(&self) -> String {
        serde_json::to_string(&self.progress).expect("the progress is plain data")
    }

    fn restored(&self, state: &str) -> Result<Box<dyn Checker>, UsageError> {
        let progress = serde_json::from_str(state)
            .map_err(|error| UsageError(format!("the state of the checker: {error}")))?;
        Ok(Box::new(CommandChecker { progress, ..self.clone() }))
    }
}

impl Demands for CommandChecker {
    fn demands(
        &self,
        epoch: Epoch,
        args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        let text =
            fill_checker(&self.definition.check, &LayerPaths::in_script(), self.progress.mutates)
                .ok()?;
        let (done, args) = self.promised(epoch, args);
        let environment =
            [("EXPLODE_EPOCH", epoch.as_str().to_owned()), ("EXPLODE_ARGS", args.join(" "))];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Some(vec![ShellDemand::Command { text, environment, done }])
    }
}

/// Returns the name of the request for crash checks that `explode-mark done` makes. `at` is the
/// number of promises before it.
fn done_request(at: usize, name: &str) -> String {
    format!("done-{at}-{name}")
}

/// Returns the part of a message that is the same for every instance of a bug. Words with digits or
/// slashes (keys, numbers, paths) are replaced by `#`.
fn promise(message: &str) -> String {
    let detail =
        |word: &str| word.contains(|letter: char| letter.is_ascii_digit() || letter == '/');
    let mut words = message.split_whitespace().map(|word| if detail(word) { "#" } else { word });
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::promise;

    #[test]
    fn details_of_a_message_make_no_other_bug() {
        assert_eq!(promise("k1 was synced, and is gone"), "#-was-synced,-and-is-gone");
        assert_eq!(promise("k2 was synced, and is gone"), promise("k17 was synced, and is gone"));
        assert_eq!(promise("/tmp/explode-x/db: wrong"), "#-wrong");
    }
}
