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
    /// Can it be named by a user? Others stand in stack files and traces only.
    pub listed: bool,
    /// Returns true for the options of a checker that has a name of its own in each stack file.
    pub recognises: Option<fn(&Options) -> bool>,
    /// Does it run on layers only on which shell commands run?
    pub needs_command_host: bool,
    /// Makes one.
    pub build: fn(&Options) -> Result<Box<dyn Checker>, UsageError>,
}

impl CheckerDef {
    /// What a definition need not say: a listed checker without options.
    pub const BASE: CheckerDef = CheckerDef {
        name: "",
        about: "",
        options: &[],
        listed: true,
        recognises: None,
        needs_command_host: false,
        build: |_| Err(UsageError("this checker cannot be made".to_owned())),
    };

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

/// The checkers by their names, in order of registration.
#[derive(Clone, Debug, Default)]
pub struct Checkers {
    defs: Vec<CheckerDef>,
}

impl Checkers {
    /// Adds a checker.
    pub fn push(&mut self, def: CheckerDef) {
        self.defs.push(def);
    }

    /// Those that are listed.
    pub fn iter(&self) -> impl Iterator<Item = &CheckerDef> + Clone {
        self.defs.iter().filter(|def| def.listed)
    }

    /// The checker of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, name: &str) -> Result<&CheckerDef, UsageError> {
        let found = self.iter().find(|def| def.name == name);
        found.ok_or_else(|| UsageError::unknown("checker", name, self.iter().map(|def| def.name)))
    }

    /// The checker that recognises these options as its own, whatever its name in the stack file.
    pub fn recognising(&self, options: &Options) -> Option<&CheckerDef> {
        self.defs.iter().find(|def| def.recognises.is_some_and(|recognises| recognises(options)))
    }
}

impl Extend<CheckerDef> for Checkers {
    fn extend<T: IntoIterator<Item = CheckerDef>>(&mut self, defs: T) {
        self.defs.extend(defs);
    }
}

impl<const N: usize> From<[CheckerDef; N]> for Checkers {
    fn from(defs: [CheckerDef; N]) -> Checkers {
        Checkers { defs: defs.into() }
    }
}
