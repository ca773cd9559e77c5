//! Runs units of one plan.

use std::cell::RefCell;

use explode_ramdisk::Image;

use super::chop_cache::{ChopCache, ChopPoints};
use crate::base::ExactCount;
use crate::devices::Backend;
use crate::plan::{Plan, Registry, RunOrigin};
use crate::stack::Blueprint;
use crate::verdict::Profile;

/// Runs units of one plan, each on its own stack. All start from the pristine disks, which were
/// made once.
#[derive(Debug)]
pub struct Runner<'a> {
    pub(super) registry: &'a Registry,
    /// The plan with the effective values of all options.
    pub(super) plan: Plan,
    pub(super) blueprint: Blueprint,
    pub(super) backend: &'a dyn Backend,
    pub(super) pristine: Image,
    pub(super) profile: Option<Profile>,
    pub(super) unobserved: Vec<(String, &'static str)>,
    pub(super) unsupported_calls: Vec<String>,
    /// The number of mutates of a complete run on paths of 1, 2, 3 and more mutates.
    pub(super) forecast: Vec<ExactCount>,
    /// True if the file system was not empty after the first start.
    pub(super) starts_populated: bool,
    pub(super) why_every_check_is_made: Option<String>,
    pub(super) reads_log: bool,
    pub(super) origin: RunOrigin,
    pub(super) keep_events: bool,
    pub(super) record: bool,
    pub(super) chops: ChopPoints,
    pub(super) chopped: RefCell<ChopCache>,
}

impl Runner<'_> {
    /// Returns the promises of the stack. `None` without a profile.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Returns the state of the stack that no event shows.
    pub fn unobserved(&self) -> &[(String, &'static str)] {
        &self.unobserved
    }

    /// Returns the calls that the stack does not support and the checker omits.
    pub fn unsupported_calls(&self) -> &[String] {
        &self.unsupported_calls
    }

    /// Returns the number of mutates of a complete run on paths of 1, 2, 3 and more mutates.
    pub fn forecast(&self) -> &[ExactCount] {
        &self.forecast
    }

    /// Returns the reason why every check is made. `None` if verdicts can be reused.
    pub fn why_every_check_is_made(&self) -> Option<&str> {
        self.why_every_check_is_made.as_deref()
    }

    /// Makes each unit return its events from now on, and run from the pristine disks.
    pub fn keep_events(&mut self) {
        self.keep_events = true;
    }

    /// Makes the pipeline of each unit record its log from now on.
    pub fn record(&mut self) {
        self.record = true;
    }

    /// Sets chops after these calls of mutate, in place of those of the plan.
    pub fn chop_at(&mut self, mutates: &[u32]) {
        self.chops = ChopPoints::At(mutates.to_vec());
    }

    /// Returns the part that all stacks of the plan share.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Returns the disks on which every path begins.
    pub fn pristine(&self) -> &Image {
        &self.pristine
    }

    /// Returns the versions and defaults that the run started with.
    pub fn origin(&self) -> &RunOrigin {
        &self.origin
    }
}
