//! A cluster as a user writes it: hosts, faults, clients, properties, and a run of it in a test or
//! as a target.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use explode_runtime::base::{OptionDef, Options, TargetBounds};
use explode_runtime::check::{Checker, CheckerDef, Cx, DefaultSearch};
use explode_runtime::choose::WalkAnswers;
use explode_runtime::crash_test::CrashTest;
use explode_runtime::explore::StrategyName;
use explode_runtime::plan::{Plan, Registry, RunSettings, Target};
use explode_runtime::report::Summary;
use explode_runtime::stack::{StackSpec, simfiles};
use explode_runtime::unit::{System, Systems};
use explode_runtime::verdict::CheckError;
use xxhash_rust::xxh3::Xxh3;

use crate::client::{CallHistory, NextCall, SequentialSpec, not_linearizable};
use crate::clock::Timing;
use crate::fault::{FaultBudget, OPTION, faults_in};
use crate::network::Network;
use crate::node::Node;
use crate::setup::{FactMonitor, Setup};
use crate::system::ClusterSystem;
use crate::view::View;

/// The largest number of hosts.
const MOST_HOSTS: usize = 32;
/// The number of walks of a unit.
const IN_UNIT: u32 = 64;
/// The number of steps of a walk, and of those at its end without faults.
const STEPS: (u32, u32) = (600, 100);
/// The number of walks of a target for which neither its author nor the user gives a bound.
const WALKS: u64 = 10_000;

/// Returns a cluster of `hosts` hosts on which the same node runs. Its name stands in traces.
///
/// # Panics
/// If there are no hosts, or more than 32.
pub fn cluster<N: Node>(name: &str, hosts: usize) -> Cluster<N> {
    assert!(
        (1..=MOST_HOSTS).contains(&hosts),
        "{hosts} hosts in cluster '{name}'; use 1 to {MOST_HOSTS}"
    );
    let (steps, tail) = STEPS;
    let about = format!("{hosts} hosts of {name}");
    let setup = Setup { tail, ..Setup::new(hosts) };
    Cluster {
        name: name.to_owned(),
        about,
        setup,
        steps,
        strategy: StrategyName::Weighted,
        default_walks: WALKS,
        seed: 0,
        policies: Vec::new(),
        versions: Vec::new(),
        require_complete: false,
        settings: Vec::new(),
        seeded: false,
        expect: "clean".to_owned(),
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// After this many walks.
    Walks(u64),
    /// After this many milliseconds.
    Millis(u64),
    /// When everything within the depth was tried. Only for strategies that try everything.
    Exhausted,
}

/// Returns the end of a run after this many walks.
pub fn walks(walks: u64) -> SearchEnd {
    SearchEnd::Walks(walks)
}

/// Returns the end of a run after this time.
pub fn budget(time: std::time::Duration) -> SearchEnd {
    SearchEnd::Millis(time.as_millis() as u64)
}

/// Returns the end of a run when everything within the depth was tried.
pub fn exhausted() -> SearchEnd {
    SearchEnd::Exhausted
}

/// A maker of the answers of a walk, from the seed of the run and the number of the walk.
type MakeAnswers = Arc<dyn Fn(u64, u64) -> Box<dyn WalkAnswers> + Send + Sync>;

/// A change of the settings of a run in a test.
type ChangeSettings = Box<dyn FnOnce(&mut RunSettings)>;

/// A cluster before its run.
#[must_use = "call run() on it"]
pub struct Cluster<N: Node> {
    name: String,
    about: String,
    setup: Setup<N>,
    steps: u32,
    strategy: StrategyName,
    default_walks: u64,
    seed: u64,
    policies: Vec<(String, MakeAnswers)>,
    versions: Vec<(String, String)>,
    require_complete: bool,
    settings: Vec<ChangeSettings>,
    seeded: bool,
    expect: String,
}

/// The world.
impl<N: Node> Cluster<N> {
    /// Sets the faults of a walk. Without this there are none.
    pub fn faults(mut self, faults: FaultBudget) -> Cluster<N> {
        self.setup.faults = faults;
        self
    }

    /// Sets the way in which messages travel. Without this they are datagrams.
    pub fn network(mut self, network: Network) -> Cluster<N> {
        self.setup.network = network;
        self
    }

    /// Bounds the number of messages on the way from one host to another. A node that sends another
    /// one gets an error.
    pub fn queues_of(mut self, messages: u32) -> Cluster<N> {
        self.setup.capacity = Some(messages);
        self
    }

    /// Sets the rule of time. Without this any timer may fire at any moment.
    ///
    /// # Panics
    /// If messages have no latency to choose, or clocks stand still.
    pub fn timing(mut self, clock: Timing) -> Cluster<N> {
        let name = &self.name;
        assert!(
            !clock.is_ordered() || !clock.latencies().is_empty(),
            "cluster '{name}': a clock that orders events needs the latencies of messages"
        );
        assert!(clock.skew() < 1000, "cluster '{name}': a skew of {} thousandths", clock.skew());
        self.setup.clock = clock;
        self
    }

    /// Sets the clients and the maker of their calls.
    pub fn clients(
        mut self,
        clients: usize,
        next: impl Fn(&mut NextCall<'_>) -> N::Call + Send + Sync + 'static,
    ) -> Cluster<N> {
        self.setup.clients = clients;
        self.setup.next_call = Some(Box::new(next));
        self
    }

    /// Sets the number of calls of each client. Without this there are 8.
    pub fn calls(mut self, calls: u32) -> Cluster<N> {
        self.setup.calls = calls;
        self
    }
}

/// The properties.
impl<N: Node> Cluster<N> {
    /// Adds what must hold after every step.
    pub fn always(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_, N>) -> bool + Send + Sync + 'static,
    ) -> Cluster<N> {
        self.setup.always.push((name.to_owned(), Box::new(holds)));
        self
    }

    /// Adds what some walk should reach. The summary counts the walks that do. A count of 0 means
    /// that the run has not tested what it was made for.
    pub fn sometimes(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_, N>) -> bool + Send + Sync + 'static,
    ) -> Cluster<N> {
        self.setup.sometimes.push((name.to_owned(), Box::new(holds)));
        self
    }

    /// Adds what must hold in the end. If nothing can happen any more and it does not hold, that is
    /// a finding. If it does not hold after the last step of a walk, although steps could follow,
    /// nothing is proved: the summary counts these walks as undecided.
    pub fn eventually(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_, N>) -> bool + Send + Sync + 'static,
    ) -> Cluster<N> {
        self.setup.eventually.push((name.to_owned(), Box::new(holds)));
        self
    }

    /// Adds a check of the history of calls, made after each reply. It returns what is wrong.
    pub fn history(
        mut self,
        name: &str,
        wrong: impl Fn(&CallHistory<N::Call, N::Reply>) -> Option<String> + Send + Sync + 'static,
    ) -> Cluster<N> {
        self.setup.histories.push((name.to_owned(), Box::new(move |history, _| wrong(history))));
        self
    }

    /// Adds the check that the calls are linearizable: some order of them fits the specification,
    /// in which each call takes effect between its beginning and its reply.
    pub fn linearizable<S>(mut self) -> Cluster<N>
    where
        S: SequentialSpec<Call = N::Call, Reply = N::Reply>,
    {
        let check = |history: &CallHistory<N::Call, N::Reply>, call: Option<&N::Call>| {
            not_linearizable::<S>(history, call)
        };
        self.setup.histories.push(("linearizable".to_owned(), Box::new(check)));
        self
    }

    /// Adds a monitor of the facts that nodes state with [`Host::fact`](crate::node::Host::fact).
    /// Each walk has one of its own.
    pub fn monitor<M: FactMonitor + 'static>(
        mut self,
        name: &str,
        make: impl Fn() -> M + Send + Sync + 'static,
    ) -> Cluster<N> {
        let make = move || Box::new(make()) as Box<dyn FactMonitor>;
        self.setup.monitors.push((name.to_owned(), Box::new(make)));
        self
    }

    /// Gives states an identity, so that a run that tries everything explores equal states once.
    /// The hash of a node must cover everything that decides what the node does.
    pub fn hashed(mut self) -> Cluster<N>
    where
        N: Hash,
    {
        self.setup.hash = Some(|node: &N, hash: &mut Xxh3| node.hash(hash));
        self
    }
}

/// The search.
impl<N: Node> Cluster<N> {
    /// Sets the number of steps of a walk, and how many of them, at its end, are fair and without
    /// faults. Without this 600 and 100.
    ///
    /// # Panics
    /// If there are no steps, or more of them at the end than in all.
    pub fn steps(mut self, steps: u32, tail: u32) -> Cluster<N> {
        assert!(steps > 0 && tail <= steps, "{steps} steps, {tail} of them at the end");
        (self.steps, self.setup.tail) = (steps, tail);
        self
    }

    /// Sets the strategy. Without this walks draw events by weight.
    ///
    /// # Panics
    /// If there is no such strategy.
    pub fn strategy(mut self, strategy: &str) -> Cluster<N> {
        self.strategy = strategy.parse().unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Sets the number of walks at which a run of the target ends if the user gives no bound.
    /// Without this 10,000.
    ///
    /// # Panics
    /// If it is 0.
    pub fn default_walks(mut self, walks: u64) -> Cluster<N> {
        assert!(walks > 0, "cluster '{}': a run of 0 walks explores nothing", self.name);
        self.default_walks = walks;
        self
    }

    /// Searches by walks of a policy of one's own. `make` makes the answers of each walk, from the
    /// seed and the number of the walk.
    pub fn policy<A: WalkAnswers + 'static>(
        mut self,
        name: &str,
        make: impl Fn(u64, u64) -> A + Send + Sync + 'static,
    ) -> Cluster<N> {
        let make = move |seed, walk| Box::new(make(seed, walk)) as Box<dyn WalkAnswers>;
        self.policies.push((name.to_owned(), Arc::new(make)));
        self.strategy = StrategyName::Walks(name.to_owned());
        self
    }

    /// Makes a run in a test fail that has not reached each `sometimes`, or that is not complete.
    /// Random walks are as complete as can be once their number is made, if there is a `sometimes`.
    pub fn require_complete(mut self) -> Cluster<N> {
        self.require_complete = true;
        self
    }

    /// Changes any other settings of a run in a test: the sample of disks, the deadline of a step.
    pub fn with(mut self, change: impl FnOnce(&mut RunSettings) + 'static) -> Cluster<N> {
        self.settings.push(Box::new(change));
        self
    }

    /// Sets the seed of everything that is drawn.
    pub fn seed(mut self, seed: u64) -> Cluster<N> {
        self.seed = seed;
        self
    }
}

/// The description.
impl<N: Node> Cluster<N> {
    /// Describes the cluster in a line, for lists of targets.
    pub fn about(mut self, about: &str) -> Cluster<N> {
        self.about = about.to_owned();
        self
    }

    /// Names the version of a checked system, for traces.
    pub fn version(mut self, system: &str, version: &str) -> Cluster<N> {
        self.versions.push((system.to_owned(), version.to_owned()));
        self
    }

    /// Declares that the cluster has a seeded bug, which runs must find with this verdict.
    pub fn seeded(mut self, expect: &str) -> Cluster<N> {
        (self.seeded, self.expect) = (true, expect.to_owned());
        self
    }
}

/// The run.
impl<N: Node> Cluster<N> {
    /// Runs the cluster in a test.
    ///
    /// # Panics
    /// - There is a finding. The text has its story and the command that replays it.
    /// - The nodes are not deterministic. The text has the first difference of two runs.
    /// - The run could not be made.
    /// - It is incomplete, and [must be complete](Cluster::require_complete).
    #[track_caller]
    pub fn run(self, end: SearchEnd) -> Summary {
        self.outcome(end).unwrap_or_else(|text| panic!("{text}"))
    }

    /// Like [`run`](Cluster::run), without the panic.
    ///
    /// # Errors
    /// The text of the panic of [`run`](Cluster::run).
    pub fn outcome(self, end: SearchEnd) -> Result<Summary, String> {
        let require_complete = self.require_complete;
        let (registry, plan) = self.test(end)?;
        let test = CrashTest::of_plan(registry, plan);
        if require_complete { test.require_complete() } else { test }.outcome()
    }

    /// Returns the registry and the plan of a run in a test.
    ///
    /// # Errors
    /// The strategy does not go with the end of the run.
    pub fn test(mut self, end: SearchEnd) -> Result<(Registry, Plan), String> {
        let (name, seed) = (self.name.clone(), self.seed);
        let changes = std::mem::take(&mut self.settings);
        let mut registry = Registry { components: [simfiles::def()].into(), ..Registry::default() };
        self.register(&mut registry);
        let target = registry.target(&name).map_err(|error| error.to_string())?;
        let mut plan = Plan::of(&registry, target).map_err(|error| error.to_string())?;
        plan.settings.seed = seed;
        let settings = &mut plan.settings;
        (settings.walks, settings.budget_ms) = match end {
            SearchEnd::Walks(walks) => (Some(walks), None),
            SearchEnd::Millis(millis) => (None, Some(millis)),
            SearchEnd::Exhausted => (None, None),
        };
        changes.into_iter().for_each(|change| change(&mut plan.settings));
        plan.check(&registry).map_err(|error| error.to_string())?;
        Ok((registry, plan))
    }

    /// Registers the cluster as a target of its name. The registry must have the component
    /// `simfiles`, on which each host keeps its files.
    pub fn register(self, registry: &mut Registry) {
        let Cluster {
            name, about, setup, steps, strategy, default_walks, policies, versions, ..
        } = self;
        let search = DefaultSearch { strategy, walks: default_walks, walks_in_unit: IN_UNIT };
        let def = CheckerDef::new(name.clone(), about.clone(), |options| {
            faults_in(options)?;
            Ok(Box::new(NoStack))
        });
        registry.checkers.push(def.options([FAULTS]).search(search).has_own_system());
        registry.targets.push(Target {
            name: name.clone().into(),
            about: about.into(),
            stack: StackSpec::default().plug(simfiles::NAME, Options::none()),
            checker: name.clone().into(),
            checker_options: Options::none(),
            bounds: TargetBounds { depth: steps, limit: 10_000, samples: 2_000, crash_depth: 0 },
            seeded: self.seeded,
            expect: self.expect.into(),
        });
        for (policy, make) in policies {
            registry.policies.register_walks(&policy, move |seed, walk| make(seed, walk));
        }
        let setup = Arc::new(setup);
        let mut systems = registry.extensions.get::<Systems>().cloned().unwrap_or_default();
        systems.register(&name, move |registry, plan, _| {
            let opened = ClusterSystem::open(&setup, &versions, registry, plan)?;
            Ok(Box::new(opened) as Box<dyn System + '_>)
        });
        registry.extensions.insert(systems);
    }
}

impl<N: Node> Debug for Cluster<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The option for the faults of a walk.
const FAULTS: OptionDef = OptionDef {
    name: OPTION,
    about: "the faults of a walk in place of the target's: crashes=2,drops=3; the kinds are \
            crashes, drops, duplicates, partitions, io_errors, bad_disks; none for no faults",
    default: "",
};

/// The checker under whose name a cluster is registered. A cluster has no single stack.
struct NoStack;

impl Checker for NoStack {
    fn mutate(&mut self, _cx: &mut Cx<'_>) -> Result<(), CheckError> {
        Err(CheckError::broken("a cluster runs on hosts of its own, not on one stack"))
    }

    fn check(
        &self,
        _stack: &explode_runtime::stack::Stack,
        _epoch: explode_runtime::crash::Epoch,
        _args: &[String],
    ) -> Result<(), CheckError> {
        Err(CheckError::broken("a cluster runs on hosts of its own, not on one stack"))
    }
}

/// A monitor that allows each subject one value: the first `subject` values of a fact name the
/// subject, the rest is its value.
#[derive(Clone, Debug)]
pub struct OneValue {
    fact: &'static str,
    subject: usize,
    known: BTreeMap<Vec<u64>, Vec<u64>>,
}

impl OneValue {
    /// Returns a monitor of facts of this name.
    pub fn of(fact: &'static str, subject: usize) -> OneValue {
        OneValue { fact, subject, known: BTreeMap::new() }
    }
}

impl FactMonitor for OneValue {
    fn on(
        &mut self,
        node: crate::node::NodeId,
        fact: &'static str,
        values: &[u64],
    ) -> Result<(), String> {
        if fact != self.fact {
            return Ok(());
        }
        let (subject, value) = values.split_at(self.subject.min(values.len()));
        let known = self.known.entry(subject.to_vec()).or_insert_with(|| value.to_vec());
        if known == value {
            return Ok(());
        }
        Err(format!("{node} states {fact} {subject:?} {value:?}, and it was {known:?} before"))
    }
}
