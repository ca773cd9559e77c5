//! A rename to another directory survives a crash: the moved node is there, under its old name or
//! its new one, and not under both.
//!
//! The first call of mutate, or the start, makes `/a` and `/b`, a file `/a/x`, and a directory
//! `/a/d` with a file in it, and forces all of it. Then each call moves the file or the directory
//! to another directory, or forces something: a directory that a name has left or entered, or the
//! moved node itself, which promises nothing about its name and makes file systems write a part of
//! the rename. Every disk that a crash could leave during the step and right after it is checked. A
//! node may be wherever it was since its place was forced. A directory that was forced since then
//! has the name if the node is in it, and does not have it otherwise.
//!
//! | promise | meaning |
//! | --- | --- |
//! | `moved-name` | the moved node is there, under one name |
//! | `flushed-name` | it is at its new place once that directory is forced, with the file in it (fsync(2)) |
//! | `deleted-name` | it is not at its old place once that directory is forced |
//! | `flushed-contents` | its file holds the forced bytes, wherever it is (fsync(2)) |
//!
//! rename(2) says nothing about crashes, and allows processes to see both names for a time.
//! Journals of metadata promise `moved-name`. The other lines are promises of fsync. `fs-sync` and
//! `fs-ways` check them for nodes that are not being moved.

use explode_ramdisk::files::{FileKind, Files, FsCall, OpenFlags, Session};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Unsupported, digest,
};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, FileContents, ShellDemand, Verdict, Violation};
use itertools::Itertools as _;
use nix::errno::Errno;

use super::model::pattern::pattern;
use super::model::promise::is_the_machines;
use super::model::{Moments, Whereabouts, make};
use super::start::Start;
use super::started::{FromFiles, START_OF_STEPS, Started};

/// The name in the registry.
pub const NAME: &str = "fs-moved";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "what a rename moves to another directory is there after a crash, under one of its names",
        |options| Ok(Box::new(Started::new(NAME, Moved::new(), options)?)),
    )
    .options([START_OF_STEPS])
}

const MOVED: &str = "moved-name";
const FLUSHED_NAME: &str = "flushed-name";
const DELETED: &str = "deleted-name";
const CONTENTS: &str = "flushed-contents";

/// The words of all promises.
pub(super) const WORDS: [&str; 4] = [MOVED, FLUSHED_NAME, DELETED, CONTENTS];

/// The directories between which nodes are moved.
const DIRECTORIES: [&str; 3] = ["/", "/a", "/b"];
/// The names of the file, and of the directory with a file in it.
const THINGS: [&str; 2] = ["x", "d"];
const BELOW: &str = "y";
/// The size of each file in bytes: a few blocks.
const SIZE: usize = 3 * 4096;

/// One call of mutate.
#[derive(Clone, Copy, Debug)]
enum Step {
    Move { thing: usize, to: usize },
    ForceDirectory(usize),
    ForceThing(usize),
}

#[derive(Clone, Debug)]
struct Moved {
    /// The places of each node. Empty before the first step.
    places: Moments<Vec<Whereabouts>>,
}

fn path(directory: usize, thing: usize) -> String {
    format!("{}/{}", DIRECTORIES[directory].trim_end_matches('/'), THINGS[thing])
}

impl Step {
    fn possible(places: &[Whereabouts]) -> Vec<Step> {
        let directories = 0..DIRECTORIES.len();
        let mut steps = Vec::new();
        for (thing, places) in places.iter().enumerate() {
            let others = directories.clone().filter(|directory| *directory != places.now);
            steps.extend(others.map(|to| Step::Move { thing, to }));
        }
        let moving = || places.iter().filter(|places| places.is_moving());
        let changed = |directory: &usize| moving().any(|places| places.may_be.contains(directory));
        steps.extend(directories.filter(changed).map(Step::ForceDirectory));
        let things = (0..places.len()).filter(|thing| places[*thing].is_moving());
        steps.extend(things.map(Step::ForceThing));
        steps
    }

    fn calls(self, places: &[Whereabouts]) -> Vec<FsCall> {
        match self {
            Step::Move { thing, to } => {
                let from = path(places[thing].now, thing);
                vec![FsCall::Rename { from, to: path(to, thing) }]
            }
            Step::ForceDirectory(directory) => {
                vec![FsCall::FsyncDir { path: DIRECTORIES[directory].to_owned() }]
            }
            Step::ForceThing(0) => {
                let path = path(places[0].now, 0);
                vec![
                    FsCall::Open { path: path.clone(), flags: OpenFlags::EXISTING },
                    FsCall::Fsync { path: path.clone() },
                    FsCall::Close { path },
                ]
            }
            Step::ForceThing(thing) => {
                vec![FsCall::FsyncDir { path: path(places[thing].now, thing) }]
            }
        }
    }

    fn name(self, places: &[Whereabouts]) -> String {
        match self {
            Step::Move { thing, to } => {
                format!("rename {} {}", path(places[thing].now, thing), path(to, thing))
            }
            Step::ForceDirectory(directory) => format!("fsync {}", DIRECTORIES[directory]),
            Step::ForceThing(thing) => format!("fsync {}", path(places[thing].now, thing)),
        }
    }
}

impl Moved {
    fn new() -> Moved {
        Moved { places: Moments::default() }
    }

    /// Makes all files and directories and forces them.
    fn make_tree(&mut self, files: &dyn Files) -> Result<(), CheckError> {
        let file = |path: String| {
            let flags = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
            let open = FsCall::Open { path: path.clone(), flags };
            let write = FsCall::pwrite(&path, 0, contents());
            [open, write, FsCall::Fsync { path: path.clone() }, FsCall::Close { path }]
        };
        let directory = path(1, 1);
        let made = ["/a", "/b", &directory].map(|path| FsCall::Mkdir { path: path.to_owned() });
        let files_made = [path(1, 0), format!("{directory}/{BELOW}")].map(file);
        let forced = [&*directory, "/a", "/b", "/"];
        let forced = forced.map(|path| FsCall::FsyncDir { path: path.to_owned() });
        let mut session = Session::new(files);
        for call in made.iter().chain(files_made.iter().flatten()).chain(&forced) {
            // Later steps rely on each of the syncs as well, so a sync that fails is an error.
            session.make(call).map_err(|errno| {
                CheckError::broken(format!("making what is moved: {call}: {errno}"))
            })?;
        }
        self.places.now = vec![Whereabouts::new(1); THINGS.len()];
        Ok(())
    }

    fn take(&mut self, files: &dyn Files, step: Step) -> Result<(), CheckError> {
        let calls = step.calls(&self.places.now);
        if let Step::Move { thing, to } = step {
            self.places.now[thing].move_to(to);
        }
        self.places.begin();
        let mut is_forced = false;
        make(&calls, files, |call| is_forced |= call.is_sync())?;
        // A failed sync promises nothing. Forcing a node promises nothing about its name.
        if let Step::ForceDirectory(directory) = step
            && is_forced
        {
            self.places.now.iter_mut().for_each(|places| places.force(directory));
        }
        Ok(())
    }
}

fn contents() -> Vec<u8> {
    pattern('x', 1, 0, SIZE)
}

fn wrong(verdict: Verdict, promise: &'static str, text: String) -> CheckError {
    Violation::new(verdict, promise, text).into()
}

/// Returns the kind of the node at a path. `None` if the path does not exist.
fn kind(files: &dyn Files, path: &str) -> Result<Option<FileKind>, CheckError> {
    match files.stat(path) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(unreadable(path, FLUSHED_NAME, errno)),
    }
}

fn unreadable(path: &str, promise: &'static str, errno: Errno) -> CheckError {
    match errno {
        errno if is_the_machines(errno) => CheckError::broken(format!("{path}: {errno}")),
        errno => wrong(Verdict::Corrupt, promise, format!("{path} cannot be read: {errno}")),
    }
}

/// Checks that a node is at one of its possible places, and is whole.
fn judge(files: &dyn Files, thing: usize, places: &Whereabouts) -> Result<(), CheckError> {
    let mut found = Vec::new();
    for directory in 0..DIRECTORIES.len() {
        if let Some(kind) = kind(files, &path(directory, thing))? {
            found.push((directory, kind));
        }
    }
    let paths = |places: &[usize], and: &str| {
        let paths: Vec<String> = places.iter().map(|directory| path(*directory, thing)).collect();
        paths.join(and)
    };
    let is: Vec<usize> = found.iter().map(|(directory, _)| *directory).collect();
    if places.is_forced && !is.contains(&places.now) {
        let place = if is.is_empty() {
            "gone".to_owned()
        } else {
            format!("still {}", paths(&is, " and "))
        };
        let text = format!("{} was forced, and is {place}", path(places.now, thing));
        return Err(wrong(Verdict::Lost, FLUSHED_NAME, text));
    }
    if let Some((back, _)) = found.iter().find(|(directory, _)| places.gone.contains(directory)) {
        let back = path(*back, thing);
        let text = format!("{back} was moved away, and its directory forced, and it is there");
        return Err(wrong(Verdict::Resurrected, DELETED, text));
    }
    // If its old directory was forced without it, the node must be elsewhere, because a rename
    // happens whole or not at all.
    if !is.iter().any(|directory| places.may_be.contains(directory)) {
        let neither =
            if places.is_moving() { "neither" } else { "what was moved away is lost: not even" };
        let text = format!("{neither} {} is there", paths(&places.may_be, " nor "));
        return Err(wrong(Verdict::Lost, MOVED, text));
    }
    if found.len() > 1 {
        let text = format!("one thing was moved, and both {} are there", paths(&is, " and "));
        return Err(wrong(Verdict::Corrupt, MOVED, text));
    }
    let (directory, kind) = found[0];
    let path = path(directory, thing);
    let expected = if thing == 0 { FileKind::File } else { FileKind::Directory };
    if kind != expected {
        return Err(wrong(
            Verdict::Corrupt,
            FLUSHED_NAME,
            format!("{path} is another kind of node"),
        ));
    }
    judge_contents(files, &if thing == 0 { path } else { format!("{path}/{BELOW}") })
}

/// Returns the demands on a node with these places, in a form that a shell can test.
fn demands_on(thing: usize, places: &Whereabouts) -> Vec<ShellDemand> {
    let is_there = |directory: &usize| {
        let path = path(*directory, thing);
        let path = if thing == 0 { path } else { format!("{path}/{BELOW}") };
        ShellDemand::File(path, vec![FileContents::exactly(&contents())])
    };
    let is_gone = |directory: &usize| ShellDemand::Nothing(path(*directory, thing));
    let somewhere = match &places.may_be[..] {
        [only] => is_there(only),
        any => ShellDemand::Any(any.iter().map(is_there).collect()),
    };
    let pairs = places.may_be.iter().array_combinations();
    let once = pairs.map(|[one, other]| ShellDemand::Any(vec![is_gone(one), is_gone(other)]));
    let elsewhere = (0..DIRECTORIES.len()).filter(|directory| !places.may_be.contains(directory));
    let elsewhere = elsewhere.map(|directory| is_gone(&directory));
    [somewhere].into_iter().chain(elsewhere).chain(once).collect()
}

fn judge_contents(files: &dyn Files, path: &str) -> Result<(), CheckError> {
    match kind(files, path)? {
        None => {
            return Err(wrong(
                Verdict::Lost,
                FLUSHED_NAME,
                format!("{path} was forced, and is gone"),
            ));
        }
        Some(FileKind::File) => {}
        Some(_) => return Err(wrong(Verdict::Corrupt, FLUSHED_NAME, format!("{path} is no file"))),
    }
    let found = files.read_file(path).map_err(|errno| unreadable(path, CONTENTS, errno))?;
    let expected = contents();
    if found == expected {
        return Ok(());
    }
    let verdict = if expected.starts_with(&found) { Verdict::Lost } else { Verdict::Corrupt };
    let same =
        found.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
    let text = format!(
        "{path} has {} bytes, of {} the first {same} as they were forced",
        found.len(),
        SIZE
    );
    Err(wrong(verdict, CONTENTS, text))
}

impl Checker for Moved {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        if self.places.now.is_empty() {
            self.make_tree(files.as_ref())?;
        }
        let places = &self.places.now;
        let steps = Step::possible(places);
        let names: Vec<String> = steps.iter().map(|step| step.name(places)).collect();
        let point = ChoicePoint::action(steps.len() as u32, Label::named(NAME));
        let number = cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize;
        cx.check_crashes_start(&[]);
        self.take(files.as_ref(), steps[number])?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let files = stack.files()?;
        self.places
            .at(epoch)
            .iter()
            .enumerate()
            .try_for_each(|(thing, places)| judge(files.as_ref(), thing, places))
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest(&self.places))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default().promises([MOVED]))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self)
    }
}

impl FromFiles for Moved {
    fn begin(&mut self, _start: Start, files: &dyn Files) -> Result<(), CheckError> {
        self.make_tree(files)
    }
}

impl Demands for Moved {
    fn demands(
        &self,
        epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        let places = self.places.at(epoch).iter().enumerate();
        Some(places.flat_map(|(thing, places)| demands_on(thing, places)).collect())
    }
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::files::{Granule, SimFiles};
    use explode_ramdisk::{Image, Recording, Storage};

    use super::*;

    /// Returns the violation, if any, for `/a/x` after it was moved to `/b` and the directories
    /// `forced` were forced, with `x` in the directories `is_in`.
    fn judged(forced: &[usize], is_in: &[usize]) -> Option<(Verdict, String)> {
        let storage = Storage::new(Image::new(), Recording::Off);
        let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
        DIRECTORIES[1..].iter().for_each(|directory| files.mkdir(directory).unwrap());
        for directory in is_in {
            let fd = files.open(&path(*directory, 0), OpenFlags::CREATE).unwrap();
            files.pwrite(fd, 0, &contents()).unwrap();
        }
        let mut places = Whereabouts::new(1);
        places.move_to(2);
        forced.iter().for_each(|directory| places.force(*directory));
        let judged = match judge(&files, 0, &places) {
            Ok(()) => None,
            Err(CheckError::Violation(violation)) => Some((violation.verdict, violation.promise)),
            Err(other) => panic!("{other:?}"),
        };
        let demands = demands_on(0, &places);
        let met = demands.iter().all(|demand| is_met(&files, demand));
        assert_eq!(met, judged.is_none(), "{judged:?}");
        judged
    }

    /// Returns true if files meet a demand.
    fn is_met(files: &SimFiles, demand: &ShellDemand) -> bool {
        match demand {
            ShellDemand::File(path, any) => files.read_file(path).is_ok_and(|found| {
                any.iter().any(|contents| *contents == FileContents::exactly(&found))
            }),
            ShellDemand::Nothing(path) => files.stat(path) == Err(Errno::ENOENT),
            ShellDemand::Any(demands) => demands.iter().any(|demand| is_met(files, demand)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_promise_is_reported_by_its_name() {
        let lost = |word: &str| Some((Verdict::Lost, word.to_owned()));
        let twice = Some((Verdict::Corrupt, MOVED.to_owned()));
        let back = Some((Verdict::Resurrected, DELETED.to_owned()));
        for is_in in [&[1][..], &[2]] {
            assert_eq!(judged(&[], is_in), None);
        }
        assert_eq!([judged(&[], &[]), judged(&[], &[1, 2])], [lost(MOVED), twice.clone()]);
        // The new directory is forced, then only the old one. In the second case the result follows
        // only if a rename is one change.
        assert_eq!(
            [judged(&[2], &[2]), judged(&[2], &[1]), judged(&[2], &[])],
            [None, lost(FLUSHED_NAME), lost(FLUSHED_NAME)]
        );
        assert_eq!(
            [judged(&[1], &[2]), judged(&[1], &[1]), judged(&[1], &[])],
            [None, back.clone(), lost(MOVED)]
        );
        assert_eq!([judged(&[2], &[1, 2]), judged(&[1], &[1, 2])], [twice, back]);
    }
}
