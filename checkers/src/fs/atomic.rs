//! Every call is atomic, and durable when it returns: after a crash the tree is the one before the call that was under way, or the
//! one after it.
//!
//! A stricter reading than POSIX's, for file systems that claim it. A mutate is one call that changes a tree of two files and a
//! directory, from its beginning to its end; contents are changed by opening a file, writing, and closing it, which counts as one
//! call. The whole tree is compared, with all contents.

use std::collections::BTreeMap;
use std::hash::Hash as _;
use std::panic::Location;

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags, Result as FilesResult};
use explode_runtime::check::{Checker, Cx, Failure, Verdict, Violation};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::recover::Stack;
use explode_runtime::run::{CheckerDef, Options, UsageError};
use nix::errno::Errno;
use xxhash_rust::xxh3::Xxh3;

/// As it stands in the registry.
pub const DEF: CheckerDef = CheckerDef {
    name: "fs-atomic",
    about: "every call that changes files is there whole or not at all after a crash, and stays once it has returned",
    options: &[],
    build,
};

/// A call is there whole, or not at all.
const ATOMIC: &str = "atomic-call";
/// A call that has returned is there.
const DURABLE: &str = "durable-call";
/// Everything can be read.
const INTACT: &str = "intact";

/// Bytes of a small file, and of one of several blocks.
const SMALL: usize = 30;
const LARGE: usize = 3000;

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

    /// Takes it, and says which trees it leads to, one after the other.
    fn take(self, files: &dyn Files, tree: &Tree, n: u32) -> FilesResult<Vec<Tree>> {
        let mut after = tree.clone();
        let bytes = |len: usize| format!("{n:<len$}").into_bytes();
        match self {
            Step::WriteA => write(files, &mut after, "/a", 0, &bytes(SMALL))?,
            Step::WriteB => write(files, &mut after, "/b", 0, &bytes(LARGE))?,
            Step::PatchB => write(files, &mut after, "/b", LARGE / 2, &bytes(SMALL))?,
            Step::CutB => {
                with_open(files, "/b", |fd| files.ftruncate(fd, (LARGE / 2) as u64))?;
                after.entry("/b".to_owned()).or_default().iter_mut().for_each(|b| b.truncate(LARGE / 2));
            }
            Step::RenameAToB => rename(files, &mut after, "/a", "/b")?,
            Step::MoveAToD => rename(files, &mut after, "/a", "/d/a")?,
            Step::UnlinkA => {
                files.unlink("/a")?;
                after.remove("/a");
            }
            Step::MakeD => {
                files.mkdir("/d")?;
                after.insert("/d".to_owned(), None);
            }
            Step::RemoveD => {
                let mut between = None;
                if after.remove("/d/a").is_some() {
                    files.unlink("/d/a")?;
                    between = Some(after.clone());
                }
                files.rmdir("/d")?;
                after.remove("/d");
                return Ok(between.into_iter().chain([after]).collect());
            }
        }
        Ok(vec![after])
    }
}

fn with_open(
    files: &dyn Files,
    path: &str,
    work: impl FnOnce(Fd) -> FilesResult<()>,
) -> FilesResult<()> {
    let fd = files.open(path, OpenFlags::CREATE)?;
    let worked = work(fd);
    files.close(fd).and(worked)
}

fn write(files: &dyn Files, tree: &mut Tree, path: &str, at: usize, bytes: &[u8]) -> FilesResult<()> {
    with_open(files, path, |fd| files.pwrite(fd, at as u64, bytes))?;
    let file = tree.entry(path.to_owned()).or_default().get_or_insert_default();
    file.resize(file.len().max(at + bytes.len()), 0);
    file[at..at + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

fn rename(files: &dyn Files, tree: &mut Tree, from: &str, to: &str) -> FilesResult<()> {
    files.rename(from, to)?;
    let moved = tree.remove(from).unwrap_or_default();
    tree.insert(to.to_owned(), moved);
    Ok(())
}

/// Everything below a directory.
fn read(files: &dyn Files, directory: &str, tree: &mut Tree) -> FilesResult<()> {
    for (name, kind) in files.readdir(if directory.is_empty() { "/" } else { directory })? {
        let path = format!("{directory}/{name}");
        let contents = match kind {
            Kind::File => Some(files.read_file(&path)?),
            Kind::Directory => {
                read(files, &path, tree)?;
                None
            }
        };
        tree.insert(path, contents);
    }
    Ok(())
}

#[derive(Clone, Default)]
struct Atomic {
    /// The tree before the mutate, and those that its calls led to.
    trees: Vec<Tree>,
    /// Mutates so far: what each writes is its own.
    steps: u32,
}

fn build(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Atomic { trees: vec![Tree::new()], steps: 0 }))
}

impl Atomic {
    fn judge(&self, found: &Tree, epoch: Epoch) -> Result<(), Violation> {
        let last = self.trees.len() - 1;
        let allowed = match epoch {
            Epoch::Begin => 0..=0,
            Epoch::InBetween | Epoch::Soft => 0..=last,
            Epoch::End | Epoch::Now => last..=last,
        };
        if self.trees[allowed.clone()].contains(found) {
            return Ok(());
        }
        match self.trees.iter().position(|tree| tree == found) {
            Some(there) if there < *allowed.start() => {
                let message = format!("{last} calls have returned, {there} of them are there");
                Err(Violation::new(Verdict::Lost, DURABLE, message))
            }
            Some(_) => Err(Violation::new(Verdict::Resurrected, DURABLE, "a call that was not made is there")),
            None => {
                let names = found.keys().cloned().collect::<Vec<_>>().join(" ");
                let message = format!("neither the tree before the call nor the one after it: {names}");
                Err(Violation::new(Verdict::Corrupt, ATOMIC, message))
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
        let point = Point::action(steps.len() as u32, Label::at(Location::caller()));
        let step = steps[cx.choose_at(&Point { names: &names, ..point }) as usize];
        self.steps += 1;
        cx.check_crashes_start(&[]);
        let after = step.take(files.as_ref(), &before, self.steps);
        let after = after.map_err(|errno| Failure::Broken(format!("{}: {errno}", step.name())))?;
        self.trees = [before].into_iter().chain(after).collect();
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let mut found = Tree::new();
        match read(stack.files()?.as_ref(), "", &mut found) {
            Ok(()) => Ok(self.judge(&found, epoch)?),
            Err(errno @ (Errno::EIO | Errno::ENOMEM)) => Err(Failure::Broken(format!("reading: {errno}"))),
            Err(errno) => {
                let message = format!("the tree cannot be read: {errno}");
                Err(Violation::new(Verdict::Corrupt, INTACT, message).into())
            }
        }
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        let mut hasher = Xxh3::new();
        self.trees.hash(&mut hasher);
        Some(hasher.digest128().to_le_bytes().to_vec())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }
}
