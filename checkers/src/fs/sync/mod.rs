//! Synced data survives every crash (EX-101): data that was synced by sync, or by fsync of a file
//! and of its directories.
//!
//! mutate takes one of 16 steps (`step.rs`; steps that would do nothing are left out). A step
//! changes a small tree, syncs a part of it, or both. If anything is promised, every disk that a
//! crash could leave right after the step is checked. The promises about one file must survive
//! changes to others.
//!
//! # The promises of a sync
//!
//! | call | durable afterwards |
//! | --- | --- |
//! | sync | everything |
//! | fsync of a file | its contents and its size, not its name |
//! | fdatasync of a file | its contents, and enough of its size to read them |
//! | fsync of a directory | its names; a name leads to an inode once the inode itself was synced |
//!
//! A file that was changed after it was synced keeps its promise on the rest. Written bytes may
//! hold the old data, the new data, or anything else. So may a hole around them, because it becomes
//! a block. If the size was changed, it is at least the smallest size since the sync, and bytes
//! below that size are kept. A name that was changed may be there or not. If it leads to a file,
//! that is one to which it has led since, with its synced contents. Nothing is promised about a
//! file that was removed or replaced, even if its name is back, because its blocks may have been
//! used again. No promise demands that a rename is atomic.
//!
//! # The words of the promises
//!
//! Profiles use these words. A word names the call that made the lost data durable: the strongest
//! call since the data was last changed.
//!
//! | promise | durable data |
//! | --- | --- |
//! | `synced-by-sync` | a file, a directory, or the removal of a name |
//! | `synced-by-fsync`, `synced-by-fdatasync` | the contents of a file without unsynced changes |
//! | `synced-directory` | a name, or its removal, by fsync of its directory |
//! | `partly-synced-by-sync`, `-by-fsync`, `-by-fdatasync` | the part of a file that later changes have not touched, or the contents without the name |
//!
//! If a profile excludes some of them, the promises of the others must still hold. Any other loss
//! is by design (`durable.rs`).
//!
//! `lost` means missing, too short, zeroes, or an older version. `corrupt` means too long, or
//! anything else. `resurrected` means a name that was removed before its directory was synced.

mod durable;
mod promises;
mod step;
mod synced;
#[cfg(test)]
mod tests;

use explode_ramdisk::files::Files;
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Unsupported,
};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, ShellDemand, Violation};

use crate::fs::model::promise::{self, PathPromise};
use crate::fs::model::{SyncCall, make};
use crate::fs::start::Start;
use crate::fs::started::{FromFiles, START_OF_STEPS, Started};
use durable::Durable;
use step::{BLOCK, SyncStep, Versions};

/// The name in the registry.
pub const NAME: &str = "fs-sync";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "what was synced is there after every crash, whatever is done to other files",
        |options| Ok(Box::new(Started::new(NAME, build(options)?, options)?)),
    )
    .options([
        START_OF_STEPS,
        OptionDef {
            name: "hole",
            about: "size of the hole before a write in bytes, a multiple of 4096; the default \
                    needs indirect blocks",
            default: "307200",
        },
        OptionDef {
            name: "when",
            about: "time of crashes: always, or only when everything is synced",
            default: "always",
        },
    ])
}

/// The changes so far, and the promises about them. There is no signature, because unsynced changes
/// are part of the state as well.
#[derive(Clone, Debug)]
pub(super) struct Sync {
    hole: usize,
    /// True if a crash happens only when everything is synced.
    at_rest: bool,
    durable: Durable,
    versions: Versions,
    /// The promises that must be kept, and all promises if the profile excludes some.
    promises: Vec<PathPromise>,
    others: Option<Vec<PathPromise>>,
}

/// The largest hole in bytes. It is limited because the contents of files are also kept in memory.
const LARGEST_HOLE: u64 = 64 << 20;

fn build(options: &Options) -> Result<Sync, UsageError> {
    let hole = options.int("hole", 300 << 10)?;
    if hole == 0 || hole > LARGEST_HOLE || !hole.is_multiple_of(BLOCK as u64) {
        let text =
            format!("a hole of {hole} bytes; use a multiple of {BLOCK}, up to {LARGEST_HOLE}");
        return Err(UsageError(text));
    }
    let hole = hole as usize;
    let at_rest = options.one_of("when", &[("always", false), ("synced", true)])?;
    Ok(Sync {
        hole,
        at_rest,
        durable: Durable::new(),
        versions: Versions::default(),
        promises: Vec::new(),
        others: None,
    })
}

impl Sync {
    /// Takes a step. Returns true if a crash may happen right after it.
    fn take(&mut self, step: SyncStep, files: &dyn Files) -> Result<bool, CheckError> {
        let calls = step.calls(self.hole, &self.durable.fs, &mut self.versions);
        make(&calls, files, |call| self.durable.follow(call))?;
        (self.promises, self.others) = self.durable.promises();
        let all = self.others.as_ref().unwrap_or(&self.promises);
        Ok(!all.is_empty() && (!self.at_rest || self.durable.is_synced()))
    }
}

impl Checker for Sync {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.durable.exclude(stack.excluded());
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        let steps = SyncStep::possible(&self.durable);
        let names: Vec<String> = steps.iter().map(|step| step.name().to_owned()).collect();
        let point = ChoicePoint::action(steps.len() as u32, Label::named(NAME));
        let step = steps[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        if self.take(step, files.as_ref())? { cx.check_crashes_now(self, &[]) } else { Ok(()) }
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let excluded = self.durable.excluded();
        promise::judge(stack.files()?.as_ref(), &self.promises, self.others.as_deref(), excluded)
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(promise::check_key(&self.promises, self.others.as_deref()))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default().promises(SyncCall::OURS.into_iter().map(SyncCall::synced)))
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self)
    }
}

impl FromFiles for Sync {
    fn promises_sync(&self) -> bool {
        !self.durable.excluded().contains(SyncCall::Sync.synced())
    }

    fn begin(&mut self, _start: Start, files: &dyn Files) -> Result<(), CheckError> {
        for step in SyncStep::TREE {
            self.take(step, files)?;
        }
        files.sync().map_err(|errno| CheckError::broken(format!("sync: {errno}")))?;
        self.durable.commit();
        (self.promises, self.others) = self.durable.promises();
        Ok(())
    }
}

impl Demands for Sync {
    fn demands(
        &self,
        _epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        Some(self.promises.iter().flat_map(PathPromise::demands).collect())
    }
}
