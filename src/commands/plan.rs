//! The plan that the arguments name: a target, or a checker on a stack, with options of its components.

use explode_runtime::recover::StackSpec;
use explode_runtime::run::{Mode, OptionValue, Plan, Registry, UsageError};

use crate::cli::{self, SystemArgs};

/// What is driven and checked, on what, where; how is left at its defaults, and nothing is looked at yet that
/// [`Plan::check`] looks at.
pub fn plan(registry: &Registry, args: &SystemArgs) -> Result<Plan, UsageError> {
    let mut plan = match &args.stack {
        None => Plan::of(registry, registry.target(&args.target)?)?,
        Some(stack) => {
            let checker = registry.checker(&args.target)?.name;
            Plan::of_parts(registry, checker, registry.stack_of(stack)?)?
        }
    };
    plan.mode = match args.mode {
        None => plan.mode,
        Some(cli::Mode::Mem) => Mode::Mem,
        Some(cli::Mode::Vm) => Mode::Vm,
        Some(cli::Mode::Here) => Mode::Here,
    };
    args.set.iter().try_for_each(|setting| set(&mut plan.stack, setting))?;
    Ok(plan)
}

/// Applies `COMPONENT.KEY=VALUE` to the layer of that name.
fn set(stack: &mut StackSpec, setting: &str) -> Result<(), UsageError> {
    let parts = setting.split_once('=').and_then(|(path, value)| Some((path.split_once('.')?, value)));
    let wrong = || UsageError(format!("--set {setting}: write it as COMPONENT.KEY=VALUE"));
    let ((layer, key), value) = parts.ok_or_else(wrong)?;
    let names: Vec<String> = stack.0.iter().map(|layer| layer.name.clone()).collect();
    let unknown = || UsageError::unknown("component of the stack", layer, names.iter().map(String::as_str));
    let found = stack.0.iter_mut().find(|candidate| candidate.name == layer).ok_or_else(unknown)?;
    let value = match (value.parse(), value.parse()) {
        (Ok(yes), _) => OptionValue::Bool(yes),
        (_, Ok(number)) => OptionValue::Int(number),
        _ => OptionValue::Text(value.to_owned()),
    };
    found.options = std::mem::take(&mut found.options).with(key, value);
    Ok(())
}
