//! `explode run --plan`, `explode work`, `explode merge`: a run whose units are run by other
//! processes, on this machine or elsewhere.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use explode_runtime::base::{BrokenKind, Exit, RunError, UsageError};
use explode_runtime::explore::Job;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::run::{
    FolderLock, JobFile, JobFolder, JournalError, Persistence, Results, ResumedJournal,
    StrategyName, write_result,
};
use serde_json::json;

use super::run::{RunCommand, refused};
use crate::cli::{Format, MergeArgs, RunArgs, WorkArgs};
use crate::trust::{self, Carrier};
use crate::workers::{self, LocalWorkers};
use crate::{interrupt, output, required_programs};

/// Writes the first jobs of a run to a folder.
pub fn plan(registry: &Registry, args: &RunArgs, folder: &Path) -> Exit {
    let planned = || -> Result<Vec<PathBuf>, RunError> {
        let plan = super::run::plan(registry, args)?;
        if matches!(plan.settings.strategy, StrategyName::Own(_)) {
            let text = "--plan: a strategy of a program's own cannot be run elsewhere; use another";
            return Err(UsageError(text.to_owned()).into());
        }
        required_programs::check(&plan)?;
        interrupt::by_default();
        let started = workers::first_start(&plan, &LocalWorkers::prepare(&plan)?)?;
        let folder = JobFolder::create(folder, &plan, started)?;
        let mut strategy = plan.strategy()?;
        strategy.next();
        let jobs: Vec<Job> = strategy.ahead(usize::MAX);
        folder.write_jobs(&jobs)
    };
    match planned() {
        Ok(jobs) => {
            print_jobs(&jobs, folder, args.format);
            Exit::Clean
        }
        Err(error) => refused(&error, args.format),
    }
}

/// Reads a job, runs it and writes its result.
pub fn work(registry: &Registry, args: &WorkArgs) -> Exit {
    match worked(registry, args) {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(error.exit(), error),
    }
}

fn worked(registry: &Registry, args: &WorkArgs) -> Result<(), RunError> {
    let is_stdin = args.job == Path::new("-");
    let mut bytes = Vec::new();
    let read = if is_stdin {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        fs::read(&args.job).map(|read| bytes = read)
    };
    let name = args.job.display().to_string();
    read.map_err(|error| {
        UsageError(format!("{name}: {error}; name a job of explode run --plan, DIR/jobs/ID"))
    })?;
    let job = JobFile::parse(&bytes, &name)?;
    let plan = job.plan();
    plan.check(registry)?;
    check_trust("job", &args.job, plan, args.trust)?;
    required_programs::check(plan)?;
    let result = job.result_of(&args.job);
    if !is_stdin && job.is_done(&result) {
        output::note(&format!("{} is there already", result.display()));
        return Ok(());
    }
    interrupt::by_default();
    let bytes = workers::work(&job, &LocalWorkers::prepare(plan)?, interrupt::watch())?;
    if !is_stdin {
        return write_result(&result, &bytes);
    }
    let mut out = io::stdout().lock();
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    Ok(written.map_err(|error| {
        BrokenKind::Tool.of(format_args!("the result cannot be written: {error}"))
    })?)
}

/// Merges the results of jobs into their run.
pub fn merge(registry: &Registry, args: &MergeArgs) -> Exit {
    match begun(registry, args) {
        Ok(merge) => merge.go(args),
        Err(error) => refused(&error, args.format),
    }
}

/// A merge that is about to start.
struct Merge {
    folder: JobFolder,
    results: Results,
    keep: Persistence,
    claim: Option<FolderLock>,
}

fn begun(registry: &Registry, args: &MergeArgs) -> Result<Merge, RunError> {
    let (first, others) = args.folders.split_first().expect("one is required");
    let folder = JobFolder::open(first)?;
    folder.plan().check(registry)?;
    check_trust("run", first, folder.plan(), args.trust)?;
    required_programs::check(folder.plan())?;
    let results = folder.read_results(others)?;
    let run = folder.run();
    let (keep, claim) = match ResumedJournal::read(&run) {
        Ok(history) => (Persistence::Resume(Box::new(history)), Some(FolderLock::of(&run)?)),
        // A merge that was interrupted before it had a journal still has all results.
        Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            if run.exists() {
                fs::remove_dir_all(&run).map_err(|error| {
                    RunError::unwritable(&run, error, "remove it, and merge again")
                })?;
            }
            (Persistence::Journal, None)
        }
        Err(error) => return Err(UsageError(error.to_string()).into()),
    };
    Ok(Merge { folder, results, keep, claim })
}

impl Merge {
    fn go(self, args: &MergeArgs) -> Exit {
        let Merge { folder, mut results, keep, claim } = self;
        let (run, plan) = (folder.run(), folder.plan().clone());
        let exploring = RunCommand {
            plan: &plan,
            claim,
            out: Some(&run),
            events: None,
            junit: None,
            format: args.format,
            require_complete: false,
        };
        let mut complete = None;
        let (exit, _) = exploring.by(|sink| {
            let workers = LocalWorkers::prepare(&plan)?;
            let summary =
                workers::merge(&folder, &mut results, &workers, sink, keep, interrupt::watch())?;
            complete = Some(summary.is_covered(plan.settings.walks_to_make()));
            Ok(summary)
        });
        let Some(complete) = complete.filter(|_| !interrupt::is_requested()) else { return exit };
        let written = results.remove_merged().and_then(|()| folder.write_jobs(&results.wanted));
        match written {
            Err(error) => refused(&error, args.format),
            Ok(jobs) if !jobs.is_empty() => {
                print_jobs(&jobs, &args.folders[0], args.format);
                exit
            }
            Ok(_) if args.require_complete && !complete && exit == Exit::Clean => Exit::Incomplete,
            Ok(_) => exit,
        }
    }
}

/// Prints the last lines: the jobs to run, and the command that continues.
fn print_jobs(jobs: &[PathBuf], folder: &Path, format: Format) {
    match format {
        Format::Human => {
            let (paste, folder) = (output::paste(), folder.display().to_string());
            let count = jobs.len();
            let (which, jobs) = if count == 1 { ("job", "it") } else { ("jobs", "each of them") };
            output::line(&format!(
                "{count} {which} to run in {folder}/jobs: run {jobs} with explode work, then"
            ));
            output::line(&paste.command("merge", &folder));
        }
        Format::Jsonl => {
            let jobs: Vec<String> = jobs.iter().map(|job| job.display().to_string()).collect();
            output::line(&json!({ "type": "jobs", "jobs": jobs }).to_string());
        }
    }
}

fn check_trust(kind: &str, path: &Path, plan: &Plan, trusted: bool) -> Result<(), UsageError> {
    let carrier = Carrier { kind, path, commands: plan.commands(), mode: Some(plan.mode) };
    trust::check(&carrier, false, |_| false, trusted)
}
