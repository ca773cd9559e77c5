//! Every short workload: all sequences of N calls on a small tree, each call followed by each way
//! of forcing what it has changed, or by none.
//!
//! The first mutate makes the tree on which the workload begins ([`Start`]). Each later mutate
//! makes one call ([`Alphabet`]) and forces something or nothing. So `--depth` is N + 1. Every disk
//! that a crash could leave from the start of the call to the end of the forcing is checked. The
//! promises are those of [`fs-reasonable`](super::reasonable), and where the profile keeps it
//! `moved-name` of [`fs-moved`](super::moved).
//!
//! No two workloads are merged, also not two with equal trees: fsync of a file that has not
//! changed may write to the log of a file system, and later calls may depend on that. Two
//! workloads never differ only in names, because no two nodes of a start are symmetric and a new
//! name is the one that was freed last, or the first free letter.
//!
//! The tree is not compared between two calls, because that would bring all inodes into memory.

mod alphabet;
mod count;
mod possible;
mod renamed;
mod swarm;
#[cfg(test)]
mod tests;

use explode_ramdisk::files::{
    Fd, FileModel, Files, FsAbility, FsCall, OpenFiles, Session, WriteMethod,
};
use explode_runtime::base::{ExactCount, OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Forecast, Probe, Tallies,
    Topology, Unsupported, digest,
};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::NO_DEPTH;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Promise, ShellDemand, Violation};
use itertools::Itertools as _;

use super::model::SyncCall as By;
use super::model::{Abstract, CALLS, Group, Groups, History, Moments};
use super::reasonable::{COPIES, EXCHANGE, Reasonable, UNSYNCED, demands, words};
use super::start::Start;
use super::started::STARTS;
use super::topology::{self, Limits, TopologyCall, begin, probe};
use alphabet::Alphabet;
use count::{Counter, ModelFiles};
use possible::{Follower, KeptOpen, OF_MODEL, WorkloadStep};
use renamed::{MOVED, RenamedFiles};
use swarm::{SUBSETS, Subset};

/// The name in the registry.
pub const NAME: &str = "fs-workloads";

/// The number of calls on the model after which the forecast of a run is given up, for each start:
/// a second at most.
const MOST_COUNTED: u64 = 30_000;

/// The number of workloads of one length at which the forecast of a run without a bound ends. To
/// count the next length then takes a guest that is emulated longer than a step may last.
const ENOUGH: u128 = 5_000;

/// The first number of an open directory while workloads are counted.
const DIRECTORIES: u32 = 1 << 16;

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "every workload of N calls (--depth N+1): what was forced is there, and nothing that was \
         never made",
        build,
    )
    .options([
        OptionDef {
            name: "alphabet",
            about: "calls and ways of forcing: core (12 calls; forces what a call has changed), \
                    full (all calls; forces every file and directory)",
            default: "core",
        },
        OptionDef {
            name: CALLS.name,
            about: "system calls in place of those of the alphabet, besides creat, mkdir, unlink, \
                    rmdir, link and rename: alphabet, or the words that fs-reasonable has, with \
                    commas",
            default: "alphabet",
        },
        OptionDef {
            name: "start",
            about: "files before the first call: empty, committed (a small tree, synced, also \
                    mounted again), mounted (a small tree, mounted again), both (empty and \
                    committed)",
            default: "both",
        },
        OptionDef {
            name: "descriptors",
            about: "files and directories of a committed tree: closed (each call opens them by \
                    name), open (from the start on), both",
            default: "both",
        },
        OptionDef {
            name: "time",
            about: "clock of the file systems between two calls, where they have one: passes, \
                    still (a file may get the same times twice), both",
            default: "both",
        },
        OptionDef {
            name: "swarm",
            about: "true: each workload has its own subset of the calls and ways of forcing, for \
                    long workloads with --strategy random",
            default: "false",
        },
        OptionDef {
            name: "model",
            about: "each state must be one that simulated files with this model can have, too: \
                    none, posix, ext4, xfs, btrfs",
            default: "none",
        },
        OptionDef {
            name: "seen",
            about: "true: count how many of the model's states the checked files have shown; each \
                    workload checks its disks itself",
            default: "false",
        },
        UNSYNCED,
        COPIES,
        EXCHANGE,
    ])
}

/// The tree, its history, and the open files.
#[derive(Clone, Debug)]
struct Workloads {
    alphabet: Alphabet,
    /// The possible starts.
    starts: Vec<Start>,
    /// The chosen start. `None` before the first mutate.
    start: Option<Start>,
    /// Whether time passes before a call: the options of a choice. Only one without a clock.
    time: &'static [bool],
    /// True if each workload has its own subset of the calls.
    swarm: bool,
    /// The calls of this workload.
    subset: Subset,
    state: Reasonable,
    /// The places of renamed files.
    renamed: Moments<RenamedFiles>,
    /// True if the profile keeps the promise about renamed files.
    keeps_moved: bool,
    /// True if the system's directories can stay open.
    opens_directories: bool,
    open: OpenFiles,
    /// The states of a model. `None` if they do not matter.
    follower: Option<Follower>,
    /// True if the states are counted that the files have shown.
    counts_seen: bool,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(made(options)?))
}

/// Returns the limits of the trees, with the available calls.
fn limits(alphabet: Alphabet, options: &Options) -> Result<Limits, UsageError> {
    let limits = alphabet.limits();
    match &*options.text(CALLS.name, "alphabet")? {
        "alphabet" => Ok(limits),
        _ => Ok(Limits { calls: Groups::given(options)?, ..limits }),
    }
}

/// Returns the follower with the model that the options name.
fn follower(options: &Options) -> Result<Option<Follower>, UsageError> {
    let models = FileModel::ALL.map(|model| (model.as_str(), Some(model)));
    let words: Vec<_> = [("none", None)].into_iter().chain(models).collect();
    Ok(options.one_of("model", &words)?.map(Follower::new))
}

fn made(options: &Options) -> Result<Workloads, UsageError> {
    let alphabet = options.one_of("alphabet", &Alphabet::ALL)?;
    let both = [(true, true), (true, false), (false, true)];
    let [all, first, second] = both;
    let is_start = options.one_of("start", &STARTS)?;
    let named = [("both", all), ("closed", first), ("open", second)];
    let (closed, open) = options.one_of("descriptors", &named)?;
    let is_wanted = |start: &Start| {
        let has_files = if start.is_open() { open } else { closed };
        is_start(*start) && (has_files || !start.is_committed())
    };
    let follower = follower(options)?;
    let counts_seen = options.bool("seen", false)?;
    if counts_seen && follower.is_none() {
        let text = "fs-workloads.seen=true counts the states of a model; add --set \
                    fs-workloads.model=ext4, or another model";
        return Err(UsageError(text.to_owned()));
    }
    Ok(Workloads {
        alphabet,
        starts: Start::ALL.into_iter().filter(is_wanted).collect(),
        start: None,
        time: options.one_of(
            "time",
            &[("both", &[true, false][..]), ("passes", &[true][..]), ("still", &[false][..])],
        )?,
        swarm: options.bool("swarm", false)?,
        subset: Subset::ALL,
        state: Reasonable::within(limits(alphabet, options)?, options)?,
        renamed: Moments::default(),
        keeps_moved: false,
        opens_directories: true,
        open: OpenFiles::default(),
        follower,
        counts_seen,
    })
}

impl Workloads {
    /// Makes the files on which the workload begins.
    fn begin(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let names: Vec<String> = self.starts.iter().map(|start| start.name()).collect();
        let label = Label::named("fs-workloads start");
        let point = ChoicePoint::action(names.len() as u32, label);
        let start = self.starts[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        self.start = Some(start);
        if self.swarm {
            let label = Label::named("fs-workloads subset");
            self.subset = Subset::numbered(cx.choose_at(&ChoicePoint::action(SUBSETS, label)));
        }
        let files = cx.stack().files()?;
        for call in start.calls(self.state.limits.calls) {
            // The tree of a file system without links lacks the second name.
            self.make(&call, files.as_ref())?;
        }
        if start.is_committed() {
            files.sync().map_err(|errno| CheckError::broken(format!("sync: {errno}")))?;
            self.step(|| WorkloadStep::Call(FsCall::Sync));
            self.state.history.now.sync(&self.state.fs);
            self.state.history.begin();
            self.renamed.now.sync(&self.state.fs);
            self.renamed.begin();
        }
        if !start.is_remounted() {
            self.open_all(files.as_ref())?;
        }
        Ok(())
    }

    /// Adds a step for the states of a model.
    fn step(&mut self, step: impl FnOnce() -> WorkloadStep) {
        if let Some(follower) = &mut self.follower {
            follower.step(step());
        }
    }

    /// Opens all files, if the workload begins with open files.
    fn open_all(&mut self, files: &dyn Files) -> Result<(), StepError> {
        let kept = self.kept_open();
        let failed = |(path, errno)| StepError::new(format!("open {path}: {errno}"));
        self.open = kept.open(files).map_err(failed)?;
        self.step(|| WorkloadStep::Open(kept));
        Ok(())
    }

    /// Returns the files that stay open from the start on.
    fn kept_open(&self) -> KeptOpen {
        let second_names = second_names(&self.state.fs).collect();
        let mut kept = KeptOpen { second_names, ..KeptOpen::default() };
        if !self.start.is_some_and(Start::is_open) {
            return kept;
        }
        let fs = &self.state.fs;
        for (path, id) in fs.paths() {
            if fs.is_file(id) {
                let methods = open_methods(self.state.limits.calls);
                kept.files.extend(methods.into_iter().map(|method| (path.clone(), method)));
            } else if fs.is_directory(id) && self.opens_directories {
                kept.directories.push(path);
            }
        }
        kept
    }

    /// Lets time pass before a call, or not. A file whose times do not change may not be dirty.
    fn pass_time(&self, cx: &mut Cx<'_>) -> Result<(), StepError> {
        let passes = match self.time {
            [only] => *only,
            all => {
                let names = ["time passes", "no time passes"].map(str::to_owned);
                let label = Label::named("fs-workloads time");
                let point = ChoicePoint::action(all.len() as u32, label);
                all[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize]
            }
        };
        if passes { cx.stack().pass_time() } else { Ok(()) }
    }

    /// Returns a counter of the workloads from a start, and the files of the start. The counter
    /// gives up after `most` calls on the model.
    fn counter(&self, start: Start, most: u64) -> (Counter, ModelFiles) {
        let Reasonable { fs, free, limits, writes, .. } = self.state.clone();
        let mut files = ModelFiles { fs, free, open: OpenFiles::default(), writes };
        for call in start.calls(limits.calls) {
            files = files.after(&call);
        }
        let is_file = |id| start.is_open() && files.fs.is_file(id);
        let paths = files.fs.paths().into_iter().filter(|(_, id)| is_file(*id));
        for (fd, (path, _)) in (0..).zip(paths) {
            files.open.opened(Fd(fd), &path, WriteMethod::Plain);
        }
        for (path, other) in second_names(&files.fs) {
            files.open.linked_path(&path, &other);
        }
        let opens = start.is_open() && self.opens_directories;
        let is_directory = |id| opens && files.fs.is_directory(id);
        let paths = files.fs.paths().into_iter().filter(|(_, id)| is_directory(*id));
        for (fd, (path, _)) in (DIRECTORIES..).zip(paths) {
            files.open.opened_directory(Fd(fd), &path);
        }
        (Counter::new(self.alphabet, start, limits, most), files)
    }

    /// Makes a call on files and on the model. Returns false if the file system does not support
    /// the call.
    fn make(&mut self, call: &TopologyCall, files: &dyn Files) -> Result<bool, CheckError> {
        self.state.writes += u32::from(call.writes());
        let bytes = call.bytes(&self.state.fs, self.state.writes);
        let calls = call.calls(&bytes);
        let mut session = Session::resume(files, std::mem::take(&mut self.open));
        let made = calls.iter().try_for_each(|call| session.make(call));
        self.open = session.leave();
        match made {
            Ok(()) => {
                calls.iter().for_each(|call| self.step(|| WorkloadStep::Call(call.clone())));
                self.follow(&calls);
                Ok(true)
            }
            // Some file systems have no links.
            Err(errno) if call.is_refused(errno) => Ok(false),
            Err(errno) => Err(CheckError::broken(format!("{}: {errno}", call.name()))),
        }
    }

    /// Applies calls that have succeeded to the model.
    fn follow(&mut self, calls: &[FsCall]) {
        let mut fs = self.state.fs.clone();
        for call in calls {
            self.renamed.now.follow(&fs, call);
            fs.apply(call);
        }
        self.renamed.begin();
        self.state.follow_calls(calls);
        // Nothing is promised about a file that has lost its last name.
        self.state.fs.nameless_mut().clear();
        self.state.history.begin();
        // A crash can come before a write has returned that is synced.
        for call in calls {
            if By::of_write(call).is_some_and(|by| self.state.counts(by)) {
                self.state.history.now.end(&self.state.fs, call);
            }
        }
    }

    /// Forces something, or nothing. A sync that fails promises nothing, and the workload goes on.
    fn force(&mut self, call: &FsCall, files: &dyn Files) {
        let mut session = Session::resume(files, std::mem::take(&mut self.open));
        let forced = session.make(call);
        self.open = session.leave();
        if forced.is_ok() {
            self.step(|| WorkloadStep::Call(call.clone()));
        }
        if forced.is_ok() && By::of(call).is_some_and(|by| self.state.counts(by)) {
            self.state.history.now.force(&self.state.fs, call);
            if By::of(call) == Some(By::Sync) {
                self.renamed.now.sync(&self.state.fs);
            }
        }
    }
}

/// Returns the methods of writes for which each file stays open.
fn open_methods(calls: Groups) -> impl Iterator<Item = WriteMethod> {
    let flagged = [
        (Group::Append, &[WriteMethod::Appended][..]),
        (Group::Direct, &[WriteMethod::Direct]),
        (Group::OSync, &[WriteMethod::Synced, WriteMethod::DataSynced]),
    ];
    let flagged = flagged.into_iter().filter(move |(group, _)| calls.has(*group));
    [WriteMethod::Plain].into_iter().chain(flagged.flat_map(|(_, methods)| methods.iter().copied()))
}

/// Returns each pair of names that a file has.
fn second_names(fs: &Abstract) -> impl Iterator<Item = (String, String)> {
    let paths = fs.paths().into_iter().filter(|(_, id)| fs.is_file(*id));
    let pairs = paths.permutations(2).filter(|pair| pair[0].1 == pair[1].1);
    pairs.map(|pair| (pair[0].0.clone(), pair[1].0.clone()))
}

/// Returns true if the profile of a stack keeps the promise about renamed files. Without a profile
/// nothing is known of its renames.
fn keeps_moved(stack: &Stack) -> bool {
    let keeps = |line: &Promise| line.kept && line.name == MOVED;
    stack.profile().is_some_and(|profile| profile.promises.iter().any(keeps))
}

/// Returns the name of a way of forcing in traces.
fn forcing_name(forcing: &Option<FsCall>) -> String {
    forcing.as_ref().map_or_else(|| "force nothing".to_owned(), ToString::to_string)
}

impl Checker for Workloads {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.state.limits.calls = self.state.limits.calls.without_all(stack.unsupported_calls());
        self.state.excluded = stack.excluded();
        self.keeps_moved = keeps_moved(stack);
        self.opens_directories = stack.files()?.can(FsAbility::OpenDirectory);
        if !stack.has_clock() {
            self.time = &[false];
        }
        if self.start.is_some() {
            self.step(|| WorkloadStep::Remount);
            let files = stack.files()?;
            return self.open_all(files.as_ref());
        }
        if stack.starts_populated() {
            self.starts = vec![Start::AsMade];
            self.state.fs = begin(stack, self.state.limits.calls)?;
            self.state.history.now = History::stable(&self.state.fs);
            self.state.history.begin();
            self.renamed.now.sync(&self.state.fs);
            self.renamed.begin();
        }
        // Without sync a tree is committed by the unmount.
        let syncs = self.state.counts(By::Sync);
        self.starts.retain(|start| syncs || !start.is_committed() || start.is_remounted());
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let Some(start) = self.start else { return self.begin(cx) };
        self.pass_time(cx)?;
        let files = cx.stack().files()?;
        let Reasonable { fs, free, limits, .. } = &self.state;
        let new = |id| free.next(fs, id);
        let calls = self.alphabet.calls(fs, start, &self.open, limits, &new);
        let calls = self.subset.of_calls(calls);
        let names: Vec<String> = calls.iter().map(TopologyCall::name).collect();
        let point = ChoicePoint::action(calls.len() as u32, Label::named(NAME));
        let call = &calls[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        let before: Abstract = fs.clone();
        self.step(|| WorkloadStep::Begin);
        cx.check_crashes_start(&[]);
        if !self.make(call, files.as_ref())? {
            return Err(CheckError::Stop);
        }
        let forcings = self.alphabet.forcings(call, &before, &self.state.fs, &self.open);
        let forcings = self.subset.of_forcings(forcings);
        let names: Vec<String> = forcings.iter().map(forcing_name).collect();
        let label = Label::named("fs-workloads force");
        let point = ChoicePoint::action(forcings.len() as u32, label);
        let forcing = &forcings[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        if let Some(call) = forcing {
            self.force(call, files.as_ref());
        }
        self.follower.as_mut().map_or(Ok(()), Follower::compute)?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let (files, history) = (stack.files()?, self.state.history.at(epoch));
        self.state.judge_files(files.as_ref(), history)?;
        if self.keeps_moved {
            self.renamed.at(epoch).judge(files.as_ref(), &self.state.fs, history)?;
        }
        self.follower.as_ref().map_or(Ok(()), |follower| follower.judge(files.as_ref(), epoch))
    }

    /// Closes the open files, which would keep the file system busy.
    fn finish(&mut self, stack: &Stack) -> Result<(), StepError> {
        let files = stack.files()?;
        drop(Session::resume(files.as_ref(), std::mem::take(&mut self.open)));
        Ok(())
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        if self.counts_seen {
            // A check that another workload has made would not be seen.
            return None;
        }
        let states = self.follower.as_ref().map(Follower::states);
        Some(digest((&self.state.fs, &self.state.history, &self.renamed, states)))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        let calls = self.state.limits.calls;
        let attributes = words::OF_ATTRIBUTES.into_iter().filter(|_| calls.are_of_attributes());
        let moved = keeps_moved(stack).then_some(MOVED);
        let of_model = self.follower.is_some().then_some(OF_MODEL);
        let promises = words::WORDS.into_iter().chain(attributes).chain(moved).chain(of_model);
        Ok(CheckerFacts::default().promises(promises).populated_ok())
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        let remounts = self.start.is_some_and(Start::is_remounted);
        let abilities = CheckerAbilities::default().demands(self).topology(self);
        let abilities = abilities.remounts(remounts).probe(self);
        let abilities = if self.counts_seen { abilities.tallies(self) } else { abilities };
        if self.swarm { abilities } else { abilities.forecast(self) }
    }
}

impl Tallies for Workloads {
    fn tallies(&self) -> Vec<(&'static str, &'static str, ExactCount)> {
        let Some((possible, seen)) = self.follower.as_ref().and_then(Follower::seen) else {
            return Vec::new();
        };
        [("workloads", 1), ("possible", possible), ("seen", seen)]
            .map(|(name, count)| ("states", name, ExactCount::from(count)))
            .into()
    }
}

impl Forecast for Workloads {
    fn mutates(&self, depth: u32) -> Vec<ExactCount> {
        // A tree that is mounted again has the same workloads, so they are counted once.
        let starts = self.starts.iter().map(|start| start.before_remount()).counts();
        let mut counters: Vec<_> = starts
            .into_iter()
            .map(|(start, times)| (self.counter(start, MOST_COUNTED), times as u128))
            .collect();
        let mut all = vec![ExactCount::from(self.starts.len() as u64)];
        for calls in 1..depth {
            let counts = counters
                .iter_mut()
                .map(|((counter, files), times)| Some(counter.count(files, calls)? * *times));
            let Some(count) = counts.sum::<Option<u128>>() else { break };
            let count = count * (self.time.len() as u128).pow(calls);
            all.push(ExactCount(count.into()));
            if depth == NO_DEPTH && count > ENOUGH {
                break;
            }
        }
        all
    }
}

impl Probe for Workloads {
    fn probe(&self, stack: &Stack) -> Result<Vec<String>, StepError> {
        let missing = probe(stack.files()?.as_ref(), self.state.limits.calls)?;
        Ok(missing.into_iter().map(str::to_owned).collect())
    }
}

impl Topology for Workloads {
    fn topology(&self) -> Vec<u8> {
        topology::signature(&self.state.fs)
    }
}

impl Demands for Workloads {
    fn demands(
        &self,
        epoch: Epoch,
        _args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        if violation.promise == MOVED {
            let history = self.state.history.at(epoch);
            return Some(self.renamed.at(epoch).demands(&self.state.fs, history));
        }
        demands::demands(
            &self.state.fs,
            self.state.history.at(epoch),
            self.state.limits.calls,
            violation,
        )
    }
}
