//! The trace that a run begins with (`--strategy prefix:TRACE.json`).

use std::path::Path;

use explode_runtime::base::UsageError;
use explode_runtime::explore::TracePrefix;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::trace::Trace;

/// Reads the choices of a trace, whose system must be that of the plan.
pub fn read(registry: &Registry, path: &str, plan: &Plan) -> Result<TracePrefix, UsageError> {
    let wrong = |text: &dyn std::fmt::Display| UsageError(format!("{path}: {text}"));
    let trace = Trace::read(Path::new(path)).map_err(|error| wrong(&error))?;
    let (seed, chop) = (trace.options.seed, trace.options.chop);
    // The trace may omit defaults, so its completed plan is compared.
    let then = trace.plan().completed(registry).map_err(|error| wrong(&error))?;
    let now = plan.completed(registry)?;
    let different = [
        ("its stack", then.stack != now.stack),
        ("its checker", then.checker != now.checker),
        ("the checker's options", then.checker_options != now.checker_options),
        ("its seed", seed != plan.settings.seed),
        ("its chop", chop != plan.settings.chop),
    ];
    if let Some((part, _)) = different.iter().find(|(_, different)| *different) {
        let hint = match (*part, chop) {
            ("its seed", _) => format!("; use --seed {seed}"),
            ("its chop", Some(chop)) => format!("; use --chop {chop}"),
            ("its chop", None) => "; run without --chop".to_owned(),
            _ => String::new(),
        };
        let text = format!("{part} is not that of this run, so its choices lead elsewhere{hint}");
        return Err(wrong(&text));
    }
    Ok(TracePrefix { choices: trace.choices, mutates: trace.mutates })
}
