//! The checker as it was before it used the model, to compare with.

use std::collections::BTreeMap;

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags, Result as FilesResult};
use explode_runtime::check::{Checker, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{Failure, Verdict, Violation};
use nix::errno::Errno;

use super::RESERVED;

const NAME: &str = "fs-atomic";

/// A call is there whole, or not at all.
const ATOMIC: &str = "atomic-call";
/// A call that has returned is there.
const DURABLE: &str = "durable-call";
/// Everything can be read.
const INTACT: &str = "intact";

/// Bytes of a small file, and of one of several blocks.
const SMALL: usize = 30;
const LARGE: usize = 3000;
/// Names on the longest path that is followed; a path has two.
const DEEPEST: usize = 4;

/// The names of a tree: what a file holds, nothing for a directory.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

/// One call of mutate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// `/a` becomes a small file, or has this at its beginning.
    WriteA,
    /// `/b` gets several blocks.
    WriteB,
    /// Some bytes in the middle of `/b`.
    PatchB,
    /// `/b` loses its end.
    CutB,
    /// Over what is there.
    RenameAToB,
    /// Into the directory.
    MoveAToD,
    /// `/a` goes.
    UnlinkA,
    /// `/d` comes.
    MakeD,
    /// `/d/a` and `/d` go, in two calls.
    RemoveD,
}

const STEPS: [Step; 9] = [
    Step::WriteA,
    Step::WriteB,
    Step::PatchB,
    Step::CutB,
    Step::RenameAToB,
    Step::MoveAToD,
    Step::UnlinkA,
    Step::MakeD,
    Step::RemoveD,
];

impl Step {
    fn is_possible(self, tree: &Tree) -> bool {
        let (a, d) = (tree.contains_key("/a"), tree.contains_key("/d"));
        let b = tree.get("/b").and_then(Option::as_ref).map_or(0, Vec::len);
        match self {
            Step::WriteA | Step::WriteB => true,
            Step::PatchB | Step::CutB => b > LARGE / 2,
            Step::RenameAToB | Step::UnlinkA => a,
            Step::MoveAToD => a && d,
            Step::MakeD => !d,
            Step::RemoveD => d,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Step::WriteA => "write /a",
            Step::WriteB => "write /b",
            Step::PatchB => "write into /b",
            Step::CutB => "truncate /b",
            Step::RenameAToB => "rename /a /b",
            Step::MoveAToD => "rename /a /d/a",
            Step::UnlinkA => "unlink /a",
            Step::MakeD => "mkdir /d",
            Step::RemoveD => "unlink /d/a; rmdir /d",
        }
    }

    /// Takes it; `n` stands in what is written.
    fn take(self, calls: &mut Calls<'_>, n: u32) -> FilesResult<()> {
        let bytes = |len: usize| format!("{n:<len$}").into_bytes();
        match self {
            Step::WriteA => calls.write("/a", 0, &bytes(SMALL)),
            Step::WriteB => calls.write("/b", 0, &bytes(LARGE)),
            Step::PatchB => calls.write("/b", LARGE / 2, &bytes(SMALL)),
            Step::CutB => calls.truncate("/b", LARGE / 2),
            Step::RenameAToB => calls.rename("/a", "/b"),
            Step::MoveAToD => calls.rename("/a", "/d/a"),
            Step::UnlinkA => calls.unlink("/a"),
            Step::MakeD => {
                calls.files.mkdir("/d")?;
                calls.changed(|tree| drop(tree.insert("/d".to_owned(), None)))
            }
            Step::RemoveD => {
                if calls.now().contains_key("/d/a") {
                    calls.unlink("/d/a")?;
                }
                calls.files.rmdir("/d")?;
                calls.changed(|tree| drop(tree.remove("/d")))
            }
        }
    }
}

/// The calls, and the trees that they lead to, one after the other.
struct Calls<'a> {
    files: &'a dyn Files,
    trees: &'a mut Vec<Tree>,
}

impl Calls<'_> {
    fn now(&self) -> Tree {
        self.trees.last().cloned().unwrap_or_default()
    }

    /// A call has been made, and changes the tree like this.
    fn changed(&mut self, change: impl FnOnce(&mut Tree)) -> FilesResult<()> {
        let mut tree = self.now();
        change(&mut tree);
        self.trees.push(tree);
        Ok(())
    }

    fn with_open(
        &mut self,
        path: &str,
        work: impl FnOnce(&dyn Files, Fd) -> FilesResult<()>,
    ) -> FilesResult<()> {
        let fd = self.files.open(path, OpenFlags::CREATE)?;
        if !self.now().contains_key(path) {
            self.changed(|tree| drop(tree.insert(path.to_owned(), Some(Vec::new()))))?;
        }
        let worked = work(self.files, fd);
        self.files.close(fd).and(worked)
    }

    fn write(&mut self, path: &str, at: usize, bytes: &[u8]) -> FilesResult<()> {
        self.with_open(path, |files, fd| files.pwrite(fd, at as u64, bytes))?;
        self.changed(|tree| {
            let file = tree.entry(path.to_owned()).or_default().get_or_insert_default();
            file.resize(file.len().max(at + bytes.len()), 0);
            file[at..at + bytes.len()].copy_from_slice(bytes);
        })
    }

    fn truncate(&mut self, path: &str, size: usize) -> FilesResult<()> {
        self.with_open(path, |files, fd| files.ftruncate(fd, size as u64))?;
        self.changed(|tree| {
            tree.entry(path.to_owned()).or_default().iter_mut().for_each(|b| b.truncate(size))
        })
    }

    fn unlink(&mut self, path: &str) -> FilesResult<()> {
        self.files.unlink(path)?;
        self.changed(|tree| drop(tree.remove(path)))
    }

    fn rename(&mut self, from: &str, to: &str) -> FilesResult<()> {
        self.files.rename(from, to)?;
        self.changed(|tree| {
            let moved = tree.remove(from).unwrap_or_default();
            tree.insert(to.to_owned(), moved);
        })
    }
}

/// What a file holds, as far as it matters: the size of a damaged one may be anything.
fn read_file(files: &dyn Files, path: &str) -> FilesResult<Vec<u8>> {
    let fd = files.open(path, OpenFlags::EXISTING)?;
    let mut bytes = vec![0; LARGE + 1];
    let read = files.pread(fd, 0, &mut bytes);
    files.close(fd)?;
    bytes.truncate(read?);
    Ok(bytes)
}

/// Everything below a directory; a damaged one may contain itself.
fn read(files: &dyn Files, directory: &str, tree: &mut Tree) -> FilesResult<()> {
    for (name, kind) in files.readdir(if directory.is_empty() { "/" } else { directory })? {
        let path = format!("{directory}/{name}");
        let contents = match kind {
            Kind::File => Some(read_file(files, &path)?),
            Kind::Symlink => None,
            Kind::Directory => {
                if path.matches('/').count() < DEEPEST {
                    read(files, &path, tree)?;
                }
                None
            }
        };
        tree.insert(path, contents);
    }
    Ok(())
}

/// A tree without what the file system keeps for itself, if that is empty.
fn without_reserved(mut tree: Tree) -> Tree {
    for path in RESERVED {
        let below = format!("{path}/");
        let is_empty =
            tree.get(path).is_some_and(|contents| contents.as_ref().is_none_or(Vec::is_empty));
        if is_empty && !tree.keys().any(|other| other.starts_with(&below)) {
            tree.remove(path);
        }
    }
    tree
}

#[derive(Clone, Default)]
pub struct Atomic {
    /// The tree before the mutate, and those that its calls led to.
    trees: Vec<Tree>,
    /// Mutates so far: what each writes is its own.
    steps: u32,
}

/// One, to compare.
pub fn one() -> Atomic {
    Atomic { trees: vec![Tree::new()], steps: 0 }
}

impl Atomic {
    fn judge(&self, found: &Tree, epoch: Epoch) -> Result<(), Violation> {
        let last = self.trees.len() - 1;
        let allowed = match epoch {
            Epoch::Begin => 0..=0,
            Epoch::InBetween => 0..=last,
            Epoch::End | Epoch::Now | Epoch::Soft => last..=last,
        };
        if self.trees[allowed.clone()].contains(found) {
            return Ok(());
        }
        match self.trees.iter().position(|tree| tree == found) {
            Some(there) if there < *allowed.start() => {
                let message = format!("{last} calls have returned, {there} of them are there");
                Err(Violation::new(Verdict::Lost, DURABLE, message))
            }
            Some(_) => Err(Violation::new(
                Verdict::Resurrected,
                DURABLE,
                "a call that was not made is there",
            )),
            None => {
                let names = found
                    .keys()
                    .map(|name| name.escape_debug().to_string())
                    .collect::<Vec<_>>()
                    .join(" ");
                let message =
                    format!("neither the tree before the call nor the one after it: {names}");
                Err(Violation::new(Verdict::Corrupt, ATOMIC, message))
            }
        }
    }
}

impl Atomic {
    /// What is wrong with a tree as it was read.
    fn verdict(&self, read: FilesResult<Tree>, epoch: Epoch) -> Result<(), Failure> {
        match read {
            Ok(found) => Ok(self.judge(&without_reserved(found), epoch)?),
            Err(errno @ (Errno::EIO | Errno::ENOMEM)) => {
                Err(Failure::broken(format!("reading: {errno}")))
            }
            Err(errno) => {
                let message = format!("the tree cannot be read: {errno}");
                Err(Violation::new(Verdict::Corrupt, INTACT, message).into())
            }
        }
    }
}

impl Checker for Atomic {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let files = cx.stack().files()?;
        let before = self.trees.pop().unwrap_or_default();
        let steps: Vec<Step> = STEPS.into_iter().filter(|step| step.is_possible(&before)).collect();
        let names: Vec<String> = steps.iter().map(|step| step.name().to_owned()).collect();
        let point = Point::action(steps.len() as u32, Label::named(NAME));
        let step = steps[cx.choose_at(&Point { names: &names, ..point }) as usize];
        self.steps += 1;
        cx.check_crashes_start(&[]);
        self.trees = vec![before];
        let calls = &mut Calls { files: files.as_ref(), trees: &mut self.trees };
        step.take(calls, self.steps)
            .map_err(|errno| Failure::broken(format!("{}: {errno}", step.name())))?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let mut found = Tree::new();
        let read = read(stack.files()?.as_ref(), "", &mut found).map(|()| found);
        self.verdict(read, epoch)
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest(&self.trees))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default())
    }
}

impl super::side_by_side::Side for Atomic {
    const AROUND: bool = true;

    fn steps(&mut self, _files: &dyn Files) -> Vec<String> {
        let before = self.trees.last().cloned().unwrap_or_default();
        let steps = STEPS.into_iter().filter(|step| step.is_possible(&before));
        steps.map(|step| step.name().to_owned()).collect()
    }

    fn read(&self, files: &dyn Files) -> Option<FilesResult<Tree>> {
        let mut found = Tree::new();
        Some(read(files, "", &mut found).map(|()| found))
    }

    fn verdict_of(&self, read: FilesResult<Tree>, epoch: Epoch) -> Result<(), Failure> {
        self.verdict(read, epoch)
    }

    fn take_step(&mut self, files: &dyn Files, number: usize) -> Result<bool, Failure> {
        let before = self.trees.pop().unwrap_or_default();
        let steps: Vec<Step> = STEPS.into_iter().filter(|step| step.is_possible(&before)).collect();
        self.steps += 1;
        self.trees = vec![before];
        let calls = &mut Calls { files, trees: &mut self.trees };
        steps[number].take(calls, self.steps)?;
        Ok(true)
    }
}
