//! The checker as it was before it used the model, to compare with.

use explode_ramdisk::files::{Files, Kind, OpenFlags, Result as FilesResult};
use explode_runtime::base::Options;
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerFacts, Cx, Demands, Unsupported, digest,
};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{Contents, Demand, Failure, Verdict, Violation};
use nix::errno::Errno;

use super::model::pattern::pattern;

const NAME: &str = "fs-replaced";

/// What it is about: whatever replaces the file, and what was not forced.
const ABOUT: [&str; 2] = ["replaced-name", "replaced-by-rename"];
/// What it tells besides.
const BESIDES: [&str; 4] = ["flushed-name", "flushed-contents", "kind", "readable"];

/// Every word for what is broken.
fn words() -> impl Iterator<Item = &'static str> {
    ABOUT.into_iter().chain(BESIDES)
}

/// The file, and the temporary one.
const FILE: &str = "/a";
const TEMPORARY: &str = "/b";
/// Bytes of a part of a block, and of a few blocks.
const SIZES: [usize; 2] = [1000, 3 * 4096];

/// One call of mutate.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// By a file of so many bytes, which is forced before or is not.
    Replace { size: usize, fsync: bool },
    /// The file and its name are forced.
    Force,
}

/// What the file held at some time.
#[derive(Clone, Debug, Hash)]
struct Version {
    bytes: Vec<u8>,
    /// Was it forced before it got its name?
    forced: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Replaced {
    unsynced: bool,
    /// How often it was written.
    writes: u32,
    /// What it may hold while the last step was taken, the oldest first, and now.
    during: Vec<Version>,
    now: Vec<Version>,
}

/// One, to compare.
pub fn one(options: &Options) -> Replaced {
    Replaced { unsynced: options.bool("unsynced", true).unwrap(), ..Replaced::default() }
}

impl Step {
    fn name(self) -> String {
        match self {
            Step::Replace { size, fsync } => {
                let fsync = if fsync { ", fsync" } else { "" };
                format!("write {size} bytes to {TEMPORARY}{fsync}, rename {TEMPORARY} {FILE}")
            }
            Step::Force => format!("fsync {FILE}, fsync /"),
        }
    }
}

impl Replaced {
    fn possible(&self) -> Vec<Step> {
        let ways = [true, false].into_iter().filter(|fsync| *fsync || self.unsynced);
        let replace = |fsync| SIZES.map(move |size| Step::Replace { size, fsync });
        let force = (self.now.len() > 1).then_some(Step::Force);
        ways.flat_map(replace).chain(force).collect()
    }

    /// Writes a new version of the file to a path that is not there.
    fn write(
        &mut self,
        files: &dyn Files,
        path: &str,
        size: usize,
        fsync: bool,
    ) -> FilesResult<Version> {
        self.writes += 1;
        let bytes = pattern('a', self.writes, 0, size);
        let fd = files.open(path, OpenFlags { exclusive: true, ..OpenFlags::CREATE })?;
        let written = files.pwrite(fd, 0, &bytes);
        let synced = if fsync { files.fsync(fd) } else { Ok(()) };
        files.close(fd)?;
        written?;
        // One that has failed has promised nothing.
        Ok(Version { bytes, forced: fsync && synced.is_ok() })
    }

    /// Makes the file, and forces it.
    fn begin(&mut self, files: &dyn Files) -> FilesResult<()> {
        let version = self.write(files, FILE, SIZES[1], true)?;
        force_names(files)?;
        self.now = vec![version];
        Ok(())
    }

    fn take(&mut self, files: &dyn Files, step: Step) -> FilesResult<()> {
        match step {
            Step::Replace { size, fsync } => {
                let version = self.write(files, TEMPORARY, size, fsync)?;
                self.now.push(version);
                self.during.clone_from(&self.now);
                files.rename(TEMPORARY, FILE)
            }
            Step::Force => {
                self.during.clone_from(&self.now);
                let fd = files.open(FILE, OpenFlags::EXISTING)?;
                let synced = files.fsync(fd);
                files.close(fd)?;
                if synced.and_then(|()| force_names(files)).is_ok() {
                    self.now.drain(..self.now.len() - 1);
                }
                Ok(())
            }
        }
    }

    fn allowed(&self, epoch: Epoch) -> &[Version] {
        match epoch {
            Epoch::Begin | Epoch::InBetween => &self.during,
            Epoch::End | Epoch::Now | Epoch::Soft => &self.now,
        }
    }
}

/// Forces the names in the root.
fn force_names(files: &dyn Files) -> FilesResult<()> {
    match files.sync_dir("/") {
        Err(Errno::EINVAL) => files.sync_machine(),
        forced => forced,
    }
}

/// Is the file one of these versions?
fn judge(files: &dyn Files, allowed: &[Version]) -> Result<(), Failure> {
    let wrong = |verdict, promise, text: String| Err(Violation::new(verdict, promise, text).into());
    let replaced = allowed.len() > 1;
    let unreadable = |errno| match errno {
        Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::EINTR | Errno::EBADF => {
            Failure::broken(format!("{FILE}: {errno}"))
        }
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
        Ok(stat) if stat.kind != Kind::File => {
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
    let is_of = |version: &Version| version.bytes.starts_with(&found);
    let is_less = |version: &Version| {
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
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let files = cx.stack().files()?;
        let broken = |step: &str, errno: Errno| Failure::broken(format!("{step}: {errno}"));
        if self.now.is_empty() {
            self.begin(files.as_ref()).map_err(|errno| broken("making the file", errno))?;
        }
        let steps = self.possible();
        let names: Vec<String> = steps.iter().map(|step| step.name()).collect();
        let point = Point::action(steps.len() as u32, Label::named(NAME));
        let step = steps[cx.choose_at(&Point { names: &names, ..point }) as usize];
        cx.check_crashes_start(&[]);
        self.take(files.as_ref(), step).map_err(|errno| broken(&step.name(), errno))?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let judged = judge(stack.files()?.as_ref(), self.allowed(epoch));
        if let Err(Failure::Violation(Violation { promise, .. })) = &judged {
            debug_assert!(words().any(|word| word == promise), "{promise} is no word of ours");
        }
        judged
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((&self.during, &self.now)))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default().about(ABOUT.into_iter().take(if self.unsynced { 2 } else { 1 })))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self)
    }
}

impl Demands for Replaced {
    fn demands(
        &self,
        epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<Demand>> {
        let versions = self.allowed(epoch).iter().map(|version| Contents::exactly(&version.bytes));
        Some(vec![Demand::File(FILE.to_owned(), versions.collect())])
    }
}

impl super::side_by_side::Side for Replaced {
    const AROUND: bool = true;

    fn steps(&mut self, files: &dyn Files) -> Vec<String> {
        if self.now.is_empty() {
            self.begin(files).unwrap();
        }
        self.possible().iter().map(|step| step.name()).collect()
    }

    fn take_step(&mut self, files: &dyn Files, number: usize) -> Result<bool, Failure> {
        let step = self.possible()[number];
        self.take(files, step)?;
        Ok(true)
    }
}
