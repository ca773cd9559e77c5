//! Components, checkers and targets by name. Crates register their own here. The engine registers
//! none.

use super::extensions::Extensions;
use super::plan::Plan;
use super::targets::{Target, Targets};
use crate::base::{Mode, Options, UsageError};
use crate::check::{CheckerDef, Checkers};
use crate::choose::Policies;
use crate::plan::matrix::{MatrixColumn, MatrixRow};
use crate::stack::{ComponentDef, Components, Layer, Stack, StackSpec};

/// The registry of everything that has a name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// The components, in the order of registration.
    pub components: Components,
    /// The checkers, in the order of registration.
    pub checkers: Checkers,
    /// The targets.
    pub targets: Targets,
    /// The rows of the matrix, in order.
    pub rows: Vec<MatrixRow>,
    /// The columns of the matrix, in order.
    pub columns: Vec<MatrixColumn>,
    /// The policies by which units answer choice points, besides those of the engine.
    pub policies: Policies,
    /// The values that rooms above `plan` register.
    pub extensions: Extensions,
}

impl Registry {
    /// Returns the component of this name.
    ///
    /// # Errors
    /// Returns an error if the name is unknown.
    pub fn component(&self, name: &str) -> Result<&ComponentDef, UsageError> {
        self.components.get(name)
    }

    /// Returns the checker of this name.
    pub fn checker(&self, name: &str) -> Result<&CheckerDef, UsageError> {
        self.checkers.get(name)
    }

    /// Returns the checker of a plan: the one that recognises its options, or else the one of its
    /// name.
    pub fn checker_of(&self, plan: &Plan) -> Result<&CheckerDef, UsageError> {
        let recognised = self.checkers.recognising(&plan.checker_options);
        recognised.map_or_else(|| self.checker(&plan.checker), Ok)
    }

    /// Returns the names of the checkers that suit this stack and can start from files that they
    /// have not made, in the order of registration.
    pub fn checkers_of_populated(&self, stack: &Stack) -> Vec<&str> {
        let suits = |def: &&CheckerDef| {
            let facts =
                (def.build)(&Options::none()).ok().and_then(|checker| checker.facts(stack).ok());
            facts.is_some_and(|facts| facts.populated_ok)
        };
        self.checkers.iter().filter(suits).map(|def| &*def.name).collect()
    }

    /// Returns the stack of a component that is named alone. The layers that it needs are put below
    /// it. If a row of the matrix has that name, its stack is returned, whose disk is large enough.
    pub fn stack_of(&self, component: &str) -> Result<StackSpec, UsageError> {
        if let Some(system) = self.rows.iter().find(|system| system.name == component) {
            return Ok(system.stack.clone());
        }
        let def = self.component(component)?;
        let below =
            def.on.as_deref().map_or(Ok(StackSpec::default()), |below| self.stack_of(below))?;
        Ok(below.plug(component, Options::none()))
    }

    /// Returns the mode in which a stack can run: in process if every component can, otherwise in a
    /// guest.
    pub fn mode_of(&self, stack: &StackSpec) -> Result<Mode, UsageError> {
        if self.components.host_of_commands(stack).is_some() {
            return Ok(Mode::Mem);
        }
        let can = |layer: &Layer| Ok(self.component(&layer.component)?.modes.contains(&Mode::Mem));
        let all = stack.0.iter().map(can).collect::<Result<Vec<bool>, UsageError>>()?;
        Ok(if all.iter().all(|can| *can) { Mode::Mem } else { Mode::Vm })
    }

    /// Returns the target of this name.
    pub fn target(&self, name: &str) -> Result<&Target, UsageError> {
        let known = self.targets.iter().map(|target| &*target.name);
        let found = self.targets.iter().find(|target| target.name == name);
        found.ok_or_else(|| self.components.unknown("target", name, known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::FeatureGated;

    #[test]
    fn a_name_of_another_build_is_refused_with_advice() {
        let absent = vec![FeatureGated { name: "redb", feature: "engines" }];
        let mut registry = Registry::default();
        registry.components.absent = absent;
        let text_of = |error: UsageError| error.0;
        let getting = "is not in this build; it is in one with the cargo feature 'engines': cargo \
                       run --features engines -- run ...";
        assert_eq!(
            registry.component("redb").map_err(text_of).unwrap_err(),
            format!("component 'redb' {getting}")
        );
        for name in ["redb", "redb-none", "redb+sync-lies"] {
            assert_eq!(
                registry.target(name).map_err(text_of).unwrap_err(),
                format!("target '{name}' {getting}")
            );
        }
        let other = registry.target("redbed").map_err(text_of).unwrap_err();
        assert!(other.starts_with("unknown target 'redbed'"), "{other}");
    }
}
