//! Runs a crash test: explores, minimises and explains a finding, and gives the command that
//! replays it.

use crate::{base, plan, worker};
use std::collections::BTreeMap;
use std::env;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use itertools::Itertools as _;

use super::complete::incomplete;
use super::diverged::{diverged, with_causes, without_story};
use super::parts::EngineParts;
use super::replay::{REPLAY, command, folder, path, read, write};
use super::{engine, model};
use crate::base::{Options, RunError, TallyGroup};
use crate::explain::minimise::{MinimiseResult, minimise};
use crate::explain::{SearchBounds, StoryCommands, differences, diverged as in_lines, story};
use crate::plan::{Plan, Registry, RunSettings};
use crate::report::{Finding, Line, Message, ModelResult, Summary, escaped};
use crate::run::{Confirmation, RunSink, Supervisor};
use crate::stack::{ComponentDef, StackSpec};
use crate::trace::{ReplayResult, Trace};
use crate::verdict::BrokenKind;
use crate::worker::RemoteWorkers;

/// The limits for minimising and explaining a finding. Each test of a step that hangs takes its
/// full deadline.
const BOUNDS: SearchBounds = SearchBounds { budget: Some(Duration::from_secs(60)), tests: 2000 };

/// A crash test before its run.
#[must_use = "call run() on it"]
pub struct CrashTest {
    pub(super) registry: Registry,
    pub(super) plan: Plan,
    /// True if a run that omits anything fails.
    require_complete: bool,
    /// True for a run under each model of simulated files.
    pub(super) each_model: bool,
}

impl CrashTest {
    pub(super) fn new<S: 'static, M: Clone + Debug + PartialEq + 'static>(
        name: &str,
        files: ComponentDef,
        parts: EngineParts<S, M>,
    ) -> CrashTest {
        let (store, checker) = (engine::def(parts.clone(), &files), model::def(parts));
        let target = plan::Target {
            name: "".into(),
            about: store.about.clone(),
            stack: StackSpec::default()
                .plug(&files.name, Options::none())
                .plug(&store.name, Options::none()),
            checker: checker.name.clone(),
            checker_options: Options::none(),
            bounds: base::TargetBounds { depth: 3, limit: 10_000, samples: 2_000, crash_depth: 1 },
            seeded: false,
            expect: "clean".into(),
        };
        let components = [files, store].into();
        let registry = Registry { components, checkers: [checker].into(), ..Registry::default() };
        let plan = Plan::of(&registry, &target).expect("the registry has what the target needs");
        CrashTest::of_plan(registry, Plan { target: name.to_owned(), ..plan })
    }

    /// Returns the crash test of a plan, one step deep or as the plan's settings say.
    pub fn of_plan(registry: Registry, plan: Plan) -> CrashTest {
        CrashTest { registry, plan, require_complete: false, each_model: false }
    }

    /// Sets the number of consecutive steps.
    pub fn depth(mut self, steps: u32) -> CrashTest {
        self.plan.settings.depth = steps;
        self
    }

    /// Changes any other settings: limits, blocks, the strategy.
    pub fn with(mut self, change: impl FnOnce(&mut RunSettings)) -> CrashTest {
        change(&mut self.plan.settings);
        self
    }

    /// Explores under each model of simulated files. The text of a finding has a line with the
    /// models under which it shows.
    pub fn each_model(mut self) -> CrashTest {
        self.each_model = true;
        self
    }

    /// Makes a run fail if it omits a crash disk, if a bound on states or time stops it, or if it
    /// has not reached what it was to reach. By default such a run passes and prints a line about
    /// it.
    pub fn require_complete(mut self) -> CrashTest {
        self.require_complete = true;
        self
    }

    /// Explores, or replays the trace that [`REPLAY`] names.
    ///
    /// # Panics
    /// - There is a finding. The text has its story and the command that replays it.
    /// - The store is not deterministic. The text has the first difference of two runs, and the
    ///   finding.
    /// - The test could not be made.
    /// - The run is incomplete, and [must be complete](CrashTest::require_complete).
    #[track_caller]
    pub fn run(self) -> Summary {
        match self.outcome() {
            Ok(summary) => summary,
            Err(text) => panic!("{text}"),
        }
    }

    /// Like [`run`](CrashTest::run), without the panic.
    ///
    /// # Errors
    /// The text of the panic of [`run`](CrashTest::run).
    pub fn outcome(self) -> Result<Summary, String> {
        self.replay_named()?;
        if self.each_model { self.explore_each() } else { self.explore() }
    }

    fn explore(&self) -> Result<Summary, String> {
        let mut report = TestReport::default();
        let summary = self.explore_plan(&self.plan, true, &mut report)?;
        let TestReport { finding, unreplayed, broken, .. } = report;
        if let Some(finding) = finding {
            return Err(self.described(&finding));
        }
        if let Some(finding) = unreplayed {
            return Err(self.not_replayed(&finding));
        }
        broken.first().map_or(Ok(()), |(kind, text)| Err(not_made(*kind, text)))?;
        self.judge(summary)
    }

    /// Explores a plan. The first finding ends the run if `stops` is true.
    pub(super) fn explore_plan(
        &self,
        plan: &Plan,
        stops: bool,
        report: &mut TestReport,
    ) -> Result<Summary, String> {
        plan.check(&self.registry).map_err(|error| error.to_string())?;
        let interrupt = AtomicBool::new(false);
        let explored = self.with_workers(plan, |remote| {
            let mut sink = ReportSink { test: self, report, interrupt: &interrupt };
            let mut supervisor = Supervisor::new(plan, remote, &mut sink);
            supervisor.interrupt = stops.then_some(&interrupt);
            supervisor.run()
        });
        explored.map_err(|error| error.to_string())
    }

    /// Returns the story of a finding, or why there is none.
    pub(super) fn described(&self, finding: &Finding) -> String {
        self.describe(finding).unwrap_or_else(|error| without_story(finding, &error))
    }

    /// Returns an error if a run without findings is incomplete but must be complete.
    pub(super) fn judge(&self, summary: Summary) -> Result<Summary, String> {
        for TallyGroup { name, tallies } in &summary.tallies {
            let counts = tallies.iter().map(|(name, count)| format!("{name} {count}")).join(", ");
            note(&format!("crash test '{}': {name}: {counts}", self.plan.target));
        }
        let (name, settings) = (&self.plan.target, &self.plan.settings);
        let unreached = summary.unreached().map(|name| format!("'{name}'")).join(", ");
        if !unreached.is_empty() {
            let missing = format!("nothing has reached {unreached}");
            if self.require_complete {
                return Err(not_covered(name, &missing));
            }
            note(&format!("crash test '{name}': {missing}; require_complete() makes this fail"));
        }
        let Some(missing) = incomplete(&summary, settings) else { return Ok(summary) };
        let walks = settings.walks_to_make();
        if walks.is_some() && !self.require_complete || summary.is_covered(walks) {
            return Ok(summary);
        }
        if self.require_complete {
            return Err(not_covered(name, &missing));
        }
        note(&format!(
            "crash test '{name}' passed, and is not complete: {missing}; require_complete() makes \
             this fail"
        ));
        Ok(summary)
    }

    /// Replays the trace that [`REPLAY`] names, if it is one of this test.
    fn replay_named(&self) -> Result<(), String> {
        let Some(path) = env::var_os(REPLAY).map(PathBuf::from) else { return Ok(()) };
        let failed = |error: &dyn Display| {
            escaped(&format!("{REPLAY}={}: {error}", path.display())).into_owned()
        };
        let trace = read(&path).map_err(|error| failed(&error))?;
        if trace.target != self.plan.target {
            return Ok(());
        }
        if trace.commands() != self.plan.commands() {
            let why = "it carries other shell commands, so it is not a trace of this crash test";
            return Err(failed(&why));
        }
        // Only a test that completes may report success.
        match self.replay(&trace).map_err(|error| failed(&error))? {
            ReplayResult::Reproduced { .. } => {
                let story = self.story(&trace, &path).map_err(|error| failed(&error))?;
                return Err(format!("reproduced {}\n{story}", trace.signature));
            }
            ReplayResult::NotReproduced(_, why) => {
                note(&failed(&format!("not reproduced: {why}; the test continues")))
            }
            ReplayResult::Diverged(divergence) => {
                note(&failed(&format!("it takes another path: {divergence}; the test continues")))
            }
        }
        Ok(())
    }

    /// Minimises a finding and returns its story.
    fn describe(&self, finding: &Finding) -> Result<String, RunError> {
        let path = Path::new(&finding.trace);
        let trace = read(path).map_err(|error| RunError::from(BrokenKind::Tool.of(error)))?;
        let smaller =
            self.with_workers(&trace.plan(), |remote| minimise(remote, &trace, BOUNDS))?;
        if let MinimiseResult::Diverged(text) = smaller {
            return Ok(diverged(&text, Some(finding)));
        }
        if let MinimiseResult::Smaller(smaller) = smaller
            && let ReplayResult::Reproduced { .. } = self.replay(&smaller.trace)?
        {
            let path = path.with_extension("min.json");
            write(&path, &smaller.trace)?;
            return self.story(&smaller.trace, &path);
        }
        self.story(&trace, path)
    }

    /// Returns the report on a finding that its replay did not reproduce: the store is not
    /// deterministic.
    pub(super) fn not_replayed(&self, finding: &Finding) -> String {
        let text = finding.not_replayed.as_deref().unwrap_or("a replay did not reproduce it");
        let text = format!("the finding was not replayed: {text}");
        let differences = read(Path::new(&finding.trace)).map(|trace| {
            self.with_workers(&trace.plan(), |remote| differences(remote, &trace))
                .unwrap_or_default()
        });
        diverged(&in_lines(&text, &differences.unwrap_or_default()), Some(finding))
    }

    fn story(&self, trace: &Trace, path: &Path) -> Result<String, RunError> {
        let story = self.with_workers(&trace.plan(), |remote| story(remote, trace, BOUNDS))?;
        let replay = command(path);
        let commands = StoryCommands { all: None, minimise: None, replay: &replay };
        let lines = story.lines(&path.display().to_string(), &commands);
        Ok(lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n"))
    }

    fn replay(&self, trace: &Trace) -> Result<ReplayResult, RunError> {
        self.with_workers(&trace.plan(), |remote| remote.replay(trace))
    }

    /// Does `work` with workers for a plan. Each worker is a thread.
    fn with_workers<R>(&self, plan: &Plan, work: impl FnOnce(&mut RemoteWorkers<'_>) -> R) -> R {
        let mut spawn = || worker::spawn_thread(&self.registry);
        work(&mut RemoteWorkers::new(plan, &mut spawn))
    }
}

impl Debug for CrashTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrashTest").field("plan", &self.plan).finish_non_exhaustive()
    }
}

fn not_covered(name: &str, missing: &str) -> String {
    format!("crash test '{name}' found nothing, and is not complete: {missing}")
}

/// Prints a note besides the test's own output.
#[expect(clippy::print_stderr, reason = "a test that passes has no other place for it")]
fn note(text: &str) {
    eprintln!("{}", escaped(text));
}

/// The messages of a run that decide the test.
#[derive(Debug, Default)]
pub(super) struct TestReport {
    finding: Option<Finding>,
    /// A finding that its replay did not reproduce.
    unreplayed: Option<Finding>,
    /// All findings, by signature.
    pub findings: BTreeMap<String, Finding>,
    pub broken: Vec<(BrokenKind, String)>,
}

/// Returns the text about a test that could not be made.
pub(super) fn not_made(kind: BrokenKind, text: &str) -> String {
    match kind {
        BrokenKind::NotReproduced => diverged(&with_causes(text), None),
        _ => format!("the crash test could not be made: {text}"),
    }
}

struct ReportSink<'a> {
    test: &'a CrashTest,
    report: &'a mut TestReport,
    interrupt: &'a AtomicBool,
}

impl RunSink for ReportSink<'_> {
    fn open(&mut self, _target: &str) -> Result<PathBuf, RunError> {
        Ok(folder())
    }

    /// Keeps a finding and interrupts the run, because one finding fails the test.
    fn emit(&mut self, message: &Message) -> Result<(), RunError> {
        ModelResult::add(&mut self.report.findings, message);
        match message {
            Message::Finding(finding) if finding.by_design => {}
            Message::Finding(finding) if !finding.replayed => {
                self.report.unreplayed.get_or_insert_with(|| finding.clone());
            }
            Message::Finding(finding) => {
                self.report.finding.get_or_insert_with(|| finding.clone());
                self.interrupt.store(true, Ordering::Relaxed);
            }
            Message::Broken { kind, message, .. } => {
                self.report.broken.push((*kind, message.clone()))
            }
            _ => {}
        }
        Ok(())
    }

    fn keep(&mut self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        let path = path(&trace.target, id);
        write(&path, trace)?;
        Ok(path)
    }

    fn confirm(&mut self, trace: &Path) -> Confirmation {
        let trace = read(trace).map_err(|error| RunError::from(BrokenKind::Tool.of(error)));
        match trace.and_then(|trace| self.test.replay(&trace)) {
            Ok(ReplayResult::Reproduced { .. }) => Confirmation::Reproduced,
            Ok(ReplayResult::NotReproduced(_, why)) => Confirmation::Not(why),
            Ok(ReplayResult::Diverged(divergence)) => Confirmation::Not(divergence.to_string()),
            Err(error) => Confirmation::Not(error.to_string()),
        }
    }
}
