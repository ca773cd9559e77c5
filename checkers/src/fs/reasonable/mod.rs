//! A recovered file system is reasonable (EX-102, EX-103): what was forced is there unless it was deleted, and nothing is there that
//! was never made.
//!
//! mutate makes one of the eight system calls on one node of the tree ([`topology`](super::topology)), or forces something: sync(2), or
//! fsync(2) of one file or directory. Every disk that a crash could leave meanwhile and right then is checked: some of the operations
//! that are volatile then, with all that are stable, must build what is there. After `mkdir /a`, `mkdir /a/b` that may be `/`, `/a` or
//! `/a/b`; if fsync of `/` and of `/a` came between, `/` alone is wrong.
//!
//! # What is judged
//!
//! | promise | what |
//! | --- | --- |
//! | `flushed-name` | a name whose directory was forced, and its inode, is there: it leads to what it did, or where a later call has led it (fsync(2), DESCRIPTION) |
//! | `deleted-name` | a name that was taken away is not there once its directory was forced |
//! | `created-name` | a name that no call has made is not there; but in `lost+found`, and as `FSCK....REC`, where a repair sets aside what it finds |
//! | `flushed-contents` | what was forced of a file, and not changed since, is there; and its size (fsync(2)) |
//! | `unsynced-contents` | the rest of a file is zeroes, or what was written there at some time, and no longer than it ever was since; with `unsynced=any` it may hold anything |
//! | `kind` | a name leads to a file or a directory as it did |
//! | `one-sequence` | all of it at once: a name is not missing whose file is there by another, names that were forced and lead to one file do so, and those of two files do not; with `copies=false` no file is there twice |
//! | `link-count` | a file has as many links as names (stat(2), st_nlink) |
//! | `readable` | everything can be read |
//!
//! POSIX and the manual pages promise nothing of what was not forced, and nothing here asks for it: of volatile operations any may be
//! there, in any combination, that a rename is atomic included; what replaces a name may be missing together with what it replaces.
//! What has lost its last name may be anything while its name can come back, for its inode and its blocks may be another's by then.
//! That unsynced contents are not somebody else's is written down for some file systems only (ext4's data=ordered), so
//! `unsynced-contents` is the one line that asks for more than POSIX; `unsynced=any` takes it back.

mod contents;
mod explain;
mod history;
mod search;
mod step;
mod targets;
#[cfg(test)]
mod tests;
mod tree;

use std::hash::Hash as _;

use explode_runtime::check::{Checker, Cx, Failure, Verdict, Violation};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::recover::Stack;
use explode_runtime::run::{CheckerDef, OptionDef, Options, UsageError};
use xxhash_rust::xxh3::Xxh3;

use super::topology::{Abstract, CALLS, DIRS, FAR, FILES, Limits};
use contents::Garbage;
use history::History;
use search::Search;
use step::Step;
use tree::{Tree, Unread};

pub(crate) use targets::targets;

/// As it stands in the registry.
pub const DEF: CheckerDef = CheckerDef {
    name: "fs-reasonable",
    about: "what was forced is there unless it was deleted, and nothing is there that was never made",
    options: &[
        FILES,
        DIRS,
        FAR,
        CALLS,
        OptionDef {
            name: "unsynced",
            about: "what unsynced contents may be: own (zeroes, or what was written there), any",
            default: "own",
        },
        OptionDef {
            name: "copies",
            about: "may a rename or link that is not forced leave a file as two, as FAT does: true, false",
            default: "true",
        },
    ],
    build,
};

/// The tree, and what of its making is stable and volatile.
#[derive(Clone, Debug)]
struct Reasonable {
    limits: Limits,
    garbage: Garbage,
    copies: bool,
    fs: Abstract,
    /// How many writes there were.
    writes: u32,
    /// While the last step was taken, and now.
    during: History,
    now: History,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let mut now = History::default();
    let fs = Abstract::new();
    now.sync(&fs);
    Ok(Box::new(Reasonable {
        limits: Limits::of(options)?,
        garbage: options.one_of("unsynced", &[("own", Garbage::Own), ("any", Garbage::Any)])?,
        copies: options.bool("copies", true)?,
        fs,
        writes: 0,
        during: now.clone(),
        now,
    }))
}

impl Reasonable {
    /// Is a tree reasonable?
    fn judge(&self, tree: &Tree, history: &History) -> Result<(), Violation> {
        let mut search = Search::new(&self.fs, history, tree, self.garbage, self.copies);
        if !search.is_legal() {
            return Err(explain::why(&mut search));
        }
        explain::links(tree).map_or(Ok(()), Err)
    }
}

impl Checker for Reasonable {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let files = cx.stack().files()?;
        let steps = Step::possible(&self.fs, &self.now, &self.limits);
        let names: Vec<String> = steps.iter().map(Step::name).collect();
        let point = Point::action(steps.len() as u32, Label::named(DEF.name));
        let step = &steps[cx.choose_at(&Point { names: &names, ..point }) as usize];
        cx.check_crashes_start(&[]);
        step.take(self, files.as_ref())?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let history = match epoch {
            Epoch::Begin | Epoch::InBetween => &self.during,
            Epoch::End | Epoch::Now | Epoch::Soft => &self.now,
        };
        match Tree::of(stack.files()?.as_ref()) {
            Ok(tree) => Ok(self.judge(&tree, history)?),
            Err(Unread::Damaged(text)) => Err(Violation::new(Verdict::Corrupt, "readable", text).into()),
            Err(Unread::Broken(failure)) => Err(failure),
        }
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        let mut hasher = Xxh3::new();
        (&self.fs, &self.during, &self.now).hash(&mut hasher);
        Some(hasher.digest128().to_le_bytes().to_vec())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }
}
