//! `explode show`: explains a trace. Exit code 0, even if the trace cannot run here. In that case
//! it shows only the contents of the file. A trace with shell commands runs only with `--run` or
//! `--trust`.

use explode_runtime::base::{Exit, Mode, UsageError};
use explode_runtime::crash_test::command_of_test;
use explode_runtime::explain::critical::CriticalSearch;
use explode_runtime::explain::{SearchBounds, Story, StoryCommands, StoryRun};
use explode_runtime::plan::Registry;
use explode_runtime::stack::Carried;
use explode_runtime::trace::{RecordedCrash, Trace};
use explode_runtime::worker::probe::CrashMoment;
use serde_json::{Value, json};

use super::trace::sound;
use crate::cli::{Format, ShowArgs};
use crate::{output, required_programs, trust, workers};

/// Explains a trace.
pub fn show(registry: &Registry, args: &ShowArgs) -> Exit {
    if args.write.is_some() {
        return output::fail(Exit::Usage, "--write is for --as sh and --as xfstests");
    }
    let trace = match sound(&args.trace) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let story = match story_of(registry, args, &trace) {
        Ok(story) => story,
        Err(error) => return output::fail(Exit::Usage, error),
    };
    let path = args.trace.display().to_string();
    let paste = output::paste_for(&trace.plan());
    let replay =
        command_of_test(&trace, &args.trace).unwrap_or_else(|| paste.command("replay", &path));
    match args.format {
        Format::Human => {
            let (all, minimise) =
                (paste.command("show --all", &path), paste.command("minimise", &path));
            let commands =
                StoryCommands { all: Some(&all), minimise: Some(&minimise), replay: &replay };
            let lines = match args.all {
                true => story.all_lines(&path, &commands),
                false => story.lines(&path, &commands),
            };
            lines.iter().for_each(output::styled);
        }
        Format::Jsonl => {
            as_json(&story, &path, &replay).iter().for_each(|line| output::line(&line.to_string()))
        }
    }
    Exit::Clean
}

/// Returns the story of the trace: of a new run if possible, else of the file.
///
/// # Errors
/// The trace is to be run, and its commands are not trusted.
pub(super) fn story_of(
    registry: &Registry,
    args: &ShowArgs,
    trace: &Trace,
) -> Result<Story, UsageError> {
    let plan = trace.plan();
    if !args.run && !args.trust && !plan.commands().is_empty() {
        return Ok(Story::of_file(trace.clone(), trust::why_not_run(&args.trace)));
    }
    let tests = args.tests.unwrap_or(if trace.mode == Mode::Mem { 2000 } else { 200 });
    let bounds = SearchBounds { budget: None, tests };
    let sound = plan.check(registry);
    trust::check_trace(&args.trace, trace, args.trust)?;
    let story = sound
        .and_then(|()| required_programs::check(&plan))
        .and_then(|()| workers::story(trace, bounds));
    Ok(story.unwrap_or_else(|error| {
        let of_test = super::trace::of_test(trace, &args.trace);
        let why = of_test.unwrap_or_else(|| format!("it cannot be run here: {error}"));
        Story::of_file(trace.clone(), why)
    }))
}

/// Returns one object per line: the contents of the file, then each mutate, event and range, and
/// the critical write.
fn as_json(story: &Story, path: &str, replay: &str) -> Vec<Value> {
    let Story { trace, retold } = story;
    let now = retold.as_ref().ok();
    let commands = trace
        .commands()
        .into_iter()
        .map(|Carried { place, text }| json!({ "at": place, "sh": text }));
    let commands: Vec<Value> = commands.collect();
    let mut lines = vec![json!({
        "type": "story",
        "trace": path,
        "target": trace.target,
        "in": trace.mode.as_str(),
        "stack": trace.stack.names(),
        "checker": trace.checker,
        "versions": trace.versions,
        "verdict": trace.verdict,
        "message": now.map_or(&trace.message, |retold| &retold.violation.message),
        "signature": trace.signature,
        "by_design": trace.by_design,
        "epoch": trace.epoch,
        "args": trace.args,
        "died": trace.died,
        "promise": now.and_then(|retold| retold.promise.as_ref()),
        "reproduced": now.is_some(),
        "why_not": retold.as_ref().err(),
        "by_search": now.is_some_and(|retold| retold.by_search),
        "replay": replay,
    })];
    if !commands.is_empty() {
        lines[0]["commands"] = commands.into();
    }
    if let Some(recorded) = &trace.recorded {
        let RecordedCrash { base, events, .. } = &**recorded;
        lines[0]["recorded"] = json!({
            "files_bytes": base.bytes,
            "events": events.count,
            "events_bytes": events.bytes,
        });
    }
    match retold {
        Ok(retold) => lines.extend(retold_json(retold)),
        Err(_) => lines.push(json!({ "type": "mutate", "number": null, "choices": trace.choices })),
    }
    lines
}

fn retold_json(retold: &StoryRun) -> Vec<Value> {
    let failed = |number: u32| {
        retold.failed.iter().find(|(mutate, _)| *mutate == number).map(|(_, how)| how)
    };
    let mutate = |(choices, number)| {
        let failed = failed(number);
        json!({ "type": "mutate", "number": number, "choices": choices, "failed_step": failed })
    };
    let mut lines: Vec<Value> = retold.choices.iter().zip(1..).map(mutate).collect();
    let moments = retold.stopped.iter().flat_map(|stopped| &stopped.moments);
    for (crash, moment) in moments.enumerate() {
        for event in &moment.events {
            lines.push(json!({
                "type": "event", "crash": crash, "e": event.what, "dev": event.dev, "id": event.id,
                "sector": event.range.map(|range| range.0), "len": event.range.map(|range| range.1),
                "notes": event.notes, "whose": event.owner, "by": event.by,
            }));
        }
        for range in &moment.ranges {
            let versions: Vec<u32> = range.versions.iter().map(|version| version.0).collect();
            lines.push(json!({
                "type": "range", "crash": crash, "dev": range.dev, "sectors": range.sectors,
                "whose": range.owner, "versions": versions, "kept": range.kept,
            }));
        }
    }
    let last = retold.stopped.as_ref().and_then(|stopped| stopped.moments.last());
    if let (Some(search), Some(moment)) = (&retold.critical, last) {
        lines.push(critical(search, moment));
    }
    lines
}

fn critical(search: &CriticalSearch, moment: &CrashMoment) -> Value {
    let none = |why: &str| json!({ "type": "critical", "found": false, "why": why });
    let at = |range: usize| {
        let range = &moment.ranges[range];
        (range.dev, range.name(0).1)
    };
    match search {
        CriticalSearch::NothingPending => none("nothing was pending"),
        CriticalSearch::NeverRecovers(true) => none("no disk of that moment recovers"),
        CriticalSearch::NeverRecovers(false) => {
            none("no disk of that moment that was looked at recovers")
        }
        CriticalSearch::NotMade(why) => none(why),
        CriticalSearch::Found(found) => {
            let (dev, sector) = at(found.range);
            let differs = |(range, keeps): &(usize, Option<u32>)| {
                let (dev, sector) = at(*range);
                json!({ "dev": dev, "sector": sector, "keeps": keeps })
            };
            let nearest: Vec<Value> = found.nearest.iter().map(differs).collect();
            json!({
                "type": "critical", "found": true, "dev": dev, "sector": sector,
                "version": found.version,
                "kept": found.kept, "decision": found.decision.0, "decisions": found.decision.1,
                "certain": found.certain, "nearest": nearest, "as_near": found.as_near,
                "nearest_certain": found.nearest_certain,
            })
        }
    }
}
