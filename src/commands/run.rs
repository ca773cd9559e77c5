//! `explode run`: explores a target. Each finding is replayed in another process (and guest) before
//! it is reported.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use explode_cluster::fault;
use explode_runtime::base::{Exit, Mode, Output, RunError, UsageError};
use explode_runtime::plan::{NO_DEPTH, Plan, Registry, RunSettings};
use explode_runtime::report::{HumanWriter, Message, Summary, escaped};
use explode_runtime::run::{
    Confirmation, FolderLock, LocalSink, OWN_NAMES, Persistence, ResumedJournal, StrategyName,
};
use explode_runtime::trace::{Secret, Trace};
use nix::sys::signal::Signal;

use crate::cli::{Format, RunArgs};
use crate::junit::Junit;
use crate::outputs::Outputs;
use crate::progress_line::ProgressLine;
use crate::workers::LocalWorkers;
use crate::{diagnostics, interrupt, output, required_programs, stack_file, trust, workers};

/// Runs a target.
pub fn run(registry: &Registry, args: &RunArgs) -> Exit {
    let begun = beginning(registry, args).and_then(|beginning| Ok((beginning, outputs(args)?)));
    let ((plan, keep, claim), [events, junit, timeline]) = match begun {
        Ok(begun) => begun,
        Err(error) => return refused(&error, args.format),
    };
    let (format, require_complete) = (args.format, args.require_complete);
    let out = args.out.as_deref();
    timeline.into_iter().for_each(|(path, output)| diagnostics::write_timeline(path, output));
    let exploring = RunCommand { plan: &plan, claim, out, events, junit, format, require_complete };
    let (exit, folder) = exploring.by(|sink| {
        let workers = LocalWorkers::prepare(&plan)?;
        workers::run(&plan, &workers, args.jobs, sink, keep, interrupt::watch())
    });
    let exit = finished(exit);
    if let Some(folder) = folder.filter(|_| interrupt::is_requested()) {
        resume_with(&plan, &folder, args.format);
    }
    exit
}

/// Ends the file of `--timeline`. If that fails, a run that was clean is broken.
fn finished(exit: Exit) -> Exit {
    let Err(error) = diagnostics::finish_timeline() else { return exit };
    let broken = output::fail(error.exit(), error);
    if matches!(exit, Exit::Clean | Exit::Incomplete) { broken } else { exit }
}

/// Reports why nothing was run.
pub(super) fn refused(error: &RunError, format: Format) -> Exit {
    error_line(error, format).iter().for_each(|line| output::line(line));
    output::fail(error.exit(), error)
}

/// A plan that is about to be explored, and the destinations of its messages.
pub(super) struct RunCommand<'a> {
    pub plan: &'a Plan,
    /// The lock of the run folder, if the folder exists.
    pub claim: Option<FolderLock>,
    /// The path of the new run folder, if one is named.
    pub out: Option<&'a Path>,
    pub events: Named<'a>,
    pub junit: Named<'a>,
    pub format: Format,
    pub require_complete: bool,
}

impl RunCommand<'_> {
    /// Explores the plan and reports all messages. Returns the exit code of this process and the
    /// run folder.
    pub fn by(
        self,
        explore: impl FnOnce(&mut LocalSink<'_>) -> Result<Summary, RunError>,
    ) -> (Exit, Option<PathBuf>) {
        let RunCommand { plan, claim, out, events, junit: junit_file, format, require_complete } =
            self;
        let mut human = HumanWriter::new(std::io::stdout(), output::colour(), &output::program());
        let mut running = (format == Format::Human).then(ProgressLine::on_terminal).flatten();
        let mut write = |message: &Message| match format {
            Format::Jsonl => {
                output::try_line(&serde_json::to_string(message).expect("a message is plain data"))
            }
            Format::Human => match &mut running {
                Some(running) => running.show_message(message, &mut human),
                None => human.message(message),
            },
        };
        let mut findings = false;
        let mut output_error: Option<io::Error> = None;
        let mut junit = Junit::new(plan);
        let mut sink = |message: &Message| {
            junit.add(message);
            findings |=
                matches!(message, Message::Finding(found) if found.replayed && !found.by_design);
            // The run continues without a reader or space for its output, because its folder has
            // everything.
            if output_error.is_none() {
                output_error = write(message).err();
            }
        };
        let commands = plan.commands();
        let secret = trust::secret(&commands);
        let untagged = secret.is_none() && !commands.is_empty();
        let mut replay = |trace: &Path| confirm(trace, untagged);
        let mut sink = match claim {
            Some(claim) => LocalSink::resuming(claim, &mut replay, &mut sink),
            None => LocalSink::new(out, &mut replay, &mut sink),
        };
        secret.iter().for_each(|secret| sink.tag_with(secret, plan));
        events.into_iter().for_each(|(path, output)| sink.write_events(path, output));
        // During a build, Ctrl-C ends this process and the build by the signal. After that it ends
        // the run in good order.
        interrupt::by_default();
        let result = explore(&mut sink);
        let finished = sink.finish_events();
        let result = result.and_then(|summary| finished.map(|()| summary));
        let folder = sink.path().map(Path::to_owned);
        running.iter().for_each(ProgressLine::end);
        let last = result
            .as_ref()
            .err()
            .and_then(|error| error_line(error, format))
            .filter(|_| output_error.is_none());
        output_error = output_error.or_else(|| output::try_line(&last?).err());
        output_error.iter().for_each(output::report_output_error);
        result.as_ref().err().into_iter().for_each(|error| junit.stopped(error.to_string()));
        let exit = match result {
            Ok(summary) => exit(&summary, require_complete, &plan.settings),
            Err(error) => stopped(&error, findings, secret.as_ref()),
        };
        let is_written = junit_file.is_none_or(|file| write_junit(&junit, file));
        let output_error = output_error.is_some_and(|error| !output::is_unread(&error));
        let wrong = output_error || !is_written;
        let exit = if wrong && matches!(exit, Exit::Clean | Exit::Incomplete) {
            Exit::Broken
        } else {
            exit
        };
        (exit, folder)
    }
}

/// Writes the file of `--junit`. Reports a failure and returns false.
fn write_junit(junit: &Junit, (path, output): (&Path, Output)) -> bool {
    let written = junit.write(output);
    if let Err(error) = &written {
        let path = path.display();
        let text = format!("cannot write {path}: {error}; name another file with --junit");
        output::fail(Exit::Broken, text);
    }
    written.is_ok()
}

/// The file of `--events`, `--junit` or `--timeline`.
pub(super) type Named<'a> = Option<(&'a Path, Output)>;

fn outputs(args: &RunArgs) -> Result<[Named<'_>; 3], UsageError> {
    let prefix = match &args.strategy {
        Some(StrategyName::Prefix(trace)) => Some(Path::new(trace)),
        _ => None,
    };
    let inputs = [args.target.as_deref(), args.stack.stack.as_deref()].into_iter().flatten();
    let inputs = inputs.filter(|name| stack_file::is_path(name)).map(Path::new);
    let mut outputs =
        Outputs::beside(inputs.chain(prefix)).with_folder(args.out.as_deref(), &OWN_NAMES);
    let events = outputs.of_option("--events", args.events.as_deref())?;
    let junit = outputs.of_option("--junit", args.junit.as_deref())?;
    let timeline = outputs.of_option("--timeline", args.timeline.as_deref())?;
    Ok([events, junit, timeline])
}

/// Returns the plan of the run and what an earlier process knows of it. From here on the run folder
/// is locked for this process.
fn beginning(
    registry: &Registry,
    args: &RunArgs,
) -> Result<(Plan, Persistence, Option<FolderLock>), RunError> {
    let Some(folder) = &args.resume else {
        let plan = plan(registry, args)?;
        check_jobs(&plan, args.jobs)?;
        required_programs::check(&plan)?;
        return Ok((plan, Persistence::Journal, None));
    };
    let claim = FolderLock::of(folder)?;
    let history = ResumedJournal::read(folder).map_err(|error| UsageError(error.to_string()))?;
    let plan = history.plan().clone();
    plan.check(registry)?;
    trust::check_run(folder, &plan, args.trust)?;
    check_jobs(&plan, args.jobs)?;
    required_programs::check(&plan)?;
    Ok((plan, Persistence::Resume(Box::new(history)), Some(claim)))
}

/// Checks that `--in here` has one job: a kernel serves one worker at a time, and this machine has
/// one kernel.
pub(super) fn check_jobs(plan: &Plan, jobs: u32) -> Result<(), UsageError> {
    if plan.mode == Mode::Here && jobs > 1 {
        let why = "a kernel serves one worker, and with --in here there is only this machine's";
        return Err(UsageError(format!(
            "--jobs {jobs}: {why}; omit --jobs, or run in guests (--in vm)"
        )));
    }
    Ok(())
}

/// Prints the last line of an interrupted run: the command that resumes it.
fn resume_with(plan: &Plan, folder: &Path, format: Format) {
    let command = output::paste_for(plan).command("run --resume", &folder.display().to_string());
    match format {
        Format::Human => {
            // If there is no reader, the line is not needed.
            let _ = output::try_line(&format!("             resume    {command}"));
        }
        Format::Jsonl => output::note(&format!("resume with: {command}")),
    }
}

/// Returns the last line of a run that an error ended, for programs. It is the only line of a
/// refused run. People read the error on standard error.
fn error_line(error: &RunError, format: Format) -> Option<String> {
    let message = Message::ended_by(error).filter(|_| format == Format::Jsonl)?;
    Some(serde_json::to_string(&message).expect("a message is plain data"))
}

/// Reports the error that ended the run, with the traces that could not be written. Findings before
/// the error count for the exit code.
fn stopped(error: &RunError, mut findings: bool, secret: Option<&Secret>) -> Exit {
    let exit = output::fail(error.exit(), error);
    if let RunError::Unwritable { unsaved, .. } = error {
        let mut err = std::io::stderr().lock();
        for text in unsaved {
            let trace = Trace::from_json(text.as_bytes());
            findings |= trace.as_ref().is_ok_and(|trace| !trace.by_design);
            let text = trace.map_or_else(|_| text.clone(), |trace| trace.tagged(secret).to_json());
            let text = escaped(&text);
            // There is no other place to write it.
            let _ = writeln!(
                err,
                "a trace that could not be written; save it to a file to replay it:\n{text}"
            );
        }
    }
    if findings && exit == Exit::Broken { Exit::Findings } else { exit }
}

fn exit(summary: &Summary, require_complete: bool, settings: &RunSettings) -> Exit {
    if !summary.findings.is_zero() {
        Exit::Findings
    } else if !summary.broken.is_zero() {
        Exit::Broken
    } else if require_complete && !summary.is_covered(settings.walks_to_make()) {
        Exit::Incomplete
    } else {
        Exit::Clean
    }
}

/// Returns the strategy of a run. A run that goes deeper until its time is up has a sample of the
/// longest paths at its end, not those with the same beginning.
fn strategy(args: &RunArgs) -> StrategyName {
    let default = if args.budget.is_some() && args.depth.is_none() {
        StrategyName::Shuffle
    } else {
        StrategyName::Exhaust
    };
    args.strategy.clone().unwrap_or(default)
}

pub(super) fn plan(registry: &Registry, args: &RunArgs) -> Result<Plan, RunError> {
    let target = args.target.as_deref().unwrap_or_default();
    let mut plan = super::plan::plan(registry, target, &args.stack)?;
    let settings = &mut plan.settings;
    let walks = settings.walks;
    if args.strategy.is_some() || walks.is_none() {
        settings.strategy = strategy(args);
    }
    if let Some(faults) = &args.faults {
        add_faults(registry, &mut plan, faults)?;
    }
    let settings = &mut plan.settings;
    settings.seed = args.seed;
    settings.budget_ms = args.budget;
    settings.states = args.states;
    let other_bound = args.budget.is_some() || args.states.is_some();
    let by_default = walks.filter(|_| settings.strategy.is_endless() && !other_bound);
    settings.walks = args.walks.or(by_default);
    settings.depth = args.depth.unwrap_or_else(|| {
        let deepens = args.budget.is_some() && settings.strategy.needs_no_depth();
        if deepens { NO_DEPTH } else { settings.depth }
    });
    settings.limit = args.limit.unwrap_or(settings.limit);
    settings.samples = args.samples.unwrap_or(settings.samples);
    settings.soft = args.soft;
    settings.crash_depth =
        args.crash_depth.unwrap_or(if args.soft { 0 } else { settings.crash_depth });
    settings.chop = args.chop;
    settings.deadline_ms = args.deadline;
    settings.skip = !args.no_skip;
    settings.rules = super::rules(&args.device);
    if let Some(StrategyName::Prefix(path)) = &args.strategy {
        let prefix = super::prefix::read(registry, path, &plan)?;
        let depth = plan.settings.depth.max(prefix.mutates);
        plan.settings.depth = args.depth.unwrap_or(depth);
        plan.settings.prefix = Some(prefix);
    }
    plan.check(registry)?;
    plan.strategy()?;
    Ok(plan)
}

/// Sets the faults of the walks of a cluster.
fn add_faults(registry: &Registry, plan: &mut Plan, faults: &str) -> Result<(), UsageError> {
    let checker = registry.checker_of(plan)?;
    if !checker.options.iter().any(|option| option.name == fault::OPTION) {
        let target = &plan.target;
        return Err(UsageError(format!(
            "'{target}' is not a cluster, and --faults is for the hosts and the network of one; \
             omit it"
        )));
    }
    plan.checker_options = std::mem::take(&mut plan.checker_options).with(fault::OPTION, faults);
    Ok(())
}

/// Replays a trace in a fresh process of this program that ends with this one. Ctrl-C on the
/// terminal does not reach it. A trace of this run that could not be tagged is `trusted`.
pub(super) fn confirm(trace: &Path, trusted: bool) -> Confirmation {
    let mut command = explode_vm::this_program();
    command
        .args(["replay", "--record"])
        .args(trusted.then_some("--trust"))
        .arg("--")
        .arg(trace)
        .process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Log lines would mix with the result of the replay.
    command.env_remove(diagnostics::VARIABLE);
    match explode_vm::spawn(command, Signal::SIGKILL).and_then(Child::wait_with_output) {
        Err(error) => Confirmation::Not(format!("no process could be started: {error}")),
        Ok(ran) if ran.status.code() == Some(Exit::Findings as i32) => Confirmation::Reproduced,
        Ok(ran) => {
            let output = [ran.stdout, ran.stderr].concat();
            let output = String::from_utf8_lossy(&output).trim().to_owned();
            Confirmation::Not(format!("the replay ended with {}: {output}", ran.status))
        }
    }
}
