//! A recovered file system is reasonable (EX-102, EX-103): forced data is there unless it was
//! deleted, and nothing is there that was never made.
//!
//! mutate makes one of the system calls on one node of the tree ([`topology`]), or forces something
//! by sync(2), or by fsync(2) of one file, by each of its names, or of one directory. Every disk
//! that a crash could leave during the step and right after it is checked. Some of the operations
//! that are volatile then, with all that are stable, must build the recovered tree. After
//! `mkdir /a`, `mkdir /a/b` the tree may be `/`, `/a` or `/a/b`. If fsync of `/` and of `/a` came
//! between, `/` alone is wrong.
//!
//! # The promises
//!
//! | promise | meaning |
//! | --- | --- |
//! | `flushed-name` | a name whose directory and inode were forced is there; it leads where it did, or where a later call has led it (fsync(2), DESCRIPTION) |
//! | `deleted-name` | a name that was removed is not there once its directory was forced |
//! | `created-name` | a name that no call has made is not there, except in `lost+found`, and as `FSCK....REC`, where a repair sets aside what it finds |
//! | `flushed-contents` | forced data of a file, or the target of a symbolic link, is there if it was not changed since; also the size (fsync(2)) |
//! | `unsynced-contents` | the rest of a file is zeroes, or data written there at some time, and not longer than it ever was since; with `unsynced=any` it may hold anything |
//! | `flushed-attributes` | once a file or directory is forced it has the mode and the extended attributes that it had then, or those of a later call (fsync(2): "also flushes the metadata information associated with the file (see inode(7))"; xattr(7)) |
//! | `unsynced-attributes` | before that, it has those that it had when it was new or at some time since |
//! | `kind` | a name leads to an object of the same kind as before |
//! | `one-sequence` | all names together are possible: a name is not missing if its file is there by another name; forced names of one file lead to one file, and those of two files lead to two; with `copies=false` no file is there twice |
//! | `link-count` | a file has as many links as names (stat(2), st_nlink) |
//! | `readable` | everything can be read |
//!
//! A profile may exclude `unsynced-contents` and `unsynced-attributes` (`words.rs`), and with them
//! the structure: `created-name`, `kind`, `one-sequence`, `link-count` and `readable`, all or none.
//! Other violations are reported before an excluded one (`judge.rs`). If the structure is broken,
//! the violations that single names show of forced data are reported (`demands.rs`). A sync whose
//! promise the profile excludes (`synced-by-sync`, `synced-by-fsync`, `synced-by-msync`,
//! `synced-directory`) makes nothing stable here.
//!
//! `call-has-its-effect` is broken if the file system differs from the abstract one without a
//! crash.
//!
//! POSIX and the manual pages promise nothing about data that was not forced, and this checker
//! demands nothing. Any combination of volatile operations may be on disk. A rename need not be
//! atomic: the new name may be missing together with the name that it replaces. An inode that has
//! lost its last name may be anything while the name can come back, because its number and its
//! blocks may belong to another inode by then. An exchange need not be atomic either, unless
//! `exchange=whole` demands that it is there whole or not at all, as with a journal (Linux,
//! Documentation/filesystems/ext4/journal.rst: "guaranteeing the atomicity of whatever gets written
//! through the journal"). A symbolic link cannot be opened, so only sync forces it. Before that it
//! may be empty. msync forces stored data (POSIX, msync), in a file that exists. Only some file
//! systems document that unsynced contents are never those of another file (ext4's data=ordered).
//! So `unsynced-contents` is the only promise that exceeds POSIX. `unsynced=any` drops it.

mod assign;
mod contents;
pub(in crate::fs) mod demands;
mod explain;
pub(in crate::fs) mod free;
#[doc(hidden)]
pub mod hard;
mod judge;
mod pairs;
#[cfg(test)]
mod plain;
mod search;
mod signature;
mod state;
mod step;
#[cfg(test)]
mod subsets;
#[cfg(test)]
mod tests;
mod tree;
pub(in crate::fs) mod words;

use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Probe, Topology, Unsupported,
    digest,
};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, ShellDemand, Violation};

use super::model::CALLS;
use super::started::{START, Started};
use super::topology::{self, DIRS, FAR, FILES, probe};
pub(in crate::fs) use state::Reasonable;
use step::FsStep;

/// The name in the registry.
pub const NAME: &str = "fs-reasonable";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "what was forced is there unless it was deleted, and nothing is there that was never made",
        build,
    )
    .options([FILES, DIRS, FAR, CALLS, START, UNSYNCED, COPIES, EXCHANGE])
}

pub(in crate::fs) const UNSYNCED: OptionDef = OptionDef {
    name: "unsynced",
    about: "allowed unsynced contents: own (zeroes, or bytes written there), any",
    default: "own",
};
pub(in crate::fs) const COPIES: OptionDef = OptionDef {
    name: "copies",
    about: "allow an unforced rename or link to leave two copies of a file, as on FAT: true, false",
    default: "true",
};
pub(in crate::fs) const EXCHANGE: OptionDef = OptionDef {
    name: "exchange",
    about: "allowed result of a crash in an exchange: half (one file under both names), whole",
    default: "half",
};

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Started::new(NAME, Reasonable::of(options)?, options)?))
}

impl Checker for Reasonable {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.limits.calls = self.limits.calls.without_all(stack.unsupported_calls());
        self.excluded = stack.excluded();
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        let steps = FsStep::possible(&self.fs, &self.history.now, &self.free, &self.limits);
        let names: Vec<String> = steps.iter().map(FsStep::name).collect();
        let point = ChoicePoint::action(steps.len() as u32, Label::named(NAME));
        let step = &steps[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        cx.check_crashes_start(&[]);
        step.take(self, files.as_ref())?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let judged = self.judge_files(stack.files()?.as_ref(), self.history.at(epoch));
        if let Err(CheckError::Violation(Violation { promise, .. })) = &judged {
            assert!(words::all().any(|word| word == promise), "{promise} is in words.rs");
        }
        judged
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        Some(signature::signature(&self.fs, &self.history.now, &self.free, self.whole))
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((&self.fs, &self.history)))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        let attributes =
            words::OF_ATTRIBUTES.into_iter().filter(|_| self.limits.calls.are_of_attributes());
        Ok(CheckerFacts::default().promises(words::WORDS.into_iter().chain(attributes)))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        let abilities = CheckerAbilities::default().demands(self).topology(self);
        if self.limits.calls.need_a_probe() { abilities.probe(self) } else { abilities }
    }
}

impl Probe for Reasonable {
    fn probe(&self, stack: &Stack) -> Result<Vec<String>, StepError> {
        let missing = probe(stack.files()?.as_ref(), self.limits.calls)?;
        Ok(missing.into_iter().map(str::to_owned).collect())
    }
}

impl Topology for Reasonable {
    fn topology(&self) -> Vec<u8> {
        topology::signature(&self.fs)
    }
}

impl Demands for Reasonable {
    fn demands(
        &self,
        epoch: Epoch,
        _args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        demands::demands(&self.fs, self.history.at(epoch), self.limits.calls, violation)
    }
}
