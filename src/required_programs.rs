//! The programs that a plan's shell commands name. A guest gets those that its image lacks. A
//! program that this machine lacks is reported before anything is run, and so is a missing FUSE.

use std::collections::BTreeSet;

use explode_components::command::files;
use explode_runtime::base::{Mode, NamedProgram, RunError, programs_of};
use explode_runtime::plan::Plan;
use explode_vm::{WantedProgram, find_program};

/// Returns the programs that a guest must have for a plan.
pub fn wanted(plan: &Plan) -> Vec<WantedProgram> {
    wanted_by([plan])
}

/// Returns the programs that a guest must have for these plans.
pub fn wanted_by<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<WantedProgram> {
    let programs: BTreeSet<NamedProgram> = plans.into_iter().flat_map(named).collect();
    programs
        .into_iter()
        .map(|NamedProgram { name, sure }| WantedProgram { name, required: sure })
        .collect()
}

/// Returns the programs that a plan's shell commands name.
fn named(plan: &Plan) -> BTreeSet<NamedProgram> {
    let layers =
        plan.stack.0.iter().filter(|layer| layer.has_commands()).map(|layer| &layer.options);
    let checker = plan.has_command_checker().then_some(&plan.checker_options);
    layers.chain(checker).flat_map(programs_of).collect()
}

/// Checks that this machine has the programs, if it runs them, and what mounting simulated files
/// needs.
///
/// # Errors
/// The error names what is missing.
pub fn check(plan: &Plan) -> Result<(), RunError> {
    if plan.mode == Mode::Vm {
        return Ok(());
    }
    if plan.stack.components().contains(&files::NAME) {
        files::requirements().map_err(RunError::Missing)?;
    }
    let absent = wanted(plan)
        .into_iter()
        .find(|wanted| wanted.required && find_program(&wanted.name).is_none());
    absent.map_or(Ok(()), |wanted| {
        let name = wanted.name;
        Err(RunError::Missing(format!(
            "the program '{name}' is not on the PATH; install it, or write where it is"
        )))
    })
}
