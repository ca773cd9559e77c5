//! The states that a crash of simulated files can leave after the calls of a workload.
//!
//! A [`Follower`] repeats the calls on simulated files with a model, and computes every crash disk
//! of the last interval. Each state of the checked file system must be one of theirs: otherwise the
//! model excludes a state that the file system shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use explode_ramdisk::files::{
    FileKind, FileModel, Files, FsCall, Granule, OpenFiles, OpenFlags, Session, WriteMethod,
};
use explode_ramdisk::{Event, Image, Recording, SimFiles, Storage};
use explode_runtime::crash::{Epoch, Instants, SampleLimits, SampleSeed, walk};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use explode_runtime::writeset::{DeviceRules, WriteSet};
use nix::errno::Errno;
use xxhash_rust::xxh3::Xxh3;

/// The promise that each state is one of the model.
pub const OF_MODEL: &str = "state-of-model";

/// The number of crash disks of an interval that are computed at most.
const MOST_DISKS: u64 = 200_000;

/// The files and directories that a workload keeps open.
#[derive(Clone, Debug, Default)]
pub struct KeptOpen {
    /// The files, each with a method of writing.
    pub files: Vec<(String, WriteMethod)>,
    /// The paths of files, each with a second name.
    pub second_names: Vec<(String, String)>,
    /// The directories.
    pub directories: Vec<String>,
}

impl KeptOpen {
    /// Opens all of them. The error names the path.
    pub fn open(&self, files: &dyn Files) -> Result<OpenFiles, (String, Errno)> {
        let mut session = Session::new(files);
        for (path, method) in &self.files {
            session.open_for(path, *method).map_err(|errno| (path.clone(), errno))?;
        }
        for (path, other) in &self.second_names {
            session.linked_path(path, other);
        }
        for path in &self.directories {
            session.open_directory(path).map_err(|errno| (path.clone(), errno))?;
        }
        Ok(session.leave())
    }
}

/// A step of a workload.
#[derive(Clone, Debug)]
pub enum WorkloadStep {
    /// A call that has succeeded.
    Call(FsCall),
    /// A call of sync(2).
    Sync,
    /// Files are opened and stay open. They were closed before.
    Open(KeptOpen),
    /// The files are unmounted and mounted again.
    Remount,
    /// The interval whose crashes are checked begins.
    Begin,
}

/// The states of a model after the calls of a workload.
#[derive(Clone, Debug)]
pub struct Follower {
    model: FileModel,
    steps: Vec<WorkloadStep>,
    states: Rc<States>,
}

/// The states of an interval by epoch, as hashes.
type States = BTreeMap<Epoch, BTreeSet<u128>>;

impl Follower {
    /// Returns the follower of a workload that has not begun.
    pub fn new(model: FileModel) -> Follower {
        Follower { model, steps: Vec::new(), states: Rc::default() }
    }

    /// Adds a step.
    pub fn step(&mut self, step: WorkloadStep) {
        self.steps.push(step);
    }

    /// Computes the states that a crash from the last [`WorkloadStep::Begin`] on can leave.
    pub fn compute(&mut self) -> Result<(), CheckError> {
        self.states = Rc::new(self.states()?);
        Ok(())
    }

    /// Returns a hash of the computed states.
    pub fn key(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.states.hash(&mut hasher);
        hasher.finish()
    }

    fn states(&self) -> Result<States, CheckError> {
        let mut run = ModelRun::new(self.model)?;
        for step in &self.steps {
            run.step(step).map_err(|errno| {
                CheckError::broken(format!("model {}: {step:?}: {errno}", self.model))
            })?;
        }
        run.states()
    }

    /// Checks that the model has the state of these files.
    pub fn judge(&self, files: &dyn Files, epoch: Epoch) -> Result<(), CheckError> {
        let nodes = nodes(files)
            .map_err(|errno| CheckError::broken(format!("the files cannot be read: {errno}")))?;
        let state = hash(&nodes);
        // An event of the file system may lie between two events of the model.
        let has = |epoch: &Epoch| self.states.get(epoch).is_some_and(|all| all.contains(&state));
        let is_possible = match epoch {
            Epoch::InBetween => self.states.keys().any(has),
            epoch => has(&epoch),
        };
        if is_possible {
            return Ok(());
        }
        let states = self.states.values().map(BTreeSet::len).max().unwrap_or(0);
        let text = format!(
            "none of the {states} states of the model {} is {}",
            self.model,
            describe(&nodes)
        );
        Err(Violation::new(Verdict::Corrupt, OF_MODEL, text).into())
    }
}

/// Simulated files with the open files of a workload, and the log of both.
struct ModelRun {
    model: FileModel,
    storage: Storage,
    files: SimFiles,
    open: OpenFiles,
    write_set: WriteSet,
    log: Vec<Event>,
}

impl ModelRun {
    fn new(model: FileModel) -> Result<ModelRun, CheckError> {
        let storage = Storage::new(Image::new(), Recording::On);
        let files = mount(model, storage.clone())
            .map_err(|errno| CheckError::broken(format!("simulated files: {errno}")))?;
        let write_set = WriteSet::new(Image::new(), DeviceRules::default());
        let open = OpenFiles::default();
        Ok(ModelRun { model, storage, files, open, write_set, log: Vec::new() })
    }

    fn step(&mut self, step: &WorkloadStep) -> Result<(), Errno> {
        match step {
            WorkloadStep::Call(call) => {
                let mut session = Session::resume(&self.files, std::mem::take(&mut self.open));
                let made = session.make(call);
                self.open = session.leave();
                made?;
            }
            WorkloadStep::Sync => self.files.sync()?,
            WorkloadStep::Open(kept) => {
                drop(Session::resume(&self.files, std::mem::take(&mut self.open)));
                self.open = kept.open(&self.files).map_err(|(_, errno)| errno)?;
            }
            WorkloadStep::Remount => {
                drop(Session::resume(&self.files, std::mem::take(&mut self.open)));
                self.files.sync()?;
                self.follow(true);
                self.files = mount(self.model, self.storage.clone())?;
            }
            WorkloadStep::Begin => self.follow(true),
        }
        self.follow(false);
        Ok(())
    }

    /// Takes the events of the log, and applies them if an interval begins or the files are synced.
    fn follow(&mut self, begins: bool) {
        self.log.extend(self.storage.take_log());
        if begins {
            for event in self.log.drain(..) {
                self.write_set.apply(&event).expect("simulated files log what they do");
            }
        }
    }

    fn states(mut self) -> Result<States, CheckError> {
        let seed = SampleSeed { seed: 0, choices: 0, interval: 0 };
        let limits = SampleLimits { limit: MOST_DISKS, samples: 2, seed };
        let mut states = States::new();
        let mut wrong = None;
        let counts = walk(&mut self.write_set, &self.log, Instants::Interval, &limits, |disk| {
            match state(self.model, disk.image()) {
                Ok(state) => disk.epochs().iter().for_each(|epoch| {
                    states.entry(epoch).or_default().insert(state);
                }),
                Err(errno) => wrong = Some(errno),
            }
        });
        let counts = counts.map_err(|error| CheckError::broken(error.to_string()))?;
        if let Some(errno) = wrong {
            return Err(CheckError::broken(format!("a crash disk of the model: {errno}")));
        }
        if counts.left_out > 0u32.into() {
            let text = format!("more than {MOST_DISKS} crash disks of the model; use fewer calls");
            return Err(CheckError::broken(text));
        }
        Ok(states)
    }
}

fn mount(model: FileModel, storage: Storage) -> Result<SimFiles, Errno> {
    SimFiles::mount_as(model, storage, 0, Granule::default())
}

/// Returns the state of a crash disk.
fn state(model: FileModel, image: Image) -> Result<u128, Errno> {
    let files = mount(model, Storage::new(image, Recording::Off))?;
    Ok(hash(&nodes(&files)?))
}

/// A node as calls see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Symlink(String),
    /// A file with its first path and its contents.
    File(String, Vec<u8>),
}

/// The directory in which a repair puts what it finds. It is not a node of a workload.
const LOST_FOUND: &str = "/lost+found";

/// Returns all nodes by path.
fn nodes(files: &dyn Files) -> Result<BTreeMap<String, Node>, Errno> {
    let mut nodes = BTreeMap::new();
    let mut first_paths: BTreeMap<u32, String> = BTreeMap::new();
    let mut unread = vec![String::new()];
    while let Some(directory) = unread.pop() {
        let at = if directory.is_empty() { "/" } else { &directory };
        let mut entries = files.readdir(at)?;
        entries.sort();
        for (name, kind) in entries {
            let path = format!("{directory}/{name}");
            if path == LOST_FOUND {
                continue;
            }
            let node = match kind {
                FileKind::Directory => Node::Directory,
                FileKind::Symlink => Node::Symlink(files.readlink(&path)?),
                FileKind::File => {
                    let stat = files.stat(&path)?;
                    let mut bytes = vec![0; stat.size as usize];
                    let fd = files.open(&path, OpenFlags::EXISTING)?;
                    let read = files.pread(fd, 0, &mut bytes);
                    files.close(fd)?;
                    bytes.truncate(read?);
                    first_paths
                        .entry(stat.inode)
                        .and_modify(|first| *first = path.clone().min(first.clone()))
                        .or_insert_with(|| path.clone());
                    Node::File(stat.inode.to_string(), bytes)
                }
            };
            if node == Node::Directory {
                unread.push(path.clone());
            }
            nodes.insert(path, node);
        }
    }
    for node in nodes.values_mut() {
        if let Node::File(of, _) = node {
            let first = of.parse().ok().and_then(|inode| first_paths.get(&inode));
            *of = first.cloned().unwrap_or_default();
        }
    }
    Ok(nodes)
}

fn hash(nodes: &BTreeMap<String, Node>) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(format!("{nodes:?}").as_bytes());
    hasher.digest128()
}

/// Returns the nodes in words: each path with its size and the first bytes of its blocks.
fn describe(nodes: &BTreeMap<String, Node>) -> String {
    let mut text = String::new();
    for (path, node) in nodes {
        let separator = if text.is_empty() { "" } else { "; " };
        let wrote = match node {
            Node::Directory => write!(text, "{separator}{path}/"),
            Node::Symlink(target) => write!(text, "{separator}{path} -> {target}"),
            Node::File(first, _) if first != path => write!(text, "{separator}{path} = {first}"),
            Node::File(_, bytes) => {
                let starts: Vec<u8> = bytes.iter().step_by(4096).copied().collect();
                write!(text, "{separator}{path} {} bytes {starts:?}", bytes.len())
            }
        };
        wrote.expect("a String takes all");
    }
    if text.is_empty() { "an empty tree".to_owned() } else { text }
}
