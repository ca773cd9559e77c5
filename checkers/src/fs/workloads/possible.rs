//! The states that a crash of simulated files can leave after the calls of a workload.
//!
//! A [`Follower`] repeats the calls on simulated files with a model, and computes every crash disk
//! of the last interval. Each state of the checked file system must be one of theirs: otherwise the
//! model excludes a state that the file system shows.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use explode_ramdisk::files::{
    FileKind, FileModel, Files, FsCall, Granule, OpenFiles, Session, WriteMethod,
};
use explode_ramdisk::{Event, Image, Recording, SimFiles, Storage};
use explode_runtime::crash::{Epoch, Instants, SampleLimits, SampleSeed, walk};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use explode_runtime::writeset::{DeviceRules, WriteSet};
use nix::errno::Errno;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

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
    /// The states that were judged since they were computed.
    seen: RefCell<BTreeSet<u128>>,
}

/// The states of an interval by epoch, as hashes.
pub type States = BTreeMap<Epoch, BTreeSet<u128>>;

impl Follower {
    /// Returns the follower of a workload that has not begun.
    pub fn new(model: FileModel) -> Follower {
        let seen = RefCell::default();
        Follower { model, steps: Vec::new(), states: Rc::default(), seen }
    }

    /// Adds a step.
    pub fn step(&mut self, step: WorkloadStep) {
        self.steps.push(step);
    }

    /// Computes the states that a crash from the last [`WorkloadStep::Begin`] on can leave.
    pub fn compute(&mut self) -> Result<(), CheckError> {
        self.states = Rc::new(self.all_states()?);
        self.seen = RefCell::default();
        Ok(())
    }

    /// Returns the number of computed states, and of those that were judged since. `None` if none
    /// are computed.
    pub fn seen(&self) -> Option<(u64, u64)> {
        let possible: BTreeSet<u128> = self.states.values().flatten().copied().collect();
        let seen = self.seen.borrow().len() as u64;
        (!possible.is_empty()).then_some((possible.len() as u64, seen))
    }

    /// Returns the computed states.
    pub fn states(&self) -> &States {
        &self.states
    }

    fn all_states(&self) -> Result<States, CheckError> {
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
            self.seen.borrow_mut().insert(state);
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
            WorkloadStep::Open(kept) => {
                drop(Session::resume(&self.files, std::mem::take(&mut self.open)));
                self.open = kept.open(&self.files).map_err(|(_, errno)| errno)?;
            }
            WorkloadStep::Remount => {
                drop(Session::resume(&self.files, std::mem::take(&mut self.open)));
                self.files.sync()?;
                self.files = mount(self.model, self.storage.clone())?;
            }
            WorkloadStep::Begin => self.follow(true),
        }
        self.follow(false);
        Ok(())
    }

    /// Takes the events of the log. If an interval begins now, they are before it.
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
    // Files by path, each with its inode.
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    let mut unread = vec![String::new()];
    while let Some(directory) = unread.pop() {
        let at = if directory.is_empty() { "/" } else { &directory };
        for (name, kind) in files.readdir(at)? {
            let path = format!("{directory}/{name}");
            match kind {
                FileKind::Directory if path == LOST_FOUND => {}
                FileKind::Directory => {
                    unread.push(path.clone());
                    nodes.insert(path, Node::Directory);
                }
                FileKind::Symlink => {
                    let target = files.readlink(&path)?;
                    nodes.insert(path, Node::Symlink(target));
                }
                FileKind::File => {
                    found.insert(path.clone(), files.stat(&path)?.inode);
                }
            }
        }
    }
    let mut first_paths: BTreeMap<u32, &str> = BTreeMap::new();
    for (path, inode) in &found {
        let first = *first_paths.entry(*inode).or_insert(path);
        nodes.insert(path.clone(), Node::File(first.to_owned(), files.read_file(path)?));
    }
    Ok(nodes)
}

fn hash(nodes: &BTreeMap<String, Node>) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(format!("{nodes:?}").as_bytes());
    hasher.digest128()
}

/// Returns the nodes in words: each file with its size, the first bytes of its blocks, the start of
/// the zeroes at its end, and a hash of its contents.
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
                let zeroes = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let (size, hash) = (bytes.len(), xxh3_64(bytes) as u32);
                write!(
                    text,
                    "{separator}{path} {size} bytes {starts:?}, zeroes from {zeroes} on, contents \
                     {hash:08x}"
                )
            }
        };
        wrote.expect("a String takes all");
    }
    if text.is_empty() { "an empty tree".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::files::OpenFlags;

    use super::*;

    const NEW: OpenFlags = OpenFlags { create: true, exclusive: true, truncate: false };

    fn create(path: &str) -> FsCall {
        FsCall::Open { path: path.to_owned(), flags: NEW }
    }

    fn write(path: &str, bytes: usize) -> FsCall {
        FsCall::pwrite(path, 0, vec![1; bytes])
    }

    fn mkdir(path: &str) -> FsCall {
        FsCall::Mkdir { path: path.to_owned() }
    }

    fn rename(from: &str, to: &str) -> FsCall {
        FsCall::Rename { from: from.to_owned(), to: to.to_owned() }
    }

    fn unlink(path: &str) -> FsCall {
        FsCall::Unlink { path: path.to_owned() }
    }

    fn truncate(path: &str, size: u64) -> FsCall {
        FsCall::Ftruncate { path: path.to_owned(), size }
    }

    fn fsync(path: &str) -> FsCall {
        FsCall::Fsync { path: path.to_owned() }
    }

    /// Returns the states in the epoch `end` after these calls, of which the first ones are synced.
    fn states(model: FileModel, synced: &[FsCall], calls: &[FsCall]) -> BTreeSet<String> {
        let mut run = ModelRun::new(model).unwrap();
        let make = |run: &mut ModelRun, calls: &[FsCall]| {
            for call in calls {
                run.step(&WorkloadStep::Call(call.clone())).unwrap();
            }
        };
        make(&mut run, synced);
        run.step(&WorkloadStep::Call(FsCall::Sync)).unwrap();
        run.step(&WorkloadStep::Begin).unwrap();
        make(&mut run, calls);
        let seed = SampleSeed { seed: 0, choices: 0, interval: 0 };
        let limits = SampleLimits { limit: MOST_DISKS, samples: 2, seed };
        let mut states = BTreeSet::new();
        let ModelRun { write_set, log, .. } = &mut run;
        walk(write_set, log, Instants::Interval, &limits, |disk| {
            if disk.epochs().contains(Epoch::End) {
                let files = mount(model, Storage::new(disk.image(), Recording::Off)).unwrap();
                states.insert(short(&nodes(&files).unwrap()));
            }
        })
        .unwrap();
        states
    }

    /// Returns the paths: directories with a slash, second names with the first one, files with
    /// their size, and `zeroes` if they hold nothing else.
    fn short(nodes: &BTreeMap<String, Node>) -> String {
        let node = |(path, node): (&String, &Node)| match node {
            Node::Directory => format!("{path}/"),
            Node::Symlink(target) => format!("{path}->{target}"),
            Node::File(first, _) if first != path => format!("{path}={first}"),
            Node::File(_, bytes) if !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0) => {
                format!("{path} {} zeroes", bytes.len())
            }
            Node::File(_, bytes) => format!("{path} {}", bytes.len()),
        };
        nodes.iter().map(node).collect::<Vec<_>>().join(", ")
    }

    /// A state that `posix` has after these calls and that other models exclude.
    struct Excluded {
        synced: Vec<FsCall>,
        calls: Vec<FsCall>,
        state: &'static str,
        by: &'static [FileModel],
        source: &'static str,
    }

    const ALL: &[FileModel] = &[FileModel::Ext4, FileModel::Xfs, FileModel::Btrfs];
    const BOTH: &[FileModel] = &[FileModel::Ext4, FileModel::Xfs];
    const ORDER: &str = "jbd2_journal_commit_transaction; xlog_cil_push_work; \
                         btrfs_commit_transaction";
    const ONE: &str = "one handle (ext4_journal_start); one transaction (xfs_trans_commit; \
                       btrfs_start_transaction)";
    const FSYNC: &str = "ext4_fsync_journal; xfs_fsync_flush_log; btrfs_log_inode_parent";

    fn excluded() -> Vec<Excluded> {
        let row = |synced: &[FsCall], calls: &[FsCall], state, by, source| Excluded {
            synced: synced.to_vec(),
            calls: calls.to_vec(),
            state,
            by,
            source,
        };
        let file = [create("/a"), write("/a", 4096)];
        let exchange = FsCall::Exchange { from: "/a".to_owned(), to: "/b".to_owned() };
        let link = FsCall::Link { from: "/a".to_owned(), to: "/b".to_owned() };
        let symlink = FsCall::Symlink { target: "t".to_owned(), path: "/s".to_owned() };
        let rmdir = FsCall::Rmdir { path: "/d".to_owned() };
        let two = [create("/a"), create("/b"), write("/b", 1)];
        let fsync_b = [create("/a"), create("/b"), fsync("/b")];
        vec![
            row(&[], &[mkdir("/a"), mkdir("/b")], "/b/", ALL, ORDER),
            row(&file, &[rename("/a", "/b")], "/a 4096, /b=/a", ALL, ONE),
            row(&file, &[rename("/a", "/b")], "", ALL, ONE),
            row(&two, &[rename("/b", "/a")], "/a 1, /b=/a", ALL, ONE),
            row(&two, &[exchange], "/a 1, /b=/a", ALL, ONE),
            row(&file, &[link, unlink("/a")], "", ALL, ORDER),
            row(&file, &[unlink("/a"), create("/b")], "/a 4096, /b 0", ALL, ORDER),
            row(&[], &[symlink, create("/t")], "/t 0", ALL, ORDER),
            row(&[mkdir("/d")], &[rmdir, mkdir("/e")], "/d/, /e/", ALL, ORDER),
            row(&file, &[truncate("/a", 0), create("/b")], "/a 4096, /b 0", ALL, ORDER),
            row(&[], &[create("/a"), fsync("/a")], "", ALL, FSYNC),
            row(&[], &fsync_b, "/b 0", BOTH, FSYNC),
            row(
                &[create("/a")],
                &[write("/a", 4096)],
                "/a 4096 zeroes",
                &[FileModel::Xfs, FileModel::Btrfs],
                "xfs_setfilesize; btrfs_finish_one_ordered",
            ),
            row(
                &[create("/a")],
                &[mkdir("/d"), write("/a", 4096)],
                "/a 4096",
                &[FileModel::Btrfs],
                "btrfs_finish_one_ordered: new blocks are part of a transaction",
            ),
            row(
                &[create("/a")],
                &[rename("/a", "/b"), create("/a"), fsync("/a")],
                "/a 0",
                ALL,
                "add_conflicting_inode",
            ),
            row(
                &[create("/b"), write("/b", 1)],
                &[create("/a"), write("/a", 9), rename("/a", "/b")],
                "/b 0",
                &[FileModel::Ext4],
                "ext4_rename: ext4_alloc_da_blocks",
            ),
        ]
    }

    #[test]
    fn each_model_excludes_states_of_posix() {
        for Excluded { synced, calls, state, by, source } in excluded() {
            let has = |model| states(model, &synced, &calls).contains(state);
            assert!(has(FileModel::Posix), "posix lacks '{state}' after {calls:?}");
            for model in ALL {
                assert_eq!(has(*model), !by.contains(model), "{model}: '{state}', {source}");
            }
        }
    }

    /// The block at the cut is written in place. The size stays, as the truncation does.
    #[test]
    fn a_truncation_leaves_three_states() {
        let synced = [create("/a"), write("/a", 4096)];
        for model in ALL {
            let mut run = ModelRun::new(*model).unwrap();
            for call in &synced {
                run.step(&WorkloadStep::Call(call.clone())).unwrap();
            }
            run.step(&WorkloadStep::Call(FsCall::Sync)).unwrap();
            run.step(&WorkloadStep::Begin).unwrap();
            run.step(&WorkloadStep::Call(truncate("/a", 1000))).unwrap();
            let states = run.states().unwrap();
            assert_eq!(states[&Epoch::End].len(), 3, "{model}: old, zeroes from 1000 on, cut");
        }
        for model in ALL {
            let sizes = states(*model, &synced, &[truncate("/a", 1000)]);
            assert_eq!(sizes, ["/a 1000", "/a 4096"].map(str::to_owned).into(), "{model}");
        }
    }
}
