//! A system call that fails has no effect (EX-100); one that succeeds has all of it.
//!
//! mutate makes one of nine calls on a small tree, while functions of the kernel may fail
//! (`docs/guide/kernel-faults.md`). The call is applied to the abstract file system if it has
//! succeeded; if not, that stays as it is. Then the file system must be like the abstract one: as
//! it is, and again when everything was synced, the machine was stopped, and the disk was recovered
//! and mounted.
//!
//! A write(2) that has failed is exempt: no source promises how much of it was written. The rest of
//! the file must be as it was, and each byte of the range must be the old or the new one. What is
//! there then counts from then on. An ftruncate(2) that has failed may have cut the file or not:
//! POSIX does not specify it.
//!
//! A file system may also shut itself down: then every call says EIO, and there is nothing to
//! compare ([`shutdown`]).
//!
//! | promise | what |
//! | --- | --- |
//! | `failed-CALL-has-no-effect` | of a call that has failed: mkdir, create, open, write, fsync, rename, truncate, link, unlink, rmdir |
//! | `CALL-has-its-effect` | of one that has succeeded |
//! | `failed-CALL-has-no-effect-on-disk`, `CALL-has-its-effect-on-disk` | the same after the sync, recovered and mounted |
//! | `synced-by-sync` | of what was synced before a file system has shut itself down |

mod shutdown;
mod step;
#[cfg(test)]
mod tests;
mod tree;

use explode_ramdisk::files::{Files, FsCall, Session};
use explode_runtime::base::StepError;
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use nix::errno::Errno;

use super::model::{Abstract, make};
use super::start::{Start, StartTree};
use super::started::{FromFiles, START_OF_STEPS, Started};
use shutdown::Shutdown;
use step::{FailureStep, StepEnding};
use tree::{expected, found};

/// The name in the registry.
pub const NAME: &str = "fs-failures";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "a system call that fails has no effect, whatever function of the kernel failed (use \
         --set COMPONENT.fail=...)",
        |options| Ok(Box::new(Started::new(NAME, Failures::new(), options)?)),
    )
    .options([START_OF_STEPS])
}

/// The abstract file system, and how the last step has ended.
#[derive(Clone, Debug)]
struct Failures {
    /// The files are there, on the stack and in the tree. They stay over a chop.
    begun: bool,
    fs: Abstract,
    last: StepEnding,
    /// The file system has shut itself down.
    down: Option<Shutdown>,
    /// A sync has failed, so the contents of the disk are no longer promised.
    unsure: bool,
}

/// Every word for what is broken.
pub(super) fn words() -> Vec<String> {
    let on_disk = |word: String| [format!("{word}-on-disk"), word];
    let words = FailureStep::ends().flat_map(|ended| on_disk(ended.promise()));
    words.chain([super::model::SyncCall::Sync.synced().to_owned()]).collect()
}

impl Failures {
    /// The state before anything is there.
    fn new() -> Failures {
        Failures {
            begun: false,
            fs: Abstract::new(),
            last: StepEnding::Done("nothing"),
            down: None,
            unsure: false,
        }
    }

    /// Judges whether a file system is like the abstract one.
    fn compare(&self, files: &dyn Files, disk: &str) -> Result<(), CheckError> {
        let difference = match found(files) {
            Ok(found) => found.difference(&expected(&self.fs)),
            Err(unreadable) => Some(unreadable),
        };
        let Some(difference) = difference else { return Ok(()) };
        let on_disk = if disk.is_empty() { "" } else { "-on-disk" };
        let message = format!("{}, and{disk} {difference}", self.last);
        Err(Violation::new(Verdict::Corrupt, format!("{}{on_disk}", self.last.promise()), message)
            .into())
    }

    /// Chooses a step, and makes the calls before it.
    fn choose(&mut self, cx: &mut Cx<'_>, files: &dyn Files) -> Result<FailureStep, CheckError> {
        let mut steps = FailureStep::possible(&self.fs);
        let names: Vec<String> = steps.iter().map(|step| step.name.to_owned()).collect();
        let point = ChoicePoint::action(steps.len() as u32, Label::named(NAME));
        let step =
            steps.swap_remove(cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize);
        cx.without_faults(|_| make(&step.before(), files, |call| self.fs.apply(call)))?;
        Ok(step)
    }

    /// Compares the file system after a step that has left it up.
    fn judge(&mut self, step: &FailureStep, files: &dyn Files) -> Result<(), CheckError> {
        step.follow(&self.last, files, &mut self.fs).map_err(|difference| {
            let message = format!("{}, and {difference}", self.last);
            Violation::new(Verdict::Corrupt, self.last.promise(), message)
        })?;
        self.compare(files, "")
    }
}

impl Checker for Failures {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let files = stack.files()?;
        let mut session = Session::new(files.as_ref());
        for call in step::begin().iter().chain([&FsCall::Syncfs]) {
            session.make(call)?;
            self.fs.apply(call);
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        // The path has ended.
        if self.unsure || self.down.is_some() {
            return Err(CheckError::Stop);
        }
        let files = cx.stack().files()?;
        let step = self.choose(cx, files.as_ref())?;
        let ended = step.make(files.as_ref());
        if let StepEnding::Failed(text, errno) = &ended
            && !cx.fault_was_injected()
        {
            // A file system without hard links returns EPERM (link(2)). There is nothing to check
            // then.
            if matches!(step.call, FsCall::Link { .. }) && *errno == Errno::EPERM {
                return Ok(());
            }
            return Err(CheckError::broken(format!(
                "{text}: {errno}, and no function of the kernel had failed"
            )));
        }
        self.last = ended.clone();
        if cx.fault_was_injected() && cx.without_faults(|_| shutdown::is_down(files.as_ref())) {
            self.down = Some(Shutdown::after(&step, &ended, &mut self.fs));
            return cx.check_crashes_now(self, &[]);
        }
        cx.without_faults(|_| self.judge(&step, files.as_ref()))?;
        // After a failed fsync the contents of the file on the disk are unknown, even if a later
        // fsync succeeds (fsync(2), EIO).
        if matches!(ended, StepEnding::Failed("fsync /file", _)) {
            self.unsure = true;
            return Ok(());
        }
        // A file system that has given up returns an error. Its disk then holds what was synced
        // before.
        match cx.without_faults(|_| files.sync()) {
            Ok(()) => cx.check_soft_crash(self, &[]),
            Err(_) if matches!(ended, StepEnding::Failed(..)) => {
                self.unsure = true;
                Ok(())
            }
            Err(errno) => Err(CheckError::broken(format!("sync: {errno}"))),
        }
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let files = stack.files()?;
        match &self.down {
            Some(down) => down.compare(files.as_ref(), &self.last),
            None => self.compare(files.as_ref(), " on the disk"),
        }
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((expected(&self.fs), self.last.to_string(), &self.down)))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default())
    }
}

impl FromFiles for Failures {
    /// The files are synced when the checker begins, so only mounting them again makes a
    /// difference.
    fn starts(&self) -> Vec<Start> {
        vec![Start::AsMade, Start::committed(StartTree::OfSteps, true, false)]
    }

    fn begin(&mut self, _start: Start, _files: &dyn Files) -> Result<(), CheckError> {
        Ok(())
    }
}
