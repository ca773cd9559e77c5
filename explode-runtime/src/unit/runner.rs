//! Runs units of one plan.

use std::cell::RefCell;

use explode_ramdisk::Image;

use super::chop_cache::{ChopCache, ChopPoints};
use crate::devices::Backend;
use crate::plan::{Plan, Registry, RunOrigin};
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
    pub(super) unobserved: Vec<(String, &'static str)>,
    pub(super) unsupported_calls: Vec<String>,
    /// There are files after the first start.
    pub(super) starts_populated: bool,
    pub(super) why_every_check_is_made: Option<String>,
    pub(super) reads_log: bool,
    pub(super) origin: RunOrigin,
    pub(super) keep_events: bool,
    pub(super) chops: ChopPoints,
    pub(super) chopped: RefCell<ChopCache>,
}

impl Runner<'_> {
    /// What the stack promises.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What the stack keeps where no event shows it.
    pub fn unobserved(&self) -> &[(String, &'static str)] {
        &self.unobserved
    }

    /// What the stack does not have, and the checker does without.
    pub fn unsupported_calls(&self) -> &[String] {
        &self.unsupported_calls
    }

    /// Why every check has to be made; none if one can stand for another.
    pub fn not_skipping(&self) -> Option<&str> {
        self.why_every_check_is_made.as_deref()
    }

    /// From now on units end with their events, and each is run from the pristine disks on.
    pub fn keep_events(&mut self) {
        self.keep_events = true;
    }

    /// From now on there are chops after these calls of mutate, whatever the plan says.
    pub fn chop_at(&mut self, mutates: &[u32]) {
        self.chops = ChopPoints::At(mutates.to_vec());
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
    pub fn origin(&self) -> &RunOrigin {
        &self.origin
    }
}
