//! The plan that the arguments describe: a target, or a checker on a stack, with options of its
//! components.

use std::collections::BTreeMap;

use explode_components::command::KEYS;
use explode_runtime::base::{Mode, OptionValue, Options, UsageError};
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::stack::{Layer, StackSpec};

use crate::cli::{self, StackArgs};
use crate::stack_file::StackFile;

/// Returns the plan with its options set. Its run settings are the defaults. Does not check what
/// [`Plan::check`] checks.
pub fn plan(registry: &Registry, target: &str, args: &StackArgs) -> Result<Plan, UsageError> {
    let mut plan = bare(registry, target, args)?;
    let settings = Setting::all("--set", &args.set)?;
    // The options of the file come first. Those of the command line override them.
    let (of_file, own) = settings.split_at(args.file.as_ref().map_or(0, StackFile::settings));
    once(of_file)?;
    once(own)?;
    for setting in settings {
        if !setting.apply(&mut plan) {
            return Err(setting.unknown([&plan.stack]));
        }
    }
    Ok(plan)
}

/// Returns the plan without the options of `--set`.
pub fn bare(registry: &Registry, target: &str, args: &StackArgs) -> Result<Plan, UsageError> {
    let mut plan = match &args.stack {
        _ if args.file.is_some() => of_file(registry, target, args)?,
        None => Plan::of(registry, registry.target(target)?)?,
        Some(stack) => {
            let checker = &registry.checker(target)?.name;
            Plan::of_parts(registry, checker, registry.stack_of(stack)?)?
        }
    };
    plan.mode = args.mode.map_or(plan.mode, mode);
    Ok(plan)
}

/// Converts the mode of the command line.
pub fn mode(mode: cli::ModeArg) -> Mode {
    match mode {
        cli::ModeArg::Mem => Mode::Mem,
        cli::ModeArg::Vm => Mode::Vm,
        cli::ModeArg::Here => Mode::Here,
    }
}

/// Returns the plan of a stack file. Its checker is the one of the file, or `target` if `--stack`
/// names the file.
fn of_file(registry: &Registry, target: &str, args: &StackArgs) -> Result<Plan, UsageError> {
    let file = args.file.as_ref().expect("the caller has looked");
    let (name, checker, options) = if args.stack.is_none() {
        let (checker, options) = file.checker()?;
        (file.name(), checker.as_str(), options.clone())
    } else {
        let checker = &registry.checker(target)?.name;
        (format!("{checker}-{}", file.name()), checker.as_ref(), Options::none())
    };
    let mut plan = Plan::of_file(registry, name, checker, options, file.stack.clone())?;
    plan.settings.guest = file.guest.clone();
    Ok(plan)
}

/// Checks that each option is set once. Otherwise the value that was meant is unknown.
///
/// # Errors
/// An option is set twice.
pub fn once<'a>(settings: impl IntoIterator<Item = &'a Setting<'a>>) -> Result<(), UsageError> {
    let mut seen = BTreeMap::new();
    for Setting { layer, key, value } in settings {
        if let Some(before) = seen.insert((layer, key), value) {
            return Err(UsageError(format!(
                "{layer}.{key} is set twice, to '{before}' and to '{value}'; set it once"
            )));
        }
    }
    Ok(())
}

/// An option of a component, or of the checker: `COMPONENT.KEY=VALUE`.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    layer: &'a str,
    key: &'a str,
    value: &'a str,
}

impl<'a> Setting<'a> {
    /// Parses a value of the option `name` of the command line.
    pub fn parse(name: &str, text: &'a str) -> Result<Setting<'a>, UsageError> {
        let parts =
            text.split_once('=').and_then(|(path, value)| Some((path.split_once('.')?, value)));
        let wrong = || UsageError(format!("{name} {text}: write it as COMPONENT.KEY=VALUE"));
        let ((layer, key), value) = parts.ok_or_else(wrong)?;
        Ok(Setting { layer, key, value })
    }

    /// Parses all values of the option `name`.
    pub fn all(name: &str, texts: &'a [String]) -> Result<Vec<Setting<'a>>, UsageError> {
        texts.iter().map(|text| Setting::parse(name, text)).collect()
    }

    /// Returns one setting for each of the values, which commas separate.
    pub fn each(self) -> impl Iterator<Item = Setting<'a>> {
        self.value.split(',').map(move |value| Setting { value, ..self })
    }

    /// Sets the option of the layer of this name, or of the checker. Returns false if the plan has
    /// neither.
    pub fn apply(&self, plan: &mut Plan) -> bool {
        let of_checker = self.layer == plan.checker && !plan.has_command_checker();
        if let Some(found) = plan.stack.0.iter_mut().find(|layer| layer.name == self.layer) {
            let command = found.has_commands() && KEYS.contains(&self.key);
            let value = if command { self.value.into() } else { self.value() };
            found.options = std::mem::take(&mut found.options).with(self.key, value);
        } else if of_checker {
            let options = std::mem::take(&mut plan.checker_options);
            plan.checker_options = options.with(self.key, self.value());
        } else {
            return false;
        }
        true
    }

    /// Returns the value: a bool, a number, or else a text.
    fn value(&self) -> OptionValue {
        match (self.value.parse(), self.value.parse()) {
            (Ok(yes), _) => OptionValue::Bool(yes),
            (_, Ok(number)) => OptionValue::Int(number),
            _ => OptionValue::Text(self.value.to_owned()),
        }
    }

    /// Returns the error if none of these stacks has the layer.
    pub fn unknown<'s>(&self, stacks: impl IntoIterator<Item = &'s StackSpec>) -> UsageError {
        let layers = stacks.into_iter().flat_map(|stack| &stack.0);
        let names = layers.map(|Layer { name, .. }| name.as_str());
        UsageError::unknown("component of the stack", self.layer, names)
    }
}

impl std::fmt::Display for Setting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Setting { layer, key, value } = self;
        write!(f, "{layer}.{key}={value}")
    }
}
