//! `explode replay`: exits with code 1 if the finding is reproduced and 5 if it is not.

use explode_runtime::base::{Exit, durable_write};
use explode_runtime::plan::{Registry, check_deadline};
use explode_runtime::report::{Colour, Line, brief};
use explode_runtime::trace::{ReplayResult, ReplaySource, Trace};
use explode_runtime::verdict::Verdict;
use serde_json::json;

use super::plan::mode;
use super::trace;
use crate::cli::{Format, ReplayArgs};
use crate::outputs::Outputs;
use crate::{diagnostics, output, trust, workers};

/// The reasons why a replay may not show the recorded error.
const CAUSES: &str =
    "another version of explode, of the checked system, of its options or of the programs that it
runs; a system that is not deterministic: time, addresses, threads, random numbers of its own";

/// Replays a trace.
pub fn replay(registry: &Registry, args: &ReplayArgs) -> Exit {
    let path = args.trace.display();
    let mode = args.mode.map(mode);
    let mut trace = match trace::read_in(registry, &args.trace, args.trust, mode) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    if let Some(deadline) = args.deadline {
        if let Err(error) = check_deadline(deadline) {
            return output::fail(Exit::Usage, error);
        }
        trace.options.deadline_ms = deadline;
    }
    let mut outputs = Outputs::beside([args.trace.as_path()]);
    match outputs.of_option("--timeline", args.timeline.as_deref()) {
        Ok(None) => {}
        Ok(Some((path, output))) => diagnostics::write_timeline(path, output),
        Err(error) => return output::fail(Exit::Usage, error),
    }
    let source = match (args.recorded, args.record) {
        (true, _) => ReplaySource::Recorded,
        (_, true) => ReplaySource::SystemRecorded,
        _ => ReplaySource::System,
    };
    let outcome = workers::replay(&trace, source);
    if let Err(error) = diagnostics::finish_timeline() {
        output::fail(error.exit(), error);
    }
    match outcome {
        Err(error) => output::fail(error.exit(), format!("{path}: {error}")),
        Ok(outcome) => {
            record(&trace, args, &outcome);
            match args.format {
                Format::Jsonl => output::line(&as_json(&trace, args, &outcome).to_string()),
                Format::Human => as_text(&trace, &outcome, args).iter().for_each(output::styled),
            }
            match outcome {
                ReplayResult::Reproduced { .. } => Exit::Findings,
                ReplayResult::NotReproduced(..) | ReplayResult::Diverged(_) => Exit::Diverged,
            }
        }
    }
}

/// Adds the recorded crash to the trace. Without it the trace is still whole.
fn record(trace: &Trace, args: &ReplayArgs, outcome: &ReplayResult) {
    let ReplayResult::Reproduced { recorded: Some(recorded), .. } = outcome else { return };
    let secret = trust::secret(&trace.commands());
    let trace = Trace { recorded: Some(recorded.clone()), ..trace.clone() }.tagged(secret.as_ref());
    if let Err(error) = durable_write(&args.trace, trace.to_json().as_bytes()) {
        let path = args.trace.display();
        output::note(&format!("warning: cannot add the crash to {path}: {error}"));
    }
}

fn as_text(trace: &Trace, outcome: &ReplayResult, args: &ReplayArgs) -> Vec<Line> {
    let all = args.all;
    let shown = |text: &str| if all { text.to_owned() } else { brief(text).text };
    let recorded = format!("{}: {}", trace.verdict, shown(&trace.message));
    match outcome {
        ReplayResult::Reproduced { violation, by_search, .. } => {
            let (head, colour) = match trace.by_design {
                true => ("by design", Colour::Plain),
                false => ("FAIL", Colour::Red),
            };
            let message = &violation.message;
            let fails = format!("{}: {}", violation.verdict, shown(message));
            let mut lines = vec![Line::status(head, &fails).coloured(colour)];
            let hidden = brief(message).hidden;
            if hidden > 0 && !all {
                lines.push(Line::detail(
                    "more",
                    &format!("{hidden} lines of the kernel, with --all"),
                ));
            }
            lines.push(Line::status("reproduced", &trace.signature));
            if args.recorded {
                let text = "the files and the events are those in the trace; the work did not run";
                lines.push(Line::detail("recorded", text));
            }
            if *by_search {
                let text = "the event log was another one than recorded; found by a search over \
                            the interval's disks";
                lines.push(Line::status("by search", text));
            }
            lines
        }
        ReplayResult::NotReproduced(_, why) => vec![
            Line::status("NOT SEEN", "the recorded error did not show itself")
                .coloured(Colour::Yellow),
            Line::status("recorded", &recorded),
            Line::status("now", &shown(why)),
            Line::status("causes", &format!("the bug is fixed; {CAUSES}")),
        ],
        ReplayResult::Diverged(divergence) => vec![
            Line::status("DIVERGED", &divergence.to_string()).coloured(Colour::Yellow),
            Line::status("recorded", &recorded),
            Line::status("causes", CAUSES),
        ],
    }
}

fn as_json(trace: &Trace, args: &ReplayArgs, outcome: &ReplayResult) -> serde_json::Value {
    let mut line = json!({
        "type": "replay",
        "trace": args.trace.display().to_string(),
        "signature": trace.signature,
        "reproduced": matches!(outcome, ReplayResult::Reproduced { .. }),
    });
    let more = match outcome {
        ReplayResult::Reproduced { violation, by_search, .. } => json!({
            "verdict": violation.verdict,
            "message": violation.message,
            "replayed_by": match *by_search {
                true => "search",
                false if args.recorded => "recorded",
                false => "log",
            },
        }),
        ReplayResult::NotReproduced(_, why) => json!({ "verdict": Verdict::Ok, "message": why }),
        ReplayResult::Diverged(divergence) => {
            json!({ "verdict": Verdict::Diverged, "message": divergence.to_string() })
        }
    };
    if let (Some(line), serde_json::Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
        line.extend(outcome.not_seen().map(|reason| ("reason".to_owned(), json!(reason))));
    }
    line
}
