//! Runs whose units are run elsewhere: jobs and results are files (`docs/guide/jobs.md`).
//!
//! `DIR/plan` identifies the run. `DIR/jobs/ID` is a job, with all that its worker needs.
//! `DIR/results/ID` is the result of the job. `DIR/run` is the run folder. Each file is a line with
//! the kind of the file, then records in the form of the journal. Files are written by rename, so
//! each is whole or absent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::frame::{frame, unframe};
use super::start::first_start;
use crate::base::{RunError, UsageError, as_json, durable_write};
use crate::explore::{Job, Unit, UnitId};
use crate::plan::Plan;
use crate::verdict::{BrokenKind, WorkerStep};
use crate::worker::{UnitListener, UnitOrder, UnitResult, WorkerStarted, Workers};

const PLAN: &[u8] = b"explode plan 1\n";
const JOB: &[u8] = b"explode job 1\n";
const RESULT: &[u8] = b"explode result 2\n";
/// The maximal number of jobs that are written at once.
const JOBS: usize = 1000;
/// The advice for a file of such a folder that cannot be written.
const NEXT: &str = "make room there, or name another folder";

/// The run that a job belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct JobHeader {
    explode: String,
    #[serde(with = "as_json")]
    plan: Plan,
    started: WorkerStarted,
}

impl JobHeader {
    /// Returns the identity of the run. A result with another identity is refused.
    fn id(&self) -> u128 {
        xxh3_128(&frame(self))
    }
}

/// The folder of a run whose jobs are run elsewhere.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    header: JobHeader,
}

/// A job, with the run that it belongs to.
#[derive(Debug)]
pub struct JobFile {
    header: JobHeader,
    job: Job,
}

/// The result of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct JobResult {
    units: Vec<(Unit, UnitResult)>,
    /// The unit of which a worker has died. The rest of the job was not run. `None` if the whole
    /// job was run.
    left: Option<Unit>,
}

/// The results of jobs, until they are merged.
#[derive(Debug, Default)]
pub struct Results {
    units: BTreeMap<UnitId, (Unit, UnitResult)>,
    left: BTreeSet<UnitId>,
    files: Vec<(PathBuf, Vec<UnitId>)>,
    merged: BTreeSet<UnitId>,
    /// The jobs that the run waits for.
    pub wanted: Vec<Job>,
}

impl JobFolder {
    /// Makes the folder of a run, which must be absent or empty.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be written.
    pub fn create(path: &Path, plan: &Plan, started: WorkerStarted) -> Result<JobFolder, RunError> {
        fs::create_dir_all(path).map_err(|error| RunError::unwritable(path, error, NEXT))?;
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            let text = format!("{} is not empty; name a folder that is not there", path.display());
            return Err(UsageError(text).into());
        }
        let header = JobHeader {
            explode: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.clone(),
            started,
        };
        let folder = JobFolder { path: path.to_owned(), header };
        for sub in [folder.jobs(), folder.results()] {
            fs::create_dir_all(&sub).map_err(|error| RunError::unwritable(&sub, error, NEXT))?;
        }
        write(&path.join("plan"), &[PLAN, &frame(&folder.header)].concat())?;
        Ok(folder)
    }

    /// Opens the folder of a run.
    ///
    /// # Errors
    /// The folder is not one of a run's jobs, or another version of explode wrote it.
    pub fn open(path: &Path) -> Result<JobFolder, RunError> {
        let file = path.join("plan");
        let bytes = read(&file, "name a folder that explode run --plan has made")?;
        let (header, _) = header(&bytes, PLAN, &file.display().to_string())?;
        Ok(JobFolder { path: path.to_owned(), header })
    }

    /// Returns the plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.header.plan
    }

    /// Returns the start of the stack that the run was planned with.
    pub fn started(&self) -> &WorkerStarted {
        &self.header.started
    }

    /// Returns the path of the run folder.
    pub fn run(&self) -> PathBuf {
        self.path.join("run")
    }

    fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }

    fn results(&self) -> PathBuf {
        self.path.join("results")
    }

    /// Writes jobs and removes all others that are there.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_jobs(&self, jobs: &[Job]) -> Result<Vec<PathBuf>, RunError> {
        let folder = self.jobs();
        let path = |job: &Job| folder.join(name(job));
        let wanted: BTreeSet<PathBuf> = jobs.iter().map(path).collect();
        let refused = |error| RunError::unwritable(&folder, error, NEXT);
        for entry in fs::read_dir(&folder).map_err(refused)? {
            let old = entry.map_err(refused)?.path();
            if !wanted.contains(&old) {
                fs::remove_file(&old).map_err(refused)?;
            }
        }
        for job in jobs {
            write(&path(job), &[JOB, &frame(&self.header), &frame(job)].concat())?;
        }
        Ok(jobs.iter().map(path).collect())
    }

    /// Reads the results of this folder and of others.
    ///
    /// # Errors
    /// A result cannot be read, is damaged, or belongs to another run.
    pub fn read_results(&self, others: &[PathBuf]) -> Result<Results, RunError> {
        let mut results = Results::default();
        for folder in [&self.path].into_iter().chain(others) {
            let folder = folder.join("results");
            let unreadable =
                |error| UsageError(format!("{}: {error}; name a folder of jobs", folder.display()));
            let entries =
                fs::read_dir(&folder).map_err(unreadable)?.collect::<io::Result<Vec<_>>>();
            let mut files: Vec<PathBuf> =
                entries.map_err(unreadable)?.into_iter().map(|entry| entry.path()).collect();
            files.sort();
            files.iter().try_for_each(|file| results.read(file, self.header.id()))?;
        }
        Ok(results)
    }
}

impl JobFile {
    /// Reads a job. Errors call it `name`.
    ///
    /// # Errors
    /// The bytes are not a job, or another version of explode wrote them.
    pub fn parse(bytes: &[u8], name: &str) -> Result<JobFile, RunError> {
        let (header, rest) = header(bytes, JOB, name)?;
        let (job, _) = unframe(rest).ok_or_else(|| damaged(name))?;
        Ok(JobFile { header, job })
    }

    /// Returns the plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.header.plan
    }

    /// Returns the path of the result, if the job is this file of a folder.
    pub fn result_of(&self, file: &Path) -> PathBuf {
        let folder = file.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        folder.join("results").join(name(&self.job))
    }

    /// Returns true if the file is a whole and sound result of this run.
    pub fn is_done(&self, result: &Path) -> bool {
        fs::read(result).is_ok_and(|bytes| parse_result(&bytes, self.header.id(), "").is_ok())
    }

    /// Runs the units of the job with these workers. Returns the bytes of the result's file.
    ///
    /// # Errors
    /// The worker cannot be started, the stack starts with other versions or disks than in the run,
    /// or `stop` returns true.
    pub fn run(
        &self,
        workers: &mut dyn Workers,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, RunError> {
        let started = first_start(workers)?;
        if started.origin != self.header.started.origin {
            let changes = self.header.started.origin.changes(&started.origin).join("; ");
            let text = format!(
                "the job cannot be run here: {changes}; use the versions and options of the plan"
            );
            return Err(UsageError(text).into());
        }
        let sketches = self.plan().strategy()?.wants_sketches();
        let mut result = JobResult::default();
        let mut next = Some(self.job.clone());
        let mut last_counts = false;
        while let Some(job) = next {
            let order = UnitOrder { sketches, last_counts, ..UnitOrder::new(&job.unit) };
            let ran = workers.run(&order, &mut UntilCancelled(stop));
            let Some(ran) = ran.ok().filter(|_| !stop()) else {
                if stop() {
                    return Err(BrokenKind::Tool.of("interrupted; run the job again").into());
                }
                result.left = Some(job.unit);
                break;
            };
            next = job.after(&ran.choices);
            result.units.push((job.unit, ran));
            // The next unit of the job is merged after this one.
            last_counts = true;
        }
        Ok([RESULT, &frame(&self.header.id()), &frame(&result)].concat())
    }
}

/// Writes a file of a folder of jobs, by rename.
///
/// # Errors
/// The file cannot be written.
pub fn write_result(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| RunError::unwritable(folder, error, NEXT))?;
    }
    write(path, bytes)
}

struct UntilCancelled<'a>(&'a dyn Fn() -> bool);

impl UnitListener for UntilCancelled<'_> {
    fn next_step(&mut self, _step: WorkerStep, _checked: u64) {}
    fn stop(&mut self) -> bool {
        (self.0)()
    }
}

/// A unit that the run needs.
pub(super) enum JobUnit {
    /// The unit was run.
    Result(Box<UnitResult>),
    /// A worker has died of the unit. The supervisor's worker must run it.
    Here,
    /// The job of the unit is not run yet.
    NotYet,
}

impl Results {
    fn read(&mut self, file: &Path, run: u128) -> Result<(), RunError> {
        let name = file.display().to_string();
        let bytes = read(file, "remove it, and run its job again")?;
        let JobResult { units, left } = parse_result(&bytes, run, &name)?;
        let ids = units.iter().map(|(unit, _)| unit).chain(&left).map(Unit::id).collect();
        self.files.push((file.to_owned(), ids));
        self.left.extend(left.iter().map(Unit::id));
        self.units.extend(units.into_iter().map(|(unit, result)| (unit.id(), (unit, result))));
        Ok(())
    }

    /// Returns true if there is no result.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.left.is_empty()
    }

    /// Takes the result of a unit.
    pub(super) fn take(&mut self, unit: &Unit) -> JobUnit {
        let id = unit.id();
        match self.units.remove(&id) {
            Some((ran, result)) if ran == *unit => JobUnit::Result(Box::new(result)),
            _ if self.left.contains(&id) => JobUnit::Here,
            _ => JobUnit::NotYet,
        }
    }

    /// Notes that a unit is merged.
    pub(super) fn merged(&mut self, id: UnitId) {
        self.merged.insert(id);
    }

    /// Keeps all files, because merged results are recorded nowhere else.
    pub(super) fn keep_files(&mut self) {
        self.files.clear();
    }

    /// Notes the jobs that the run waits for, without the units that were run.
    pub(super) fn wait_for(&mut self, ahead: impl FnOnce(usize) -> Vec<Job>) {
        for job in ahead(JOBS + self.units.len()) {
            let mut left = Some(job);
            while let Some(job) = left.take() {
                match self.units.get(&job.unit.id()) {
                    Some((_, result)) => left = job.after(&result.choices),
                    None if self.left.contains(&job.unit.id()) => {}
                    None => self.wanted.push(job),
                }
            }
        }
        self.wanted.truncate(JOBS);
    }

    /// Removes the files of which every unit is merged. Removes all files if the run is over.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn remove_merged(&self) -> Result<(), RunError> {
        for (file, units) in &self.files {
            if self.wanted.is_empty() || units.iter().all(|unit| self.merged.contains(unit)) {
                fs::remove_file(file).map_err(|error| RunError::unwritable(file, error, NEXT))?;
            }
        }
        Ok(())
    }
}

fn name(job: &Job) -> String {
    format!("{:032x}", job.unit.id().0)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    durable_write(path, bytes).map_err(|error| RunError::unwritable(path, error, NEXT))
}

fn read(path: &Path, next: &str) -> Result<Vec<u8>, RunError> {
    fs::read(path)
        .map_err(|error| UsageError(format!("{}: {error}; {next}", path.display())).into())
}

fn damaged(name: &str) -> RunError {
    UsageError(format!("{name}: not a file of a run's jobs, or damaged; plan the run again")).into()
}

fn header<'a>(
    bytes: &'a [u8],
    magic: &[u8],
    name: &str,
) -> Result<(JobHeader, &'a [u8]), RunError> {
    let rest = bytes.strip_prefix(magic).ok_or_else(|| damaged(name))?;
    let (header, rest) = unframe::<JobHeader>(rest).ok_or_else(|| damaged(name))?;
    if header.explode != env!("CARGO_PKG_VERSION") {
        let version = &header.explode;
        let text = format!(
            "{name}: written by explode {version}; use that version, or plan the run again"
        );
        return Err(UsageError(text).into());
    }
    Ok((header, rest))
}

fn parse_result(bytes: &[u8], run: u128, name: &str) -> Result<JobResult, RunError> {
    let damaged = || {
        UsageError(format!("{name}: not a result, or damaged; remove it, and run its job again"))
    };
    let rest = bytes.strip_prefix(RESULT).ok_or_else(damaged)?;
    let (of, rest) = unframe::<u128>(rest).ok_or_else(damaged)?;
    if of != run {
        let text =
            format!("{name}: the result of a job of another run, or of other options; remove it");
        return Err(UsageError(text).into());
    }
    Ok(unframe(rest).ok_or_else(damaged)?.0)
}
