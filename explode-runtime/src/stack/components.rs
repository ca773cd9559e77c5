//! Components that can be named.

use super::component::Component;
use super::promised::promised;
use super::spec::{Layer, StackSpec};
use crate::base::{Mode, OptionDef, Options, UsageError};
use crate::verdict::Profile;

/// A component that can be named in a stack.
#[derive(Clone, Copy, Debug)]
pub struct ComponentDef {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Where it can run.
    pub modes: &'static [Mode],
    /// What it stands on when it is named alone; none for a leaf.
    pub on: Option<&'static str>,
    /// Its options.
    pub options: &'static [OptionDef],
    /// Can it be named by a user? Others stand in stack files and traces only.
    pub listed: bool,
    /// The options that are shell commands.
    pub command_keys: &'static [&'static str],
    /// Layers on which it runs in process, too.
    pub also_on: &'static [&'static str],
    /// Do shell commands of the layers above run on it in process?
    pub hosts_commands: bool,
    /// Makes one.
    pub build: fn(&Options) -> Result<Box<dyn Component>, UsageError>,
}

/// A system that this build does not have.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// The name of its component; those of its targets are that, or go on with `-` or `+`.
    pub name: &'static str,
    /// The cargo feature that has it.
    pub feature: &'static str,
}

impl Absent {
    /// Is this the name of the component, or of a target on it?
    fn is_named(&self, name: &str) -> bool {
        name.strip_prefix(self.name).is_some_and(|more| more.is_empty() || more.starts_with(['-', '+']))
    }
}

impl ComponentDef {
    /// What a definition need not say: a listed component of all modes without options, which stands on nothing.
    pub const BASE: ComponentDef = ComponentDef {
        name: "",
        about: "",
        modes: &[Mode::Mem, Mode::Vm, Mode::Here],
        on: None,
        options: &[],
        listed: true,
        command_keys: &[],
        also_on: &[],
        hosts_commands: false,
        build: |_| Err(UsageError("this component cannot be made".to_owned())),
    };

    /// Makes one, its options checked.
    pub fn make(&self, options: &Options) -> Result<Box<dyn Component>, UsageError> {
        options.check(self.name, self.options)?;
        (self.build)(options)
    }

    /// These options, and the effective values of all others.
    pub fn completed(&self, options: &Options) -> Options {
        options.completed(self.options, |options| (self.build)(options).is_ok())
    }
}

/// The components by their names, in order of registration.
#[derive(Clone, Debug, Default)]
pub struct Components {
    defs: Vec<ComponentDef>,
    /// The systems that other builds have.
    pub absent: Vec<Absent>,
}

impl Components {
    /// Adds a component.
    pub fn push(&mut self, def: ComponentDef) {
        self.defs.push(def);
    }

    /// Those that are listed.
    pub fn iter(&self) -> impl Iterator<Item = &ComponentDef> + Clone {
        self.defs.iter().filter(|def| def.listed)
    }

    /// Returns true if a layer of the stack is one on which shell commands run in process.
    pub fn host_commands(&self, stack: &StackSpec) -> bool {
        let hosts = |layer: &Layer| self.get(&layer.component).is_ok_and(|def| def.hosts_commands);
        stack.0.iter().any(hosts)
    }

    /// The component of this name, listed or not.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, name: &str) -> Result<&ComponentDef, UsageError> {
        let known = self.iter().map(|def| def.name);
        let found = self.defs.iter().find(|def| def.name == name);
        found.ok_or_else(|| self.unknown("component", name, known))
    }

    /// The error about a name that is not there. It says how to get what another build has.
    pub fn unknown<'a>(
        &self,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> UsageError {
        match self.absent.iter().find(|absent| absent.is_named(name)) {
            Some(Absent { feature, .. }) => UsageError(format!(
                "{what} '{name}' is not in this build; it is in one with the cargo feature '{feature}': cargo run --features \
                 {feature} -- run ..."
            )),
            None => UsageError::unknown(what, name, known),
        }
    }

    /// What a stack promises, none of it mounted; the same that [`Stack::profile`](super::Stack::profile) says.
    ///
    /// # Errors
    /// A name, an option or a child that is not there.
    pub fn profile_of(&self, stack: &StackSpec) -> Result<Option<Profile>, UsageError> {
        let facts = |layer: &Layer| Ok(self.get(&layer.component)?.make(&layer.options)?.facts());
        let facts = stack.0.iter().map(facts).collect::<Result<Vec<_>, UsageError>>()?;
        let children =
            (0..stack.0.len()).map(|at| stack.children_of(at)).collect::<Result<Vec<_>, UsageError>>()?;
        let layers = facts.iter().zip(&children);
        let layers = layers.map(|(facts, children)| (facts, children.as_slice()));
        Ok(promised(&layers.collect::<Vec<_>>()))
    }
}

impl Extend<ComponentDef> for Components {
    fn extend<T: IntoIterator<Item = ComponentDef>>(&mut self, defs: T) {
        self.defs.extend(defs);
    }
}

impl<const N: usize> From<[ComponentDef; N]> for Components {
    fn from(defs: [ComponentDef; N]) -> Components {
        Components { defs: defs.into(), ..Components::default() }
    }
}
