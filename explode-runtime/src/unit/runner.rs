//! Runs units of one plan.

use std::cell::RefCell;

use explode_ramdisk::Image;

use super::chops::{Cache, Chops};
use crate::devices::Backend;
use crate::plan::{Origin, Plan, Registry};
use crate::stack::Blueprint;
use crate::verdict::Profile;

/// Runs units of one plan, each on its own stack, from the pristine disks that it made once.
#[derive(Debug)]
pub struct Runner<'a> {
    pub(super) registry: &'a Registry,
    /// With the effective values of all options.
    pub(super) plan: Plan,
    pub(super) blueprint: Blueprint,
    pub(super) backend: &'a dyn Backend,
    pub(super) pristine: Image,
    pub(super) profile: Option<Profile>,
    pub(super) hides: Vec<(String, &'static str)>,
    pub(super) leaves_out: Vec<String>,
    /// There are files after the first start.
    pub(super) begins_with_files: bool,
    pub(super) not_skipping: Option<String>,
    pub(super) reads_log: bool,
    pub(super) origin: Origin,
    pub(super) keep_events: bool,
    pub(super) chops: Chops,
    pub(super) chopped: RefCell<Cache>,
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

    /// What is the same of every stack of the plan.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// The disks that every way begins with.
    pub fn pristine(&self) -> &Image {
        &self.pristine
    }

    /// What it began with.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}
