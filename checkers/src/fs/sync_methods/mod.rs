//! Each method of making changes durable keeps its promise (EX-101, EX-117). A run uses one method,
//! after every call of the generic core.
//!
//! mutate makes one of the eight system calls on one node of the tree
//! ([`topology`](super::topology)), and compares the file system with the abstract one (EX-98),
//! which begins with the tree that the stack begins with. Then it forces the change by the method
//! that the option `way` names, and checks every disk that a crash could leave right then. The
//! check includes all data that was forced before and not changed since.
//!
//! # The promises of each method
//!
//! | way | after the call | must be there |
//! | --- | --- | --- |
//! | `sync`, `syncfs` | sync(2), syncfs(2) | everything (sync(2), NOTES) |
//! | `fsync` | fsync of the changed file or directory, and of every directory on its path, the old and the new one | everything: no call changes anything else (fsync(2)) |
//! | `fsync-dir` | fsync of the directories whose names were changed; also of a new node, once, because its name leads to it only then | names, not contents (fsync(2)) |
//! | `fdatasync` | fdatasync of a file that was written or resized | its contents; it may be longer than it should be (fsync(2)) |
//! | `o-sync`, `o-dsync` | nothing: files are opened with the flag, which applies to writes and not to ftruncate | as after fsync, fdatasync (open(2)) |
//! | `msync` | data is stored through a shared mapping; msync of it with `MS_SYNC` | the stored data (POSIX, msync) |
//! | `mount-sync` | nothing: the file system is mounted with `-o sync` | everything (mount(8), sync); according to mount(2) the written data |
//!
//! Modes and extended attributes are part of everything (fsync(2): "also flushes the metadata
//! information associated with the file"; inode(7), xattr(7)), and fdatasync leaves them out. A
//! symbolic link cannot be opened for fsync, so only `sync`, `syncfs` and `mount-sync` promise it.
//! The effects of fallocate and of clones are part of the contents. `o-sync`, `o-dsync` and `msync`
//! do not apply to them. A group of calls to which a method does not apply is left out, and
//! reported as left out.
//!
//! `fdatasync`, `o-sync`, `o-dsync` and `msync` promise only contents. With them names are made
//! durable as with `fsync`, and only files are checked. Link counts, times, the contents of
//! `lost+found` and names that were never made are not checked here, but by `fs-reasonable`.
//!
//! The words of the promises are those of `fs-sync`, and also `synced-by-syncfs`, `-o-sync`,
//! `-o-dsync`, `-msync`, `-mount-sync`, and `metadata-synced-by-mount-sync` (names, and sizes set
//! by ftruncate). `partly-...` stands for a file that was resized since and not synced.
//! `call-has-its-effect` is broken if the file system differs from the abstract one without a
//! crash.

mod forced;
mod method;

use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Probe, Topology, Unsupported,
};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, ExcludedPromises, ShellDemand, Violation};

use super::from_tree::FromTree;
use super::model::SyncCall as By;
use super::model::promise::{self, PathPromise};
use super::model::{Abstract, CALLS, Groups};
use super::start::Start;
use super::started::{START, Started};
use super::topology::{
    DIRS, FAR, FILES, Limits, TopologyCall, begin, is_as_expected, probe, signature,
};
use forced::Forced;
use method::SyncMethod;

/// The name in the registry.
pub const NAME: &str = "fs-ways";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "what was made durable one way (sync, fsync, O_SYNC, ...) is there after every crash, on \
         every small tree",
        build,
    )
    .options([
        OptionDef {
            name: "way",
            about: "sync method: sync, syncfs, fsync, fdatasync, o-sync, o-dsync, msync, \
                    fsync-dir, \
                    mount-sync",
            default: "sync",
        },
        FILES,
        DIRS,
        FAR,
        CALLS,
        START,
    ])
}

/// The tree, and its forced part.
#[derive(Clone, Debug)]
struct SyncMethods {
    method: SyncMethod,
    /// The calls that the options name.
    selected: Groups,
    limits: Limits,
    /// True if `init` has run. The state continues after a chop.
    begun: bool,
    fs: Abstract,
    /// The number of writes so far.
    writes: u32,
    forced: Forced,
    /// The forced part without excluded promises. `None` if the profile excludes none.
    kept: Option<Forced>,
    excluded: ExcludedPromises,
    /// The promises that must be kept, and all promises if the profile excludes some.
    promises: Vec<PathPromise>,
    others: Option<Vec<PathPromise>>,
}

/// Returns the words for data that this method makes durable, wholly or partly, and the words by
/// which another check reports a loss by this method.
pub(crate) fn words(method: &str) -> Vec<&'static str> {
    let fsynced: &[&str] = if method == "fsync" {
        &["fsync-has-its-effect", "fsync-has-its-effect-on-disk"]
    } else {
        &[]
    };
    own_words(method).into_iter().chain(fsynced.iter().copied()).collect()
}

/// Returns the words for data that this method makes durable, wholly or partly.
pub(crate) fn own_words(method: &str) -> Vec<&'static str> {
    let found = SyncMethod::ALL.iter().find(|(name, _)| *name == method);
    found.map_or_else(Vec::new, |(_, method)| By::words(method.durable()))
}

/// Returns the words by which other checks report a loss of data that this method, or another one,
/// has forced. `fs-reasonable` and `fs-moved` force by sync, fsync and msync and use one word for
/// all. `fs-failures` finds losses of data that was synced before.
pub(crate) fn doubts(method: &str) -> Vec<&'static str> {
    const NAMES: [&str; 2] = ["flushed-name", "deleted-name"];
    const FILES: [&str; 2] = ["flushed-contents", "flushed-attributes"];
    const CALLS: [&str; 8] = [
        "mkdir-has-its-effect-on-disk",
        "create-has-its-effect-on-disk",
        "write-has-its-effect-on-disk",
        "rename-has-its-effect-on-disk",
        "truncate-has-its-effect-on-disk",
        "link-has-its-effect-on-disk",
        "unlink-has-its-effect-on-disk",
        "rmdir-has-its-effect-on-disk",
    ];
    match method {
        "sync" | "syncfs" => [&NAMES[..], &FILES, &CALLS].concat(),
        "fsync" => [NAMES, FILES].concat(),
        "fsync-dir" => NAMES.to_vec(),
        "msync" => vec!["flushed-contents"],
        _ => Vec::new(),
    }
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let method = options.one_of("way", &SyncMethod::ALL)?;
    let mut limits = Limits::of(options)?;
    let selected = limits.calls;
    limits.calls = limits.calls & method.groups();
    let checker = SyncMethods {
        method,
        selected,
        limits,
        begun: false,
        fs: Abstract::new(),
        writes: 0,
        forced: Forced::default(),
        kept: None,
        excluded: ExcludedPromises::default(),
        promises: Vec::new(),
        others: None,
    };
    Ok(Box::new(Started::new(NAME, checker, options)?))
}

impl Checker for SyncMethods {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.limits.calls = self.limits.calls.without_all(stack.unsupported_calls());
        self.excluded = stack.excluded();
        self.kept = By::is_any_in(&self.excluded).then(|| Forced::without(self.excluded.clone()));
        self.fs = begin(stack, self.limits.calls)?;
        for forced in std::iter::once(&mut self.forced).chain(&mut self.kept) {
            forced.begin(self.method, &self.fs, false);
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        let calls = TopologyCall::possible(&self.fs, &self.limits);
        if calls.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = calls.iter().map(TopologyCall::name).collect();
        let point = ChoicePoint::action(calls.len() as u32, Label::named(NAME));
        let call = &calls[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        self.writes += u32::from(call.writes());
        let bytes = call.bytes(&self.fs, self.writes);
        match call.make(files.as_ref(), &bytes, self.method.write()) {
            Ok(()) => call.apply(&mut self.fs, &bytes),
            // Some file systems have no links.
            Err(errno) if call.is_refused(errno) => return Ok(()),
            Err(errno) => return Err(CheckError::broken(format!("{}: {errno}", call.name()))),
        }
        cx.without_faults(|_| is_as_expected(files.as_ref(), &self.fs, call, self.limits.calls))?;
        self.method.force(files.as_ref(), &self.fs, call)?;
        self.forced.follow(self.method, &self.fs, call);
        let all = self.forced.promises(self.method, &self.fs, self.limits.calls);
        let left_alone = all.is_empty();
        (self.promises, self.others) = match &mut self.kept {
            Some(kept) => {
                kept.follow(self.method, &self.fs, call);
                (kept.promises(self.method, &self.fs, self.limits.calls), Some(all))
            }
            None => (all, None),
        };
        if left_alone { Ok(()) } else { cx.check_crashes_now(self, &[]) }
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let files = stack.files()?;
        promise::judge(files.as_ref(), &self.promises, self.others.as_deref(), &self.excluded)
    }

    /// Returns no signature if anything is left unforced, because that is part of the state as
    /// well.
    fn get_sig(&self) -> Option<Vec<u8>> {
        self.method.forces_everything(self.limits.calls).then(|| signature(&self.fs))
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(promise::check_key(&self.promises, self.others.as_deref()))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        self.method.supported(stack.files()?.as_ref())?;
        Ok(CheckerFacts::default().promises(self.method.promises()).populated_ok())
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        let abilities = CheckerAbilities::default().demands(self).topology(self);
        if self.selected.need_a_probe() { abilities.probe(self) } else { abilities }
    }
}

impl FromTree for SyncMethods {
    fn tree(&self) -> &Abstract {
        &self.fs
    }

    fn limits_mut(&mut self) -> &mut Limits {
        &mut self.limits
    }

    fn promises_sync(&self) -> bool {
        !self.excluded.contains(By::Sync.synced())
    }

    fn writes_mut(&mut self) -> &mut u32 {
        &mut self.writes
    }

    fn made(&mut self, call: &TopologyCall, bytes: &[u8]) {
        call.apply(&mut self.fs, bytes);
    }

    fn committed(&mut self, start: Start) {
        for forced in std::iter::once(&mut self.forced).chain(&mut self.kept) {
            forced.begin(self.method, &self.fs, !start.is_remounted());
        }
    }
}

impl Probe for SyncMethods {
    fn probe(&self, stack: &Stack) -> Result<Vec<String>, StepError> {
        let calls = self.selected;
        let words = calls.each().map(|(word, _)| word);
        let not_its = words.filter(|word| self.limits.calls.without(word) == self.limits.calls);
        let missing = probe(stack.files()?.as_ref(), self.limits.calls)?;
        Ok(not_its.chain(missing).map(str::to_owned).collect())
    }
}

impl Topology for SyncMethods {
    fn topology(&self) -> Vec<u8> {
        signature(&self.fs)
    }
}

impl Demands for SyncMethods {
    fn demands(
        &self,
        _epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        Some(self.promises.iter().flat_map(PathPromise::demands).collect())
    }
}
