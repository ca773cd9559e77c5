//! `explode run`: explores a target; each finding is replayed in a process (and a guest) of its own before it is told.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use explode_runtime::devices::Lab;
use explode_runtime::report::{Human, Message, Summary};
use explode_runtime::run::{
    Confirmation, Exit, Local, Mode, Plan, Registry, RunError, StrategyName, explore,
};
use explode_runtime::trace::Trace;

use crate::cli::{Format, RunArgs, Strategy};
use crate::guest::host;
use crate::junit::Junit;
use crate::{output, programs};

/// Runs a target.
pub fn run(registry: &Registry, args: &RunArgs) -> Exit {
    let plan = match plan(registry, args) {
        Ok(plan) => plan,
        Err(error) => return output::fail(error.exit(), error),
    };
    let mut human = Human::new(std::io::stdout(), output::colour(), &output::program());
    let progress = std::io::stdout().is_terminal();
    let mut say = |message: &Message| match args.format {
        Format::Jsonl => output::try_line(&serde_json::to_string(message).expect("a message is plain data")),
        Format::Human if matches!(message, Message::Progress(_)) && !progress => Ok(()),
        Format::Human => human.message(message),
    };
    let mut findings = false;
    let mut unsaid = None;
    let mut junit = Junit::new(&plan.target);
    let mut sink = |message: &Message| {
        junit.hear(message);
        findings |= matches!(message, Message::Finding(found) if found.replayed && !found.by_design);
        // Without a reader, or with no room for what it reads, the run goes on: its folder has everything.
        if unsaid.is_none() {
            unsaid = say(message).err();
        }
    };
    let mut replay = confirm;
    let mut audience = Local::new(args.out.as_deref(), &mut replay, &mut sink);
    let events = args.events.as_deref().map_or(Ok(()), |path| audience.write_events(path));
    let result = events.and_then(|()| match plan.mode {
        Mode::Vm => host::run(&plan, &mut audience),
        mode => Lab::open(mode).and_then(|lab| explore(registry, &plan, &lab, &mut audience)),
    });
    unsaid.iter().for_each(output::unsaid);
    result.as_ref().err().into_iter().for_each(|error| junit.stopped(error.to_string()));
    let exit = match result {
        Ok(summary) => exit(&summary, args.require_complete),
        Err(error) => stopped(&error, findings),
    };
    let written =
        args.junit.as_deref().map_or(Ok(()), |path| junit.write(path).map_err(|error| (path, error)));
    if let Err((path, error)) = &written {
        output::fail(
            Exit::Broken,
            format!("cannot write {}: {error}; name another file with --junit", path.display()),
        );
    }
    if (unsaid.is_some() || written.is_err()) && matches!(exit, Exit::Clean | Exit::Incomplete) {
        Exit::Broken
    } else {
        exit
    }
}

/// An error ends the run; what was found before counts all the same, and what could not be written is said.
fn stopped(error: &RunError, mut findings: bool) -> Exit {
    let exit = output::fail(error.exit(), error);
    if let RunError::Folder { unsaved, .. } = error {
        let mut err = std::io::stderr().lock();
        for trace in unsaved {
            findings |= Trace::from_json(trace.as_bytes()).is_ok_and(|trace| !trace.by_design);
            // Nobody is left to tell if even this cannot be written.
            let _ =
                writeln!(err, "a trace that could not be written; save it to a file to replay it:\n{trace}");
        }
    }
    if findings && exit != Exit::Usage { Exit::Findings } else { exit }
}

fn exit(summary: &Summary, require_complete: bool) -> Exit {
    if !summary.findings.is_zero() {
        Exit::Findings
    } else if !summary.broken.is_zero() {
        Exit::Broken
    } else if require_complete && !summary.complete {
        Exit::Incomplete
    } else {
        Exit::Clean
    }
}

fn plan(registry: &Registry, args: &RunArgs) -> Result<Plan, RunError> {
    let mut plan = super::plan::plan(registry, &args.target, &args.stack)?;
    let settings = &mut plan.settings;
    settings.strategy = match args.strategy {
        Strategy::Exhaust => StrategyName::Exhaust,
        Strategy::Dfs => StrategyName::Dfs,
        Strategy::Random => StrategyName::Random,
    };
    settings.seed = args.seed;
    settings.budget_ms = args.budget;
    settings.states = args.states;
    settings.depth = args.depth.unwrap_or(settings.depth);
    settings.limit = args.limit.unwrap_or(settings.limit);
    settings.samples = args.samples.unwrap_or(settings.samples);
    settings.crash_depth = args.crash_depth.unwrap_or(settings.crash_depth);
    settings.rules = super::rules(&args.device);
    plan.check(registry)?;
    programs::check(&plan)?;
    Ok(plan)
}

/// Replays a trace in a fresh process of this program.
fn confirm(trace: &Path) -> Confirmation {
    // This very program, even if its file has been replaced since it was started (by a build, say).
    let ran = Command::new("/proc/self/exe").arg("replay").arg("--").arg(trace).stdin(Stdio::null()).output();
    match ran {
        Err(error) => Confirmation::Not(format!("no process could be started: {error}")),
        Ok(ran) if ran.status.code() == Some(Exit::Findings as i32) => Confirmation::Reproduced,
        Ok(ran) => {
            let said = [ran.stdout, ran.stderr].concat();
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            Confirmation::Not(format!("the replay ended with {}: {said}", ran.status))
        }
    }
}
