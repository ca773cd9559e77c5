//! The plans of a bench: each target, once for each combination of the values of `--each`.

use std::ffi::OsString;

use explode_runtime::base::{Mode, RunError, UsageError};
use explode_runtime::plan::{Plan, Registry};

use crate::cli::{BenchArgs, Cli, Command};
use crate::command_line;
use crate::commands::plan::{Setting, bare, once};
use crate::commands::run;
use crate::stack_file::is_path;

/// The name for all clusters without seeded bugs.
const CLUSTER: &str = "cluster";

/// A plan, and the options in which it differs from its target.
pub struct Variant {
    pub plan: Plan,
    pub set: Vec<String>,
}

/// Returns at least one variant, in the order of the targets. All have the same mode.
pub fn variants(registry: &Registry, args: &BenchArgs) -> Result<Vec<Variant>, RunError> {
    let variant = |target: &String| {
        let is_file = is_path(target) || args.stack.stack.as_deref().is_some_and(is_path);
        let plan = match is_file {
            true => of_file(registry, target, args)?,
            false => bare(registry, target, &args.stack)?,
        };
        Ok(Variant { plan, set: Vec::new() })
    };
    let targets = args.targets.iter().flat_map(|target| match target.as_str() {
        CLUSTER => clusters(registry),
        _ => vec![target.clone()],
    });
    let targets: Vec<String> = targets.collect();
    let mut variants = targets.iter().map(variant).collect::<Result<Vec<_>, RunError>>()?;
    let (set, each) =
        (Setting::all("--set", &args.stack.set)?, Setting::all("--each", &args.each)?);
    once(set.iter().chain(&each))?;
    for setting in set {
        variants = spread(variants, &[setting])?;
    }
    for setting in each {
        let each: Vec<Setting<'_>> = setting.each().collect();
        variants = spread(variants, &each)?;
    }
    let first = variants[0].plan.mode;
    for Variant { plan, .. } in &mut variants {
        plan.settings.depth = args.depth.unwrap_or(plan.settings.depth);
        if plan.mode != first {
            let (one, other) = (first.as_str(), plan.mode.as_str());
            let text = format!(
                "{} runs in {other}, and the targets before it in {one}; measure them separately",
                plan.target
            );
            return Err(UsageError(text).into());
        }
        if plan.mode != Mode::Mem && is_cluster(registry, &plan.checker) {
            let text =
                format!("the walks of {} are measured in process; leave out --in", plan.target);
            return Err(UsageError(text).into());
        }
        plan.check(registry)?;
    }
    Ok(variants)
}

/// Returns true if the targets of a checker are clusters.
pub fn is_cluster(registry: &Registry, checker: &str) -> bool {
    registry.checker(checker).is_ok_and(|def| def.has_own_system)
}

/// Returns the targets without seeded bugs that are clusters.
fn clusters(registry: &Registry) -> Vec<String> {
    let targets = registry.targets.iter().filter(|target| !target.seeded);
    let clusters = targets.filter(|target| is_cluster(registry, &target.checker));
    clusters.map(|target| target.name.to_string()).collect()
}

/// Returns the plan with which `explode run` runs a stack file, or a checker on one.
fn of_file(registry: &Registry, target: &str, args: &BenchArgs) -> Result<Plan, RunError> {
    let stack = args.stack.stack.iter().flat_map(|stack| ["--stack", stack]);
    let words = ["explode", "run", target].into_iter().chain(stack);
    let cli = command_line::parse(registry, words.map(OsString::from).collect())?;
    let Cli { command: Command::Run(mut run), .. } = cli else {
        unreachable!("the words are those of a run")
    };
    run.stack.mode = args.stack.mode.or(run.stack.mode);
    run::plan(registry, &run)
}

/// Returns each variant that has the component or the checker once per setting, and the other
/// variants unchanged.
fn spread(variants: Vec<Variant>, settings: &[Setting<'_>]) -> Result<Vec<Variant>, UsageError> {
    let mut all = Vec::new();
    let mut found = false;
    for Variant { plan, set } in &variants {
        let before = all.len();
        for setting in settings {
            let (mut plan, mut set) = (plan.clone(), set.clone());
            if setting.apply(&mut plan) {
                set.push(setting.to_string());
                all.push(Variant { plan, set });
            }
        }
        found |= all.len() > before;
        if all.len() == before {
            all.push(Variant { plan: plan.clone(), set: set.clone() });
        }
    }
    if found {
        Ok(all)
    } else {
        Err(settings[0].unknown(variants.iter().map(|variant| &variant.plan.stack)))
    }
}
