//! `explode minimise`: writes a smaller trace that fails in the same way next to the original,
//! which is not changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use explode_runtime::base::{Exit, Output, UsageError};
use explode_runtime::explain::SearchBounds;
use explode_runtime::explain::minimise::{MinimiseResult, MinimisedTrace, TraceSize};
use explode_runtime::plan::Registry;
use explode_runtime::report::{brief, detail_line, status_line};
use explode_runtime::trace::{ReplayResult, ReplaySource, Trace};
use explode_runtime::verdict::Verdict;
use serde_json::{Value, json};

use super::trace;
use crate::cli::{Format, MinimiseArgs};
use crate::{output, outputs, trust, workers};

/// Minimises a trace.
pub fn minimise(registry: &Registry, args: &MinimiseArgs) -> Exit {
    let path = args.trace.display();
    let trace = match trace::read(registry, &args.trace, args.trust) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let out = args.out.clone().unwrap_or_else(|| beside(&args.trace));
    let output = match output_file(args, &out) {
        Ok(output) => output,
        Err(error) => return output::fail(Exit::Usage, error),
    };
    let bounds =
        SearchBounds { budget: Some(Duration::from_millis(args.budget)), tests: args.tests };
    // The smaller trace gets the user's tag, even if the original has a stranger's. The user
    // decided that its commands run.
    let secret = trust::secret(&trace.commands());
    let smaller = match workers::minimise(&trace, bounds) {
        Ok(MinimiseResult::Smaller(smaller)) => *smaller,
        Ok(MinimiseResult::NotReproduced(why)) => {
            return not_reproduced(args, &trace, Verdict::Ok, &why);
        }
        Ok(MinimiseResult::Diverged(divergence)) => {
            return not_reproduced(args, &trace, Verdict::Diverged, &divergence);
        }
        Err(error) => return output::fail(error.exit(), format!("{path}: {error}")),
    };
    // Only the verdict of a fresh worker counts.
    let recorded = match workers::replay(&smaller.trace, ReplaySource::SystemRecorded) {
        Ok(ReplayResult::Reproduced { recorded, .. }) => recorded,
        Ok(ReplayResult::NotReproduced(_, why)) => {
            return not_reproduced(args, &trace, Verdict::Ok, &unproved(&why));
        }
        Ok(ReplayResult::Diverged(divergence)) => {
            return not_reproduced(
                args,
                &trace,
                Verdict::Diverged,
                &unproved(&divergence.to_string()),
            );
        }
        Err(error) => return output::fail(error.exit(), format!("{path}: {error}")),
    };
    let trace = Trace { recorded, ..smaller.trace.clone() }.tagged(secret.as_ref());
    let smaller = MinimisedTrace { trace, ..smaller };
    if let Err(error) = output.write(smaller.trace.to_json().as_bytes()) {
        let text = format!("cannot write {}: {error}; name another file with --out", out.display());
        return output::fail(outputs::exit(&error), text);
    }
    match args.format {
        Format::Human => text(&smaller, &out).iter().for_each(|line| output::line(line)),
        Format::Jsonl => output::line(&as_json(args, &smaller, &out).to_string()),
    }
    Exit::Clean
}

fn unproved(why: &str) -> String {
    format!("a smaller trace was found, but a fresh worker did not reproduce it: {why}")
}

/// Returns the default path of the smaller trace: `a/b.json` becomes `a/b.min.json`.
fn beside(trace: &Path) -> PathBuf {
    let mut name = match trace.extension() {
        Some(extension) if extension == "json" => trace.file_stem().unwrap_or_default().to_owned(),
        _ => trace.file_name().unwrap_or_default().to_owned(),
    };
    name.push(OsString::from(".min.json"));
    trace.with_file_name(name)
}

/// Checks the place of the smaller trace.
fn output_file(args: &MinimiseArgs, out: &Path) -> Result<Output, UsageError> {
    let trace = args.trace.display();
    if args.out.is_none() && !args.trace.is_file() {
        return Err(UsageError(format!(
            "{trace}: not a plain file; name a file for the smaller trace with --out"
        )));
    }
    let output =
        Output::at(out).map_err(|unfit| UsageError(format!("--out {}: {unfit}", out.display())))?;
    if output.file().is_some_and(|file| outputs::is_file(&args.trace, file)) {
        let out = out.display();
        return Err(UsageError(format!(
            "--out {out}: this is the trace itself, which stays; name another file"
        )));
    }
    Ok(output)
}

/// Reports that the trace does not fail, or no longer fails.
fn not_reproduced(args: &MinimiseArgs, trace: &Trace, verdict: Verdict, why: &str) -> Exit {
    match args.format {
        Format::Human => {
            let word = if verdict == Verdict::Diverged { "DIVERGED" } else { "NOT SEEN" };
            output::line(&status_line(word, why));
            let recorded = format!("{}: {}", trace.verdict, brief(&trace.message).text);
            output::line(&status_line("recorded", &recorded));
        }
        Format::Jsonl => {
            let line = json!({
                "type": "minimised",
                "trace": args.trace.display().to_string(),
                "signature": trace.signature,
                "reproduced": false,
                "verdict": verdict,
                "message": why,
            });
            output::line(&line.to_string());
        }
    }
    Exit::Diverged
}

fn text(smaller: &MinimisedTrace, out: &Path) -> Vec<String> {
    let MinimisedTrace { trace, sizes: [before, after], tests, remembered, cut, seconds } = smaller;
    let of = |count: fn(&TraceSize) -> u64, noun: &str| {
        format!("{} of {} {noun}", count(after), count(before))
    };
    let mut head =
        format!("{}, {}", of(|size| size.mutates, "mutates"), of(|size| size.choices, "choices"));
    if trace.crash_disk.is_some() {
        let TraceSize { kept, lost, pending, .. } = after;
        head += &format!(
            "; of {pending} pieces {kept} kept, {lost} lost; before of {} {} kept, {} lost",
            before.pending, before.kept, before.lost
        );
    }
    let ended = if *cut { "; a bound has ended it, there may be a smaller one" } else { "" };
    let path = out.display().to_string();
    let paste = output::paste_for(&trace.plan());
    vec![
        status_line("Minimised", &head),
        detail_line("fails", &format!("{}: {}", trace.verdict, brief(&trace.message).text)),
        detail_line(
            "tests",
            &format!("{tests} made, {remembered} answered from memory, {seconds:.1}s{ended}"),
        ),
        detail_line("trace", &path),
        detail_line("story", &paste.command("show", &path)),
        detail_line("replay", &paste.command("replay", &path)),
    ]
}

fn as_json(args: &MinimiseArgs, smaller: &MinimisedTrace, out: &Path) -> Value {
    let MinimisedTrace { trace, sizes: [before, after], tests, remembered, cut, seconds } = smaller;
    let size = |size: &TraceSize| {
        let TraceSize { mutates, choices, kept, lost, pending } = size;
        json!({ "mutates": mutates, "choices": choices, "kept": kept, "lost": lost,
            "pending": pending })
    };
    json!({
        "type": "minimised",
        "trace": args.trace.display().to_string(),
        "out": out.display().to_string(),
        "signature": trace.signature,
        "reproduced": true,
        "verdict": trace.verdict,
        "message": trace.message,
        "before": size(before),
        "after": size(after),
        "tests": tests,
        "remembered": remembered,
        "cut": cut,
        "seconds": seconds,
    })
}
