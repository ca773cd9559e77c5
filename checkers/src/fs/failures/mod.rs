//! A system call that fails has no effect (EX-100); one that succeeds has all of it.
//!
//! mutate makes one of nine calls on a small tree, while functions of the kernel may fail
//! (`docs/guide/kernel-faults.md`). The same call is made on simulated files, the model, if it has
//! succeeded; if not, the model stays as it is. Then the file system must be like the model: as it
//! is, and again when everything was synced, the machine was stopped, and the disk was recovered
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

mod call;
mod shutdown;
mod tree;

use explode_ramdisk::files::{Files, Granule, SimFiles};
use explode_ramdisk::{Image, Recording, Storage};
use explode_runtime::base::{Options, StepError, UsageError};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::choose::{ChoicePoint, Label};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use nix::errno::Errno;

use call::{FailureStep, StepEnding};
use shutdown::Shutdown;
pub(super) use tree::FailureTree;

/// The name in the registry.
pub const NAME: &str = "fs-failures";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "a system call that fails has no effect, whatever function of the kernel failed (use \
         --set COMPONENT.fail=...)",
        build,
    )
}

/// The model, and how the last call has ended.
#[derive(Debug)]
struct Failures {
    /// The files are there, on the stack and in the model. They stay over a chop.
    begun: bool,
    model: SimFiles,
    last: StepEnding,
    /// The file system has shut itself down.
    down: Option<Shutdown>,
    /// A sync has failed, so the contents of the disk are no longer promised.
    unsure: bool,
}

fn build(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let storage = Storage::new(Image::new(), Recording::Off);
    let model = SimFiles::mount(storage, 0, Granule::default())
        .map_err(|errno| UsageError(format!("no simulated files: {errno}")))?;
    Ok(Box::new(Failures {
        begun: false,
        model,
        last: StepEnding::Done("nothing"),
        down: None,
        unsure: false,
    }))
}

/// Every word for what is broken.
#[cfg(test)]
pub(super) fn words() -> Vec<String> {
    let on_disk = |word: String| [format!("{word}-on-disk"), word];
    let words = FailureStep::ends().flat_map(|ended| on_disk(ended.promise()));
    words.chain(["synced-by-sync".to_owned()]).collect()
}

impl Failures {
    /// Is a file system like the model?
    fn compare(&self, files: &dyn Files, disk: &str) -> Result<(), CheckError> {
        let model = FailureTree::of(&self.model)
            .map_err(|error| CheckError::broken(format!("the model: {error}")))?;
        let difference = match FailureTree::of(files) {
            Ok(found) => found.difference(&model),
            Err(error) => Some(error),
        };
        let Some(difference) = difference else { return Ok(()) };
        let on_disk = if disk.is_empty() { "" } else { "-on-disk" };
        let message = format!("{}, and{disk} {difference}", self.last);
        Err(Violation::new(Verdict::Corrupt, format!("{}{on_disk}", self.last.promise()), message)
            .into())
    }
}

impl Checker for Failures {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        for files in [stack.files()?.as_ref(), &self.model] {
            call::prepare(files)?;
            files.sync()?;
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        // The path has ended.
        if self.unsure || self.down.is_some() {
            return Err(CheckError::Stop);
        }
        let files = cx.stack().files()?;
        let calls = cx.without_faults(|_| FailureStep::possible(&self.model));
        let names: Vec<String> = calls.iter().map(|call| call.name().to_owned()).collect();
        let point = ChoicePoint::action(calls.len() as u32, Label::named(NAME));
        let call = calls[cx.choose_at(&ChoicePoint { names: &names, ..point }) as usize];
        cx.without_faults(|_| call.prepare(files.as_ref(), &self.model))?;
        let ended = call.make(files.as_ref());
        if let StepEnding::Failed(what, errno) = &ended
            && !cx.fault_was_injected()
        {
            // A file system without hard links returns EPERM (link(2)). There is nothing to check
            // then.
            if call == FailureStep::Link && *errno == Errno::EPERM {
                return Ok(());
            }
            return Err(CheckError::broken(format!(
                "{what}: {errno}, and no function of the kernel had failed"
            )));
        }
        self.last = ended.clone();
        if cx.fault_was_injected() && cx.without_faults(|_| shutdown::is_down(files.as_ref())) {
            self.down = Some(Shutdown::after(call, &ended, &self.model)?);
            return cx.check_crashes_now(self, &[]);
        }
        cx.without_faults(|_| {
            let followed = call.follow(&ended, files.as_ref(), &self.model)?;
            followed.map_or(Ok(()), |difference| {
                let message = format!("{}, and {difference}", self.last);
                Err(Violation::new(Verdict::Corrupt, self.last.promise(), message))
            })?;
            self.compare(files.as_ref(), "")
        })?;
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
        if let Some(down) = &self.down {
            return down.compare(stack.files()?.as_ref(), &self.last);
        }
        self.compare(stack.files()?.as_ref(), " on the disk")
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        let tree = FailureTree::of(&self.model).ok()?;
        Some(digest((tree, self.last.to_string(), &self.down)))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default())
    }
}
