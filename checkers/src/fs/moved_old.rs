//! The checker as it was before it used the model, to compare with.

use std::collections::BTreeSet;

use explode_ramdisk::files::{Files, Kind, OpenFlags, Result as FilesResult};
use explode_runtime::check::{Checker, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{Failure, Verdict, Violation};
use nix::errno::Errno;

use super::model::pattern::pattern;

const NAME: &str = "fs-moved";

const MOVED: &str = "moved-name";
const FLUSHED_NAME: &str = "flushed-name";
const DELETED: &str = "deleted-name";
const CONTENTS: &str = "flushed-contents";

/// Between which directories things are moved.
const DIRECTORIES: [&str; 3] = ["/", "/a", "/b"];
/// The file, and the directory with the file in it.
const THINGS: [&str; 2] = ["x", "d"];
const BELOW: &str = "y";
/// Bytes of a few blocks.
const SIZE: usize = 3 * 4096;

/// Where one of the things is and may be, as numbers of directories.
#[derive(Clone, Debug, Hash)]
struct Places {
    now: usize,
    /// Was that directory forced since it is there?
    is_forced: bool,
    /// Where a crash may leave it, the newest last.
    may_be: Vec<usize>,
    /// The directories that were forced without it.
    gone: BTreeSet<usize>,
}

/// One call of mutate.
#[derive(Clone, Copy, Debug)]
enum Step {
    Move { thing: usize, to: usize },
    ForceDirectory(usize),
    ForceThing(usize),
}

#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// Of each thing, while the last step was taken, and now; of none before the first.
    during: Vec<Places>,
    now: Vec<Places>,
}

fn path(directory: usize, thing: usize) -> String {
    format!("{}/{}", DIRECTORIES[directory].trim_end_matches('/'), THINGS[thing])
}

impl Places {
    fn new(place: usize) -> Places {
        Places { now: place, is_forced: true, may_be: vec![place], gone: BTreeSet::new() }
    }

    fn is_on_its_way(&self) -> bool {
        self.may_be.len() > 1
    }

    fn move_to(&mut self, place: usize) {
        (self.now, self.is_forced) = (place, false);
        self.may_be.retain(|other| *other != place);
        self.may_be.push(place);
        self.gone.remove(&place);
    }

    /// A directory has the names that it has now.
    fn force(&mut self, directory: usize) {
        if self.now == directory {
            self.is_forced = true;
            self.may_be = vec![directory];
        } else {
            self.may_be.retain(|place| *place != directory);
            self.gone.insert(directory);
        }
    }
}

impl Step {
    fn possible(places: &[Places]) -> Vec<Step> {
        let directories = 0..DIRECTORIES.len();
        let mut steps = Vec::new();
        for (thing, places) in places.iter().enumerate() {
            let others = directories.clone().filter(|directory| *directory != places.now);
            steps.extend(others.map(|to| Step::Move { thing, to }));
        }
        let on_their_way = || places.iter().filter(|places| places.is_on_its_way());
        let changed =
            |directory: &usize| on_their_way().any(|places| places.may_be.contains(directory));
        steps.extend(directories.filter(changed).map(Step::ForceDirectory));
        let things = (0..places.len()).filter(|thing| places[*thing].is_on_its_way());
        steps.extend(things.map(Step::ForceThing));
        steps
    }

    fn name(self, places: &[Places]) -> String {
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
    /// Makes everything, and forces it.
    fn begin(&mut self, files: &dyn Files) -> FilesResult<()> {
        let file = |path: &str| {
            let fd = files.open(path, OpenFlags { exclusive: true, ..OpenFlags::CREATE })?;
            let written = files.pwrite(fd, 0, &contents());
            let synced = files.fsync(fd);
            files.close(fd)?;
            written.and(synced)
        };
        let directory = path(1, 1);
        files.mkdir("/a")?;
        files.mkdir("/b")?;
        files.mkdir(&directory)?;
        file(&path(1, 0))?;
        file(&format!("{directory}/{BELOW}"))?;
        [&*directory, "/a", "/b", "/"].into_iter().try_for_each(|path| files.sync_dir(path))?;
        self.now = vec![Places::new(1); THINGS.len()];
        Ok(())
    }

    fn take(&mut self, files: &dyn Files, step: Step) -> FilesResult<()> {
        match step {
            Step::Move { thing, to } => {
                let from = path(self.now[thing].now, thing);
                self.now[thing].move_to(to);
                self.during.clone_from(&self.now);
                files.rename(&from, &path(to, thing))
            }
            Step::ForceDirectory(directory) => {
                self.during.clone_from(&self.now);
                // One that fails has promised nothing.
                if files.sync_dir(DIRECTORIES[directory]).is_ok() {
                    self.now.iter_mut().for_each(|places| places.force(directory));
                }
                Ok(())
            }
            Step::ForceThing(thing) => {
                self.during.clone_from(&self.now);
                let path = path(self.now[thing].now, thing);
                match thing {
                    0 => {
                        let fd = files.open(&path, OpenFlags::EXISTING)?;
                        let _ = files.fsync(fd);
                        files.close(fd)
                    }
                    _ => files.sync_dir(&path).or(Ok(())),
                }
            }
        }
    }
}

fn contents() -> Vec<u8> {
    pattern('x', 1, 0, SIZE)
}

fn wrong(verdict: Verdict, promise: &'static str, text: String) -> Failure {
    Violation::new(verdict, promise, text).into()
}

/// That of a path; none if there is none.
fn kind(files: &dyn Files, path: &str) -> Result<Option<Kind>, Failure> {
    match files.stat(path) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(unreadable(path, FLUSHED_NAME, errno)),
    }
}

fn unreadable(path: &str, promise: &'static str, errno: Errno) -> Failure {
    match errno {
        Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::EINTR | Errno::EBADF => {
            Failure::broken(format!("{path}: {errno}"))
        }
        errno => wrong(Verdict::Corrupt, promise, format!("{path} cannot be read: {errno}")),
    }
}

/// Is a thing where it may be, and whole?
fn judge(files: &dyn Files, thing: usize, places: &Places) -> Result<(), Failure> {
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
        let there = if is.is_empty() {
            "gone".to_owned()
        } else {
            format!("still {}", paths(&is, " and "))
        };
        let text = format!("{} was forced, and is {there}", path(places.now, thing));
        return Err(wrong(Verdict::Lost, FLUSHED_NAME, text));
    }
    if let Some((back, _)) = found.iter().find(|(directory, _)| places.gone.contains(directory)) {
        let back = path(*back, thing);
        let text = format!("{back} was moved away, and its directory forced, and it is there");
        return Err(wrong(Verdict::Resurrected, DELETED, text));
    }
    // Where a directory was forced without it, that it is elsewhere follows from its being moved
    // whole or not at all.
    if !is.iter().any(|directory| places.may_be.contains(directory)) {
        let neither = if places.is_on_its_way() {
            "neither"
        } else {
            "what was moved away is lost: not even"
        };
        let text = format!("{neither} {} is there", paths(&places.may_be, " nor "));
        return Err(wrong(Verdict::Lost, MOVED, text));
    }
    if found.len() > 1 {
        let text = format!("one thing was moved, and both {} are there", paths(&is, " and "));
        return Err(wrong(Verdict::Corrupt, MOVED, text));
    }
    let (directory, kind) = found[0];
    let path = path(directory, thing);
    let expected = if thing == 0 { Kind::File } else { Kind::Directory };
    if kind != expected {
        return Err(wrong(
            Verdict::Corrupt,
            FLUSHED_NAME,
            format!("{path} is another kind of node"),
        ));
    }
    judge_contents(files, &if thing == 0 { path } else { format!("{path}/{BELOW}") })
}

fn judge_contents(files: &dyn Files, path: &str) -> Result<(), Failure> {
    match kind(files, path)? {
        None => {
            return Err(wrong(
                Verdict::Lost,
                FLUSHED_NAME,
                format!("{path} was forced, and is gone"),
            ));
        }
        Some(Kind::File) => {}
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
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let files = cx.stack().files()?;
        let broken = |step: &str, errno: Errno| Failure::broken(format!("{step}: {errno}"));
        if self.now.is_empty() {
            self.begin(files.as_ref()).map_err(|errno| broken("making what is moved", errno))?;
        }
        let steps = Step::possible(&self.now);
        let names: Vec<String> = steps.iter().map(|step| step.name(&self.now)).collect();
        let point = Point::action(steps.len() as u32, Label::named(NAME));
        let number = cx.choose_at(&Point { names: &names, ..point }) as usize;
        cx.check_crashes_start(&[]);
        self.take(files.as_ref(), steps[number]).map_err(|errno| broken(&names[number], errno))?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let places = match epoch {
            Epoch::Begin | Epoch::InBetween => &self.during,
            Epoch::End | Epoch::Now | Epoch::Soft => &self.now,
        };
        let files = stack.files()?;
        places
            .iter()
            .enumerate()
            .try_for_each(|(thing, places)| judge(files.as_ref(), thing, places))
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((&self.during, &self.now)))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default().about([MOVED]))
    }
}

impl super::side_by_side::Side for Moved {
    const AROUND: bool = true;

    fn steps(&mut self, files: &dyn Files) -> Vec<String> {
        if self.now.is_empty() {
            self.begin(files).unwrap();
        }
        Step::possible(&self.now).iter().map(|step| step.name(&self.now)).collect()
    }

    fn take_step(&mut self, files: &dyn Files, number: usize) -> Result<bool, Failure> {
        let step = Step::possible(&self.now)[number];
        self.take(files, step)?;
        Ok(true)
    }
}
