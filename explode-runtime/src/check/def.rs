//! Checkers that can be named.

use super::Checker;
use crate::base::{OptionDef, Options, UsageError};

/// A checker that can be named.
#[derive(Clone, Copy, Debug)]
pub struct CheckerDef {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its options.
    pub options: &'static [OptionDef],
    /// Makes one.
    pub build: fn(&Options) -> Result<Box<dyn Checker>, UsageError>,
}

impl CheckerDef {
    /// Makes one, its options checked.
    pub fn make(&self, options: &Options) -> Result<Box<dyn Checker>, UsageError> {
        options.check(self.name, self.options)?;
        (self.build)(options)
    }

    /// These options, and the effective values of all others.
    pub fn completed(&self, options: &Options) -> Options {
        options.completed(self.options, |options| (self.build)(options).is_ok())
    }
}
