//! A replaced file is there after a crash, the old one whole or the new one whole. New contents are
//! written to a temporary file, which is forced by fsync(2) or not, and rename(2) gives it the old
//! name.
//!
//! The first call of mutate, or the start, makes `/a` and forces it and its name. Then each call
//! writes `/b`, a part of a block or a few blocks, and renames it to `/a`, or forces `/a` and its
//! name. Every disk that a crash could leave during the step and right after it is checked. `/a`
//! may be the forced version or any that has replaced it since, because no call promises that a
//! rename is durable before its directory is forced. Names are forced by fsync(2) of the directory,
//! or by sync(2) if a directory cannot be fsynced (HFS returns EINVAL).
//!
//! | promise | meaning |
//! | --- | --- |
//! | `replaced-name` | the replaced name is there, and holds one version whole if each was forced before its rename |
//! | `replaced-by-rename` | the replaced name holds one version whole, if one of them was not forced |
//! | `kind`, `readable` | it is a file and can be read |
//! | `flushed-name`, `flushed-contents` | all of this, if the file was not replaced since it was forced (fsync(2)) |
//!
//! rename(2) promises to other processes that the name is always there, and says nothing about
//! crashes. Journals of metadata promise `replaced-name`. ext3 and ext4 promise
//! `replaced-by-rename` (auto_da_alloc). The check is about these two. A profile may exclude them,
//! and also `kind` and `readable`. While a file is replaced no other promise covers its contents,
//! forced or not: the blocks of the old file may be free already while the name does not lead to
//! the new one yet. So an fsync that breaks its promise is also reported by these words. `fs-ways`
//! checks the promise of fsync alone.

use explode_ramdisk::files::{FileKind, Files, FsCall, OpenFlags, Result as FilesResult};
use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Unsupported, digest,
};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, FileContents, ShellDemand, Verdict, Violation};
use nix::errno::Errno;
use std::collections::BTreeSet;

use super::model::pattern::pattern;
use super::model::promise::is_the_machines;
use super::model::{Abstract, History, Id, Moments, make};
use super::start::Start;
use super::started::{FromFiles, START_OF_STEPS, Started};

/// The name in the registry.
pub const NAME: &str = "fs-replaced";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "a file that a rename replaces is there after a crash, the old one whole or the new one \
         whole",
        |options| Ok(Box::new(Started::new(NAME, build(options)?, options)?)),
    )
    .options([
        START_OF_STEPS,
        OptionDef {
            name: "unsynced",
            about: "also replace it by a temporary file that was not synced: true, false",
            default: "true",
        },
    ])
}

/// The promises that the check is about. Without unsynced replacements only the first.
const ABOUT: [&str; 2] = ["replaced-name", "replaced-by-rename"];
/// The other promises that the check can report.
const BESIDES: [&str; 4] = ["flushed-name", "flushed-contents", "kind", "readable"];

/// Returns the words of all promises.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    ABOUT.into_iter().chain(BESIDES)
}

/// The replaced file, and the temporary file.
const FILE: &str = "/a";
const TEMPORARY: &str = "/b";
/// The sizes of a version in bytes: a part of a block, and a few blocks.
const SIZES: [usize; 2] = [1000, 3 * 4096];

/// One call of mutate.
#[derive(Clone, Copy, Debug)]
enum ReplaceStep {
    /// Replaces the file by one of `size` bytes, which is forced before if `fsync` is true.
    Replace { size: usize, fsync: bool },
    /// Forces the file and its name.
    Force,
}

/// One version of the contents of the file.
#[derive(Clone, Debug, Hash)]
struct FileVersion {
    bytes: Vec<u8>,
    /// True if the version was forced before it got its name.
    forced: bool,
}

#[derive(Clone, Debug)]
struct Replaced {
    unsynced: bool,
    /// The number of versions written so far.
    writes: u32,
    fs: Abstract,
    history: History,
    /// The files that got their name before they were forced.
    unforced: BTreeSet<Id>,
    /// The versions that the file may hold, oldest first.
    versions: Moments<Vec<FileVersion>>,
}

fn build(options: &Options) -> Result<Replaced, UsageError> {
    let fs = Abstract::new();
    let mut history = History::default();
    history.sync(&fs);
    Ok(Replaced {
        unsynced: options.bool("unsynced", true)?,
        writes: 0,
        fs,
        history,
        unforced: BTreeSet::new(),
        versions: Moments::default(),
    })
}

impl ReplaceStep {
    fn name(self) -> String {
        match self {
            ReplaceStep::Replace { size, fsync } => {
                let fsync = if fsync { ", fsync" } else { "" };
                format!("write {size} bytes to {TEMPORARY}{fsync}, rename {TEMPORARY} {FILE}")
            }
            ReplaceStep::Force => format!("fsync {FILE}, fsync /"),
        }
    }
}

impl Replaced {
    fn possible(&self) -> Vec<ReplaceStep> {
        let methods = [true, false].into_iter().filter(|fsync| *fsync || self.unsynced);
        let replace = |fsync| SIZES.map(move |size| ReplaceStep::Replace { size, fsync });
        let force = (self.versions.now.len() > 1).then_some(ReplaceStep::Force);
        methods.flat_map(replace).chain(force).collect()
    }

    /// Returns the calls that write a new version to a path that does not exist.
    fn write(&mut self, path: &str, size: usize, fsync: bool) -> Vec<FsCall> {
        self.writes += 1;
        let flags = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
        let path = || path.to_owned();
        let mut calls = vec![FsCall::Open { path: path(), flags }];
        calls.push(FsCall::pwrite(&path(), 0, pattern('a', self.writes, 0, size)));
        calls.extend(fsync.then(|| FsCall::Fsync { path: path() }));
        calls.push(FsCall::Close { path: path() });
        calls
    }

    /// Makes calls and applies them to the model. Returns true if one of them is a sync that
    /// succeeds.
    fn make(&mut self, files: &dyn Files, calls: &[FsCall]) -> Result<bool, CheckError> {
        let mut is_synced = false;
        make(calls, files, |call| {
            is_synced |= call.is_sync();
            self.history.follow(&mut self.fs, std::slice::from_ref(call));
            self.history.force(&self.fs, call);
        })?;
        Ok(is_synced)
    }

    /// Records that the file at `path` gets the replaced name, and whether it was forced before
    /// that.
    fn named(&mut self, path: &str) {
        let is_forced = |id: &Id| self.history.file(*id).is_some_and(|it| it.forced.is_synced());
        self.unforced.extend(self.fs.find(path).filter(|id| !is_forced(id)));
    }

    /// Makes the file and forces it. Later steps rely on both syncs, so a sync that fails is an
    /// error.
    fn make_file(&mut self, files: &dyn Files) -> Result<(), CheckError> {
        let calls = self.write(FILE, SIZES[1], true);
        if !self.make(files, &calls)? {
            return Err(CheckError::broken(format!("forcing {FILE}: its fsync fails")));
        }
        self.named(FILE);
        force_names(files)
            .map_err(|errno| CheckError::broken(format!("forcing {FILE}: {errno}")))?;
        self.force_names();
        self.versions.now = self.versions();
        Ok(())
    }

    fn take(&mut self, files: &dyn Files, step: ReplaceStep) -> Result<(), CheckError> {
        match step {
            ReplaceStep::Replace { size, fsync } => {
                let calls = self.write(TEMPORARY, size, fsync);
                self.make(files, &calls)?;
                self.named(TEMPORARY);
                let (from, to) = (TEMPORARY.to_owned(), FILE.to_owned());
                self.make(files, &[FsCall::Rename { from, to }])?;
                self.versions = Moments::new(self.versions());
            }
            ReplaceStep::Force => {
                self.versions.begin();
                let path = || FILE.to_owned();
                let open = FsCall::Open { path: path(), flags: OpenFlags::EXISTING };
                let calls = [open, FsCall::Fsync { path: path() }, FsCall::Close { path: path() }];
                // A failed sync promises nothing.
                if self.make(files, &calls)? && force_names(files).is_ok() {
                    self.force_names();
                }
                self.versions.now = self.versions();
            }
        }
        Ok(())
    }

    /// Records that the names in the root were forced.
    fn force_names(&mut self) {
        self.history.force(&self.fs, &FsCall::FsyncDir { path: "/".to_owned() });
    }

    /// Returns the versions that the name may lead to, oldest first. The checker takes a rename as
    /// one change, so the name always leads to a file.
    fn versions(&self) -> Vec<FileVersion> {
        let leads = self.history.leads(Abstract::ROOT, &FILE[1..]);
        let version = |id: Id| FileVersion {
            bytes: self.fs.bytes(id).to_vec(),
            forced: !self.unforced.contains(&id),
        };
        leads.into_iter().rev().flatten().map(version).collect()
    }
}

/// Forces the names in the root, by sync(2) if a directory cannot be fsynced.
fn force_names(files: &dyn Files) -> FilesResult<()> {
    match files.sync_dir("/") {
        Err(Errno::EINVAL) => files.sync_machine(),
        forced => forced,
    }
}

/// Checks that the file is one of these versions.
fn judge(files: &dyn Files, allowed: &[FileVersion]) -> Result<(), CheckError> {
    let wrong = |verdict, promise, text: String| Err(Violation::new(verdict, promise, text).into());
    let replaced = allowed.len() > 1;
    let unreadable = |errno| match errno {
        errno if is_the_machines(errno) => CheckError::broken(format!("{FILE}: {errno}")),
        errno => {
            let promise = if replaced { "readable" } else { "flushed-contents" };
            Violation::new(Verdict::Corrupt, promise, format!("{FILE} cannot be read: {errno}"))
                .into()
        }
    };
    match files.stat(FILE) {
        Err(Errno::ENOENT) => {
            let promise = if replaced { "replaced-name" } else { "flushed-name" };
            let text = if replaced { "was replaced" } else { "was forced" };
            return wrong(Verdict::Lost, promise, format!("{FILE} {text}, and is gone"));
        }
        Err(errno) => return Err(unreadable(errno)),
        Ok(stat) if stat.kind != FileKind::File => {
            let promise = if replaced { "kind" } else { "flushed-name" };
            return wrong(Verdict::Corrupt, promise, format!("{FILE} is no file"));
        }
        Ok(_) => {}
    }
    let found = files.read_file(FILE).map_err(unreadable)?;
    if allowed.iter().any(|version| version.bytes == found) {
        return Ok(());
    }
    let promise = match replaced {
        true if allowed.iter().all(|version| version.forced) => "replaced-name",
        true => "replaced-by-rename",
        false => "flushed-contents",
    };
    let is_of = |version: &FileVersion| version.bytes.starts_with(&found);
    let is_less = |version: &FileVersion| {
        let pairs = found.iter().zip(&version.bytes);
        found.len() <= version.bytes.len()
            && pairs.clone().all(|(has, was)| *has == 0 || has == was)
    };
    let sizes: Vec<String> =
        allowed.iter().map(|version| version.bytes.len().to_string()).collect();
    let sizes = sizes.join(", ");
    if allowed.iter().any(is_of) {
        let text =
            format!("{FILE} has {} bytes of one version, and versions have {sizes}", found.len());
        return wrong(Verdict::Lost, promise, text);
    }
    let text =
        format!("{FILE} has {} bytes that are no version's, which have {sizes}", found.len());
    if allowed.iter().any(is_less) {
        return wrong(Verdict::Lost, promise, format!("{text}: there are zeroes in it"));
    }
    wrong(Verdict::Corrupt, promise, text)
}

impl Checker for Replaced {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        if self.versions.now.is_empty() {
            self.make_file(files.as_ref())?;
        }
        let steps = self.possible();
        let names: Vec<String> = steps.iter().map(|step| step.name()).collect();
        let point = ChoicePoint::action(steps.len() as u32, Label::named(NAME));
        let step = steps[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        cx.check_crashes_start(&[]);
        self.take(files.as_ref(), step)?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let judged = judge(stack.files()?.as_ref(), self.versions.at(epoch));
        if let Err(CheckError::Violation(Violation { promise, .. })) = &judged {
            assert!(words().any(|word| word == promise), "{promise} is no word of ours");
        }
        judged
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest(&self.versions))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default().promises(ABOUT.into_iter().take(if self.unsynced {
            2
        } else {
            1
        })))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self)
    }
}

impl FromFiles for Replaced {
    fn begin(&mut self, _start: Start, files: &dyn Files) -> Result<(), CheckError> {
        self.make_file(files)
    }
}

impl Demands for Replaced {
    fn demands(
        &self,
        epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        let versions =
            self.versions.at(epoch).iter().map(|version| FileContents::exactly(&version.bytes));
        Some(vec![ShellDemand::File(FILE.to_owned(), versions.collect())])
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use explode_ramdisk::files::{Fd, Stat};

    use super::*;

    /// Files that keep nothing. Changes and syncs succeed, except fsync of a file while
    /// `fsync_fails` is set.
    #[derive(Default)]
    struct Hollow {
        fsync_fails: Cell<bool>,
        synced_directories: Cell<u32>,
    }

    impl Files for Hollow {
        fn open(&self, _: &str, _: OpenFlags) -> FilesResult<Fd> {
            Ok(Fd(0))
        }
        fn close(&self, _: Fd) -> FilesResult<()> {
            Ok(())
        }
        fn pread(&self, _: Fd, _: u64, _: &mut [u8]) -> FilesResult<usize> {
            Ok(0)
        }
        fn pwrite(&self, _: Fd, _: u64, _: &[u8]) -> FilesResult<()> {
            Ok(())
        }
        fn ftruncate(&self, _: Fd, _: u64) -> FilesResult<()> {
            Ok(())
        }
        fn fstat(&self, _: Fd) -> FilesResult<Stat> {
            Err(Errno::ENOSYS)
        }
        fn fsync(&self, _: Fd) -> FilesResult<()> {
            if self.fsync_fails.get() { Err(Errno::EIO) } else { Ok(()) }
        }
        fn fdatasync(&self, _: Fd) -> FilesResult<()> {
            Ok(())
        }
        fn stat(&self, _: &str) -> FilesResult<Stat> {
            Err(Errno::ENOSYS)
        }
        fn readdir(&self, _: &str) -> FilesResult<Vec<(String, FileKind)>> {
            Ok(Vec::new())
        }
        fn mkdir(&self, _: &str) -> FilesResult<()> {
            Ok(())
        }
        fn rmdir(&self, _: &str) -> FilesResult<()> {
            Ok(())
        }
        fn link(&self, _: &str, _: &str) -> FilesResult<()> {
            Ok(())
        }
        fn unlink(&self, _: &str) -> FilesResult<()> {
            Ok(())
        }
        fn rename(&self, _: &str, _: &str) -> FilesResult<()> {
            Ok(())
        }
        fn sync_dir(&self, _: &str) -> FilesResult<()> {
            self.synced_directories.set(self.synced_directories.get() + 1);
            Ok(())
        }
        fn sync(&self) -> FilesResult<()> {
            Ok(())
        }
    }

    #[test]
    fn an_fsync_that_fails_forces_nothing() {
        let files = Hollow::default();
        let mut replaced = build(&Options::none()).unwrap();
        replaced.make_file(&files).unwrap();
        replaced.take(&files, ReplaceStep::Replace { size: SIZES[0], fsync: true }).unwrap();
        assert_eq!((replaced.versions.now.len(), files.synced_directories.get()), (2, 1));

        files.fsync_fails.set(true);
        replaced.take(&files, ReplaceStep::Force).unwrap();
        assert_eq!((replaced.versions.now.len(), files.synced_directories.get()), (2, 1));

        files.fsync_fails.set(false);
        replaced.take(&files, ReplaceStep::Force).unwrap();
        assert_eq!((replaced.versions.now.len(), files.synced_directories.get()), (1, 2));
    }

    #[test]
    fn a_file_that_cannot_be_forced_at_the_start_is_no_finding() {
        let files = Hollow::default();
        files.fsync_fails.set(true);
        let begun = build(&Options::none()).unwrap().make_file(&files);
        let Err(CheckError::Broken(why)) = begun else { panic!("{begun:?}") };
        assert!(why.to_string().contains("forcing /a: its fsync fails"), "{why}");
    }
}
