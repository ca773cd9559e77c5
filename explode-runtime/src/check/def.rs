//! The checkers by name.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::Checker;
use crate::base::{Factory, OptionDef, Options, UsageError};
use crate::explore::StrategyName;

/// The definition of a checker that can be named.
#[derive(Clone)]
pub struct CheckerDef {
    /// The name.
    pub name: Cow<'static, str>,
    /// A description of one line.
    pub about: Cow<'static, str>,
    /// The options.
    pub options: Vec<OptionDef>,
    /// True if users can name the checker. Otherwise only stack files and traces name it.
    pub listed: bool,
    /// Returns true if the options are those of this checker. For a checker with another name in
    /// each stack file.
    pub recognises: Option<fn(&Options) -> bool>,
    /// True if the checker runs only on layers on which shell commands run.
    pub needs_command_host: bool,
    /// True if the checker has a system of its own, which uses neither the stack nor a kernel, and
    /// so runs in every mode.
    pub has_own_system: bool,
    /// The way in which runs search unless the user names another. `None` for the usual one.
    pub search: Option<DefaultSearch>,
    /// Makes a checker.
    pub build: Factory<dyn Checker>,
}

/// The search of a checker whose space is too large for the usual strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultSearch {
    /// The strategy.
    pub strategy: StrategyName,
    /// The number of random walks at which a run ends if the user gives no bound.
    pub walks: u64,
    /// The number of walks of a unit.
    pub walks_in_unit: u32,
}

impl CheckerDef {
    /// Returns a listed checker without options.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        build: impl Fn(&Options) -> Result<Box<dyn Checker>, UsageError> + Send + Sync + 'static,
    ) -> CheckerDef {
        CheckerDef {
            name: name.into(),
            about: about.into(),
            options: Vec::new(),
            listed: true,
            recognises: None,
            needs_command_host: false,
            has_own_system: false,
            search: None,
            build: Arc::new(build),
        }
    }

    /// Sets the options.
    pub fn options(self, options: impl Into<Vec<OptionDef>>) -> CheckerDef {
        CheckerDef { options: options.into(), ..self }
    }

    /// Makes the checker one that users cannot name.
    pub fn unlisted(self) -> CheckerDef {
        CheckerDef { listed: false, ..self }
    }

    /// Sets the test that recognises the checker by its options, regardless of its name in a stack
    /// file.
    pub fn recognises(self, recognises: fn(&Options) -> bool) -> CheckerDef {
        CheckerDef { recognises: Some(recognises), ..self }
    }

    /// Declares that the checker runs only on layers on which shell commands run.
    pub fn needs_command_host(self) -> CheckerDef {
        CheckerDef { needs_command_host: true, ..self }
    }

    /// Declares that the checker has a system of its own, which runs in every mode.
    pub fn has_own_system(self) -> CheckerDef {
        CheckerDef { has_own_system: true, ..self }
    }

    /// Sets the way in which runs search unless the user names another.
    pub fn search(self, search: DefaultSearch) -> CheckerDef {
        CheckerDef { search: Some(search), ..self }
    }

    /// Checks the options and makes a checker.
    pub fn make(&self, options: &Options) -> Result<Box<dyn Checker>, UsageError> {
        options.check(&self.name, &self.options)?;
        (self.build)(options)
    }

    /// Returns the given options with the effective values of all others.
    pub fn completed(&self, options: &Options) -> Options {
        options.completed(&self.options, |options| (self.build)(options).is_ok())
    }
}

impl fmt::Debug for CheckerDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckerDef").field("name", &self.name).finish_non_exhaustive()
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

    /// Returns the listed checkers.
    pub fn iter(&self) -> impl Iterator<Item = &CheckerDef> + Clone {
        self.defs.iter().filter(|def| def.listed)
    }

    /// Returns the listed checker of this name.
    ///
    /// # Errors
    /// No listed checker has the name.
    pub fn get(&self, name: &str) -> Result<&CheckerDef, UsageError> {
        let found = self.iter().find(|def| def.name == name);
        found.ok_or_else(|| UsageError::unknown("checker", name, self.iter().map(|def| &*def.name)))
    }

    /// Returns the checker that recognises these options, regardless of its name in the stack file.
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
