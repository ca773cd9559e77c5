//! Checkers that can be named.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::Checker;
use crate::base::{Factory, OptionDef, Options, UsageError};

/// A checker that can be named.
#[derive(Clone)]
pub struct CheckerDef {
    /// The name.
    pub name: Cow<'static, str>,
    /// One line about it.
    pub about: Cow<'static, str>,
    /// The options.
    pub options: Vec<OptionDef>,
    /// True if users can name it. Otherwise it stands in stack files and traces only.
    pub listed: bool,
    /// Returns true for the options of a checker that has a name of its own in each stack file.
    pub recognises: Option<fn(&Options) -> bool>,
    /// True if it runs only on layers on which shell commands run.
    pub needs_command_host: bool,
    /// Makes one.
    pub build: Factory<dyn Checker>,
}

impl CheckerDef {
    /// A listed checker without options.
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
            build: Arc::new(build),
        }
    }

    /// Sets the options.
    pub fn options(self, options: impl Into<Vec<OptionDef>>) -> CheckerDef {
        CheckerDef { options: options.into(), ..self }
    }

    /// Users cannot name it.
    pub fn unlisted(self) -> CheckerDef {
        CheckerDef { listed: false, ..self }
    }

    /// The checker is known by its options, whatever its name in a stack file.
    pub fn recognises(self, recognises: fn(&Options) -> bool) -> CheckerDef {
        CheckerDef { recognises: Some(recognises), ..self }
    }

    /// It runs only on layers on which shell commands run.
    pub fn needs_command_host(self) -> CheckerDef {
        CheckerDef { needs_command_host: true, ..self }
    }

    /// Makes one, its options checked.
    pub fn make(&self, options: &Options) -> Result<Box<dyn Checker>, UsageError> {
        options.check(&self.name, &self.options)?;
        (self.build)(options)
    }

    /// These options, and the effective values of all others.
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
        found.ok_or_else(|| UsageError::unknown("checker", name, self.iter().map(|def| &*def.name)))
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
