//! Makes, checks and completes plans with the components, checkers and targets of a registry.

use std::borrow::Cow;

use super::plan::Plan;
use super::registry::Registry;
use super::targets::Target;
use crate::base::{Mode, Options, RunError, TargetBounds, UsageError};
use crate::check::DefaultSearch;
use crate::stack::{Blueprint, ComponentDef, StackSpec};

impl Plan {
    /// Returns the plan of a target, with its bounds, in the mode in which its stack can run.
    ///
    /// # Errors
    /// Returns an error if its stack has an unknown component.
    pub fn of(registry: &Registry, target: &Target) -> Result<Plan, UsageError> {
        let mode = registry.mode_of(&target.stack)?;
        let stack = target.stack.clone();
        let options = target.checker_options.clone();
        let name = target.name.to_string();
        let mut plan =
            Plan::with_bounds(name, mode, stack, &target.checker, options, target.bounds);
        let search = registry.checker_of(&plan).ok().and_then(|def| def.search.clone());
        if let Some(DefaultSearch { strategy, walks, walks_in_unit }) = search {
            let settings = &mut plan.settings;
            settings.strategy = strategy;
            (settings.walks, settings.walks_in_unit) = (Some(walks), walks_in_unit);
        }
        Ok(plan)
    }

    /// Returns the plan of a checker on the stack of a file, with the default bounds of the mode in
    /// which it can run.
    ///
    /// # Errors
    /// Returns an error for an unknown component.
    pub fn of_file(
        registry: &Registry,
        target: String,
        checker: &str,
        checker_options: Options,
        stack: StackSpec,
    ) -> Result<Plan, UsageError> {
        let plan = Plan { target, checker_options, ..Plan::of_parts(registry, checker, stack)? };
        if plan.mode == Mode::Mem
            && plan.has_command_checker()
            && registry.components.host_of_commands(&plan.stack).is_none()
        {
            let Plan { target, stack, checker, checker_options, .. } = plan;
            let bounds = TargetBounds::on(Mode::Vm);
            return Ok(Plan::with_bounds(
                target,
                Mode::Vm,
                stack,
                &checker,
                checker_options,
                bounds,
            ));
        }
        Ok(plan)
    }

    /// Returns the plan of a checker on a stack. A target with exactly this checker and stack gives
    /// its plan. Otherwise the plan has the default bounds of the mode in which the stack can run.
    ///
    /// # Errors
    /// Returns an error for an unknown component.
    pub fn of_parts(
        registry: &Registry,
        checker: &str,
        stack: StackSpec,
    ) -> Result<Plan, UsageError> {
        let same = |target: &&Target| target.checker == checker && target.stack == stack;
        let plain = |target: &&Target| target.checker_options.is_empty();
        if let Some(target) = registry.targets.iter().filter(plain).find(same) {
            return Plan::of(registry, target);
        }
        let mode = registry.mode_of(&stack)?;
        let bounds = TargetBounds::on(mode);
        let top = stack.names().last().copied().unwrap_or_default().to_owned();
        let name = format!("{checker}-{top}");
        Ok(Plan::with_bounds(name, mode, stack, checker, Options::none(), bounds))
    }

    /// Checks all names and numbers of the plan, before a run finds their errors late.
    ///
    /// # Errors
    /// Returns an error for an invalid name or number, and if the stack needs a kernel and has
    /// none.
    pub fn check(&self, registry: &Registry) -> Result<(), RunError> {
        self.check_settings()?;
        // Errors of usage are reported before missing requirements, in whatever layer they are.
        let mut missing = None;
        for (index, layer) in self.stack.0.iter().enumerate() {
            layer.check_name()?;
            let def = registry.component(&layer.component)?;
            layer.options.defaults().check(&def.name, &def.options)?;
            def.make(&layer.options)?;
            if !self.can_run(registry, def) {
                let modes: Vec<&str> = def.modes.iter().map(|mode| mode.as_str()).collect();
                let name = if def.listed { def.name.as_ref() } else { &layer.name };
                let (mode, other) = (self.mode.as_str(), modes.join(" or --in "));
                if self.mode != Mode::Mem {
                    let text = format!("component '{name}' cannot run in {mode}; use --in {other}");
                    return Err(UsageError(text).into());
                }
                missing.get_or_insert_with(|| {
                    format!("component '{name}' needs a kernel; use --in {other}")
                });
            }
            let below: Vec<&str> = self.stack.names()[..index].to_vec();
            if let Some(child) =
                layer.children.iter().find(|child| !below.contains(&child.as_str()))
            {
                return Err(UsageError::unknown(
                    &format!("layer below '{}'", layer.name),
                    child,
                    below,
                )
                .into());
            }
        }
        Blueprint::check(&self.stack, &registry.components)?;
        let def = registry.checker_of(self)?;
        self.checker_options.defaults().check(&def.name, &def.options)?;
        def.make(&self.checker_options)?;
        let name = &self.checker;
        let host = registry.components.host_of_commands(&self.stack);
        let hosts_commands = host.is_some();
        if let Some(host) = host
            && !def.needs_command_host
        {
            let text =
                format!("checker '{name}' cannot run on '{host}', where only shell commands do");
            return Err(UsageError(text).into());
        }
        if def.needs_command_host && !hosts_commands && self.mode == Mode::Mem {
            missing.get_or_insert_with(|| {
                format!(
                    "the commands of checker '{name}' need a kernel below them; use --in vm or \
                     --in here, or put them on 'files' or 'folder'"
                )
            });
        }
        if let Some(missing) = missing {
            return Err(RunError::Missing(missing));
        }
        self.check_packages(registry)
    }

    /// Checks that the commands can run among the packages that the plan names.
    fn check_packages(&self, registry: &Registry) -> Result<(), RunError> {
        let may_have_packages = match self.mode {
            Mode::Vm => true,
            Mode::Mem => Blueprint::confines_commands(&self.stack, &registry.components)?,
            _ => false,
        };
        if !may_have_packages && !self.settings.guest.is_empty() {
            let mode = self.mode.as_str();
            let text = format!(
                "[guest] names packages or a 'rootfs' for commands in a guest or on 'files', and \
                 this run is in {mode}; use --in vm, or put the commands on 'files'"
            );
            return Err(UsageError(text).into());
        }
        Ok(())
    }

    /// Returns true if a component of the stack can run in the mode of the plan.
    fn can_run(&self, registry: &Registry, def: &ComponentDef) -> bool {
        let stands_on = |name: &Cow<'_, str>| self.stack.components().contains(&name.as_ref());
        let on_folder = self.mode == Mode::Mem && def.also_on.iter().any(stands_on);
        let anywhere = || registry.checker_of(self).is_ok_and(|def| def.has_own_system);
        def.modes.contains(&self.mode) || on_folder || anywhere()
    }

    /// Adds the effective values of all options of the components and the checker.
    ///
    /// # Errors
    /// Returns an error for an unknown name.
    pub fn completed(&self, registry: &Registry) -> Result<Plan, UsageError> {
        let mut plan = self.clone();
        for layer in &mut plan.stack.0 {
            layer.options = registry.component(&layer.component)?.completed(&layer.options);
        }
        plan.checker_options = registry.checker_of(self)?.completed(&self.checker_options);
        Ok(plan)
    }
}
