//! The components by name.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::component::Component;
use super::promises::promised;
use super::spec::{Layer, StackSpec};
use crate::base::{Factory, Mode, OptionDef, Options, UsageError};
use crate::verdict::Profile;

/// The definition of a component that a stack can name.
#[derive(Clone)]
pub struct ComponentDef {
    /// The name.
    pub name: Cow<'static, str>,
    /// A description of one line.
    pub about: Cow<'static, str>,
    /// The modes in which the component can run.
    pub modes: Vec<Mode>,
    /// The component that is put below this one if this one is named alone. `None` for a leaf.
    pub on: Option<Cow<'static, str>>,
    /// The options.
    pub options: Vec<OptionDef>,
    /// True if users can name the component. Otherwise only stack files and traces name it.
    pub listed: bool,
    /// The options that are shell commands.
    pub command_keys: Vec<&'static str>,
    /// The layers on which the component also runs in process.
    pub also_on: Vec<Cow<'static, str>>,
    /// True if shell commands of the layers above can run on the component in process.
    pub hosts_commands: bool,
    /// Makes a component.
    pub build: Factory<dyn Component>,
    /// Reads options once for many components. With `None` each component reads its own.
    pub read: Option<OptionsReader>,
}

/// Makes components from options that are already read.
pub type ComponentMaker = Rc<dyn Fn() -> Box<dyn Component>>;

/// Reads the options of a component and returns a maker.
pub type OptionsReader = Arc<dyn Fn(&Options) -> Result<ComponentMaker, UsageError> + Send + Sync>;

/// A system that this build omits.
#[derive(Clone, Copy, Debug)]
pub struct FeatureGated {
    /// The name of the component. The names of its targets are this name, or begin with it and `-`
    /// or `+`.
    pub name: &'static str,
    /// The cargo feature that adds the system.
    pub feature: &'static str,
}

impl FeatureGated {
    /// Returns true if `name` is the component or a target on it.
    fn is_named(&self, name: &str) -> bool {
        name.strip_prefix(self.name)
            .is_some_and(|more| more.is_empty() || more.starts_with(['-', '+']))
    }
}

impl ComponentDef {
    /// Returns a listed leaf component that runs in all modes and has no options.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        build: impl Fn(&Options) -> Result<Box<dyn Component>, UsageError> + Send + Sync + 'static,
    ) -> ComponentDef {
        ComponentDef {
            name: name.into(),
            about: about.into(),
            modes: vec![Mode::Mem, Mode::Vm, Mode::Here],
            on: None,
            options: Vec::new(),
            listed: true,
            command_keys: Vec::new(),
            also_on: Vec::new(),
            hosts_commands: false,
            build: Arc::new(build),
            read: None,
        }
    }

    /// Like [`new`](ComponentDef::new), for a component that is made for each crash disk: its
    /// options are read once.
    pub fn of_maker(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        read: impl Fn(&Options) -> Result<ComponentMaker, UsageError> + Send + Sync + 'static,
    ) -> ComponentDef {
        let read: OptionsReader = Arc::new(read);
        let build = OptionsReader::clone(&read);
        ComponentDef {
            read: Some(read),
            ..ComponentDef::new(name, about, move |options| build(options).map(|make| make()))
        }
    }

    /// Sets the modes in which the component can run.
    pub fn modes(self, modes: impl Into<Vec<Mode>>) -> ComponentDef {
        ComponentDef { modes: modes.into(), ..self }
    }

    /// Sets the component that is put below this one if this one is named alone.
    pub fn on(self, below: impl Into<Cow<'static, str>>) -> ComponentDef {
        ComponentDef { on: Some(below.into()), ..self }
    }

    /// Sets the options.
    pub fn options(self, options: impl Into<Vec<OptionDef>>) -> ComponentDef {
        ComponentDef { options: options.into(), ..self }
    }

    /// Makes the component one that users cannot name.
    pub fn unlisted(self) -> ComponentDef {
        ComponentDef { listed: false, ..self }
    }

    /// Sets the options that are shell commands.
    pub fn command_keys(self, keys: impl Into<Vec<&'static str>>) -> ComponentDef {
        ComponentDef { command_keys: keys.into(), ..self }
    }

    /// Sets the layers on which the component also runs in process.
    pub fn also_on(self, layers: impl IntoIterator<Item = &'static str>) -> ComponentDef {
        ComponentDef { also_on: layers.into_iter().map(Cow::Borrowed).collect(), ..self }
    }

    /// Declares that shell commands of the layers above can run on the component in process.
    pub fn hosts_commands(self) -> ComponentDef {
        ComponentDef { hosts_commands: true, ..self }
    }

    /// Checks the options and makes a component.
    pub fn make(&self, options: &Options) -> Result<Box<dyn Component>, UsageError> {
        options.check(&self.name, &self.options)?;
        (self.build)(options)
    }

    /// Reads options that are already checked. Returns `None` if each component reads its own.
    pub(super) fn maker(&self, options: &Options) -> Result<Option<ComponentMaker>, UsageError> {
        self.read.as_ref().map(|read| read(options)).transpose()
    }

    /// Returns the given options with the effective values of all others.
    pub fn completed(&self, options: &Options) -> Options {
        options.completed(&self.options, |options| (self.build)(options).is_ok())
    }
}

impl fmt::Debug for ComponentDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentDef").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The components by their names, in order of registration.
#[derive(Clone, Debug, Default)]
pub struct Components {
    defs: Vec<ComponentDef>,
    /// The systems that only other builds have.
    pub absent: Vec<FeatureGated>,
}

impl Components {
    /// Adds a component.
    pub fn push(&mut self, def: ComponentDef) {
        self.defs.push(def);
    }

    /// Returns the listed components.
    pub fn iter(&self) -> impl Iterator<Item = &ComponentDef> + Clone {
        self.defs.iter().filter(|def| def.listed)
    }

    /// Returns the component of the stack on which shell commands can run in process.
    pub fn host_of_commands<'s>(&self, stack: &'s StackSpec) -> Option<&'s str> {
        let hosts = |layer: &&Layer| self.get(&layer.component).is_ok_and(|def| def.hosts_commands);
        stack.0.iter().find(hosts).map(|layer| layer.component.as_str())
    }

    /// Returns the component of this name, listed or not.
    ///
    /// # Errors
    /// No component has the name.
    pub fn get(&self, name: &str) -> Result<&ComponentDef, UsageError> {
        let known = self.iter().map(|def| &*def.name);
        let found = self.defs.iter().find(|def| def.name == name);
        found.ok_or_else(|| self.unknown("component", name, known))
    }

    /// Returns the error for an unknown name. If another build has the name, the text explains how
    /// to get it.
    pub fn unknown<'a>(
        &self,
        kind: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> UsageError {
        match self.absent.iter().find(|absent| absent.is_named(name)) {
            Some(FeatureGated { feature, .. }) => UsageError(format!(
                "{kind} '{name}' is not in this build; it is in one with the cargo feature \
                 '{feature}': cargo run --features \
                 {feature} -- run ..."
            )),
            None => UsageError::unknown(kind, name, known),
        }
    }

    /// Returns the promises of a stack without mounting it. The result is that of
    /// [`Stack::profile`](super::Stack::profile).
    ///
    /// # Errors
    /// A component or a child is unknown, or an option is wrong.
    pub fn profile_of(&self, stack: &StackSpec) -> Result<Option<Profile>, UsageError> {
        let facts = |layer: &Layer| Ok(self.get(&layer.component)?.make(&layer.options)?.facts());
        let facts = stack.0.iter().map(facts).collect::<Result<Vec<_>, UsageError>>()?;
        let children = (0..stack.0.len())
            .map(|at| stack.children_of(at))
            .collect::<Result<Vec<_>, UsageError>>()?;
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
