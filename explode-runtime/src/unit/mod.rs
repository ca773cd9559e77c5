//! Running a unit of work: restore a state by replay, then call mutate (EX-48, EX-51, EX-52).
//!
//! | file | what |
//! | --- | --- |
//! | `start.rs` | the first start of the stack: its pristine disks, and what it can do |
//! | `steps.rs` | a unit, step by step |
//! | `driver.rs` | its mutates: their choices and their crash checks |
//! | `sources/` | what chooses besides the checker |
//! | `work.rs` | who makes the crash checks |
//! | `chops.rs` | places where a path is cut, and remembered |
//! | `ended.rs` | how a unit ended |

mod chops;
mod driver;
mod ended;
pub mod sources;
mod start;
mod steps;
mod work;

use std::cell::RefCell;

use explode_ramdisk::Image;

use crate::choose::Chooser;
use crate::devices::Backend;
use crate::explore::Unit;
use crate::judge::Pipeline;
use crate::plan::{Origin, Plan, Registry};
use crate::verdict::Profile;
use chops::{Cache, Chops};

use driver::UnitDriver;
use steps::Way;

pub use ended::{Early, Ended};
pub use work::{SoFar, Work};

/// Runs units of one plan, each on its own stack, from the pristine disks that it made once.
#[derive(Debug)]
pub struct Runner<'a> {
    registry: &'a Registry,
    /// With the effective values of all options.
    plan: Plan,
    backend: &'a dyn Backend,
    pristine: Image,
    profile: Option<Profile>,
    hides: Vec<(String, &'static str)>,
    leaves_out: Vec<String>,
    /// There are files after the first start.
    begins_with_files: bool,
    not_skipping: Option<String>,
    origin: Origin,
    keep_events: bool,
    chops: Chops,
    chopped: RefCell<Cache>,
}

impl Runner<'_> {
    /// What the stack promises.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What the stack keeps where no event shows it.
    pub fn hides(&self) -> &[(String, &'static str)] {
        &self.hides
    }

    /// What the stack does not have, and the checker does without.
    pub fn leaves_out(&self) -> &[String] {
        &self.leaves_out
    }

    /// Why every check has to be made; none if one can stand for another.
    pub fn not_skipping(&self) -> Option<&str> {
        self.not_skipping.as_deref()
    }

    /// From now on units end with their events, and each is run from the pristine disks on.
    pub fn keep_events(&mut self) {
        self.keep_events = true;
    }

    /// From now on there are chops after these calls of mutate, whatever the plan says.
    pub fn chop_at(&mut self, mutates: &[u32]) {
        self.chops = Chops::At(mutates.to_vec());
    }

    /// The disks that every way begins with.
    pub fn pristine(&self) -> &Image {
        &self.pristine
    }

    /// What it began with.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Runs a unit. The mutates of its state are replayed without checks; `work` does the checks of the others.
    pub fn run(&self, unit: &Unit, work: &mut dyn Work) -> Ended {
        let script = unit.state.choices.iter().chain(&unit.script).cloned().collect();
        let mut pipeline = Pipeline::new(self.registry, &self.plan, self.backend, self.pristine.clone());
        if self.keep_events {
            pipeline.keep_events();
        }
        let driver = UnitDriver::new(Chooser::new(script), pipeline, work);
        let mut way = Way { runner: self, unit, driver };
        let early = way.go().err();
        let UnitDriver { mut chooser, pipeline, operations, .. } = way.driver;
        if early.is_none() {
            chooser.finish();
        }
        let early =
            chooser.diverged().cloned().map(|divergence| Early::Diverged(Box::new(divergence))).or(early);
        let events = pipeline.into_events();
        Ended { choices: chooser.made().to_vec(), operations, early, events }
    }
}
