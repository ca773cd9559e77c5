//! Every call is atomic, and durable when it returns: a crash leaves the tree before or after the
//! call that was running.
//!
//! This is stricter than POSIX and meant for file systems that promise it. A mutate is one call
//! that changes a tree of two files and a directory, or a few such calls in order. Opening a file
//! that does not exist makes an empty one. Written data appears with the close, so a write and its
//! close count as one call. The whole tree is compared, with all contents.

use std::collections::BTreeMap;

use explode_ramdisk::files::{FileKind, Files, FsCall, OpenFlags, Result as FilesResult};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use itertools::Itertools as _;
use nix::errno::Errno;

use super::RESERVED;
use super::model::{Abstract, make};
use super::start::Start;
use super::started::{FromFiles, START_OF_STEPS, Started};

/// The name in the registry.
pub const NAME: &str = "fs-atomic";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "every call that changes files is there whole or not at all after a crash, and stays once \
         it has returned",
        |options| Ok(Box::new(Started::new(NAME, Atomic::new(), options)?)),
    )
    .options([START_OF_STEPS])
}

/// A call is on disk whole or not at all.
const ATOMIC: &str = "atomic-call";
/// A call that has returned is on disk.
const DURABLE: &str = "durable-call";
/// The whole tree can be read.
const INTACT: &str = "intact";

/// The sizes in bytes of a small file and of a file of several blocks.
const SMALL: usize = 30;
const LARGE: usize = 3000;
/// The number of names on the longest path that is followed. A valid path has at most two.
const DEEPEST: usize = 4;

/// The paths of a tree, each with the contents of its file. `None` for a directory or a symbolic
/// link.
type AtomicTree = BTreeMap<String, Option<Vec<u8>>>;

/// One call of mutate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AtomicStep {
    /// Writes a few bytes to the start of `/a`, and makes it if necessary.
    WriteA,
    /// Writes several blocks to `/b`.
    WriteB,
    /// Writes a few bytes into the middle of `/b`.
    PatchB,
    /// Truncates `/b`.
    CutB,
    /// Renames `/a` to `/b`, which may exist.
    RenameAToB,
    /// Moves `/a` into the directory, as `/d/a`.
    MoveAToD,
    /// Removes `/a`.
    UnlinkA,
    /// Makes `/d`.
    MakeD,
    /// Removes `/d/a`, if it exists, and then `/d`.
    RemoveD,
}

const STEPS: [AtomicStep; 9] = [
    AtomicStep::WriteA,
    AtomicStep::WriteB,
    AtomicStep::PatchB,
    AtomicStep::CutB,
    AtomicStep::RenameAToB,
    AtomicStep::MoveAToD,
    AtomicStep::UnlinkA,
    AtomicStep::MakeD,
    AtomicStep::RemoveD,
];

impl AtomicStep {
    fn is_possible(self, fs: &Abstract) -> bool {
        let (a, d) = (fs.find("/a").is_some(), fs.find("/d").is_some());
        let b = fs.find("/b").map_or(0, |b| fs.bytes(b).len());
        match self {
            AtomicStep::WriteA | AtomicStep::WriteB => true,
            AtomicStep::PatchB | AtomicStep::CutB => b > LARGE / 2,
            AtomicStep::RenameAToB | AtomicStep::UnlinkA => a,
            AtomicStep::MoveAToD => a && d,
            AtomicStep::MakeD => !d,
            AtomicStep::RemoveD => d,
        }
    }

    fn name(self) -> &'static str {
        match self {
            AtomicStep::WriteA => "write /a",
            AtomicStep::WriteB => "write /b",
            AtomicStep::PatchB => "write into /b",
            AtomicStep::CutB => "truncate /b",
            AtomicStep::RenameAToB => "rename /a /b",
            AtomicStep::MoveAToD => "rename /a /d/a",
            AtomicStep::UnlinkA => "unlink /a",
            AtomicStep::MakeD => "mkdir /d",
            AtomicStep::RemoveD => "unlink /d/a; rmdir /d",
        }
    }

    /// Returns the calls of the step. The written data begins with `n`.
    fn calls(self, fs: &Abstract, n: u32) -> Vec<FsCall> {
        let bytes = |len: usize| format!("{n:<len$}").into_bytes();
        let (a, b, d) = (|| "/a".to_owned(), || "/b".to_owned(), || "/d".to_owned());
        let open = |call: FsCall| {
            let path = call.paths().concat();
            let open = FsCall::Open { path: path.clone(), flags: OpenFlags::CREATE };
            vec![open, call, FsCall::Close { path }]
        };
        match self {
            AtomicStep::WriteA => open(FsCall::pwrite("/a", 0, bytes(SMALL))),
            AtomicStep::WriteB => open(FsCall::pwrite("/b", 0, bytes(LARGE))),
            AtomicStep::PatchB => open(FsCall::pwrite("/b", LARGE as u64 / 2, bytes(SMALL))),
            AtomicStep::CutB => open(FsCall::Ftruncate { path: b(), size: LARGE as u64 / 2 }),
            AtomicStep::RenameAToB => vec![FsCall::Rename { from: a(), to: b() }],
            AtomicStep::MoveAToD => vec![FsCall::Rename { from: a(), to: "/d/a".to_owned() }],
            AtomicStep::UnlinkA => vec![FsCall::Unlink { path: a() }],
            AtomicStep::MakeD => vec![FsCall::Mkdir { path: d() }],
            AtomicStep::RemoveD => {
                let unlink = fs.find("/d/a").map(|_| FsCall::Unlink { path: "/d/a".to_owned() });
                unlink.into_iter().chain([FsCall::Rmdir { path: d() }]).collect()
            }
        }
    }
}

/// Returns the paths of an abstract file system, with the contents of the files.
fn tree(fs: &Abstract) -> AtomicTree {
    let contents = |id| fs.is_file(id).then(|| fs.bytes(id).to_vec());
    fs.paths().into_iter().map(|(path, id)| (path, contents(id))).collect()
}

/// Returns the contents of a file, at most `LARGE + 1` bytes. A damaged file may have any size.
fn read_file(files: &dyn Files, path: &str) -> FilesResult<Vec<u8>> {
    let fd = files.open(path, OpenFlags::EXISTING)?;
    let mut bytes = vec![0; LARGE + 1];
    let read = files.pread(fd, 0, &mut bytes);
    files.close(fd)?;
    bytes.truncate(read?);
    Ok(bytes)
}

/// Reads everything below a directory, down to `DEEPEST` names. A damaged directory may contain
/// itself.
fn read(files: &dyn Files, directory: &str, tree: &mut AtomicTree) -> FilesResult<()> {
    for (name, kind) in files.readdir(if directory.is_empty() { "/" } else { directory })? {
        let path = format!("{directory}/{name}");
        let contents = match kind {
            FileKind::File => Some(read_file(files, &path)?),
            FileKind::Symlink => None,
            FileKind::Directory => {
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

/// Returns a tree without the empty files and directories that are reserved by the file system.
fn without_reserved(mut tree: AtomicTree) -> AtomicTree {
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

#[derive(Clone)]
struct Atomic {
    fs: Abstract,
    /// The tree before the mutate, and the trees that its calls led to.
    trees: Vec<AtomicTree>,
    /// The number of mutates so far. It makes the data of each mutate distinct.
    steps: u32,
}

impl Atomic {
    fn new() -> Atomic {
        Atomic { fs: Abstract::new(), trees: vec![AtomicTree::new()], steps: 0 }
    }

    fn possible(&self) -> Vec<AtomicStep> {
        STEPS.into_iter().filter(|step| step.is_possible(&self.fs)).collect()
    }

    /// Makes the calls of a step. Written data appears only with the close, so the tree after the
    /// write is not an allowed state.
    fn take(&mut self, files: &dyn Files, step: AtomicStep) -> Result<(), CheckError> {
        self.steps += 1;
        self.trees = vec![tree(&self.fs)];
        make(&step.calls(&self.fs, self.steps), files, |call| {
            self.fs.apply(call);
            let tree = tree(&self.fs);
            let is_written = matches!(call, FsCall::Pwrite { .. } | FsCall::Ftruncate { .. });
            if !is_written && self.trees.last() != Some(&tree) {
                self.trees.push(tree);
            }
        })
    }

    fn judge(&self, found: &AtomicTree, epoch: Epoch) -> Result<(), Violation> {
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
            Some(present) if present < *allowed.start() => {
                let message = format!("{last} calls have returned, {present} of them are there");
                Err(Violation::new(Verdict::Lost, DURABLE, message))
            }
            Some(_) => Err(Violation::new(
                Verdict::Resurrected,
                DURABLE,
                "a call that was not made is there",
            )),
            None => {
                let names = found.keys().map(|name| name.escape_debug().to_string()).join(" ");
                let message =
                    format!("neither the tree before the call nor the one after it: {names}");
                Err(Violation::new(Verdict::Corrupt, ATOMIC, message))
            }
        }
    }
}

impl FromFiles for Atomic {
    fn begin(&mut self, _start: Start, files: &dyn Files) -> Result<(), CheckError> {
        for step in [AtomicStep::WriteA, AtomicStep::WriteB, AtomicStep::MakeD] {
            self.take(files, step)?;
        }
        files.sync().map_err(|errno| CheckError::broken(format!("sync: {errno}")))?;
        self.trees = vec![tree(&self.fs)];
        Ok(())
    }
}

impl Checker for Atomic {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        let steps = self.possible();
        let names: Vec<String> = steps.iter().map(|step| step.name().to_owned()).collect();
        let point = ChoicePoint::action(steps.len() as u32, Label::named(NAME));
        let step = steps[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        cx.check_crashes_start(&[]);
        self.take(files.as_ref(), step)?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let mut found = AtomicTree::new();
        match read(stack.files()?.as_ref(), "", &mut found) {
            Ok(()) => Ok(self.judge(&without_reserved(found), epoch)?),
            Err(errno @ (Errno::EIO | Errno::ENOMEM)) => {
                Err(CheckError::broken(format!("reading: {errno}")))
            }
            Err(errno) => {
                let message = format!("the tree cannot be read: {errno}");
                Err(Violation::new(Verdict::Corrupt, INTACT, message).into())
            }
        }
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
