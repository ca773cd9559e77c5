//! The checker as it was, beside the new one: its own calls and its own model. A disagreement is
//! `broken`.

mod call;
mod shutdown;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use explode_ramdisk::files::{Files, Granule, SimFiles};
use explode_ramdisk::{Image, Recording, Storage};
use explode_runtime::check::digest;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use super::step::StepEnding;
pub use call::{OldEnding, OldStep, prepare};
use shutdown::OldShutdown;
pub use tree::OldTree;

/// How many were compared: choices, states after a step, disks, disks of a shutdown, and how many
/// of the states and disks were refused.
static COMPARED: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];
static KEYS: Mutex<[BTreeMap<Vec<u8>, Vec<u8>>; 2]> =
    Mutex::new([BTreeMap::new(), BTreeMap::new()]);

fn count(what: usize, refused: bool) {
    COMPARED[what].fetch_add(1, Ordering::Relaxed);
    COMPARED[4].fetch_add(refused.into(), Ordering::Relaxed);
    let [choices, states, disks, shutdowns, refused] =
        [0, 1, 2, 3, 4].map(|at| COMPARED[at].load(Ordering::Relaxed));
    eprintln!("compared: {choices} {states} {disks} {shutdowns} refused {refused}");
}

#[derive(Debug)]
pub struct OldSide {
    pub model: SimFiles,
    last: OldEnding,
    down: Option<OldShutdown>,
}

impl OldSide {
    pub fn new() -> OldSide {
        let storage = Storage::new(Image::new(), Recording::Off);
        let model = SimFiles::mount(storage, 0, Granule::default()).unwrap();
        prepare(&model).unwrap();
        OldSide { model, last: OldEnding::Done("nothing"), down: None }
    }

    fn step(name: &str) -> OldStep {
        OldStep::ALL.into_iter().find(|step| step.name() == name).unwrap()
    }

    fn ending(ended: &StepEnding) -> OldEnding {
        match ended {
            StepEnding::Done(what) => OldEnding::Done(what),
            StepEnding::Failed(what, errno) => OldEnding::Failed(what, *errno),
        }
    }

    pub fn chosen(&self, names: &[String], step: &str) -> Result<(), CheckError> {
        let old: Vec<&str> =
            OldStep::possible(&self.model).into_iter().map(OldStep::name).collect();
        if old != names {
            return Err(CheckError::broken(format!("possible: {old:?}, now {names:?}")));
        }
        count(0, false);
        OldSide::step(step).prepare(&self.model)
    }

    pub fn is_down(&mut self, step: &str, ended: &StepEnding) -> Result<(), CheckError> {
        self.last = OldSide::ending(ended);
        self.down = Some(OldShutdown::after(OldSide::step(step), &self.last, &self.model)?);
        Ok(())
    }

    pub fn judge(
        &mut self,
        step: &str,
        ended: &StepEnding,
        files: &dyn Files,
        new: Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        self.last = OldSide::ending(ended);
        let old = OldSide::step(step).follow(&self.last, files, &self.model).and_then(|followed| {
            followed.map_or(Ok(()), |difference| {
                let message = format!("{}, and {difference}", self.last);
                Err(Violation::new(Verdict::Corrupt, self.last.promise(), message))
            })?;
            self.compare(files, "")
        });
        same(1, &old, new)
    }

    pub fn check(&self, files: &dyn Files, new: Result<(), CheckError>) -> Result<(), CheckError> {
        match &self.down {
            Some(down) => same(3, &down.compare(files, &self.last), new),
            None => same(2, &self.compare(files, " on the disk"), new),
        }
    }

    /// The keys of two states are equal in the old one exactly if they are in the new one.
    pub fn key(&self, new: &[u8]) {
        let tree = OldTree::of(&self.model).unwrap();
        let old = digest((tree, self.last.to_string(), &self.down));
        let [from, to] = &mut *KEYS.lock().unwrap();
        assert_eq!(from.entry(old.clone()).or_insert_with(|| new.to_vec()), new);
        assert_eq!(*to.entry(new.to_vec()).or_insert_with(|| old.clone()), old);
    }

    fn compare(&self, files: &dyn Files, disk: &str) -> Result<(), CheckError> {
        let model = OldTree::of(&self.model)
            .map_err(|error| CheckError::broken(format!("the model: {error}")))?;
        let difference = match OldTree::of(files) {
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

fn same(
    what: usize,
    old: &Result<(), CheckError>,
    new: Result<(), CheckError>,
) -> Result<(), CheckError> {
    if format!("{old:?}") != format!("{new:?}") {
        return Err(CheckError::broken(format!("old and new disagree: {old:?}, now {new:?}")));
    }
    count(what, new.is_err());
    new
}
