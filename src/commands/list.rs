//! `explode list`: what can be named, with the default bounds of each target.

use explode_runtime::run::{CheckerDef, Exit, Mode, OptionDef, Registry, Target};
use serde_json::{Value, json};

use crate::cli::{Format, ListArgs, What};
use crate::output;

/// Lists what can be named.
pub fn list(registry: &Registry, args: &ListArgs) -> Exit {
    let wanted = |what: fn(&What) -> bool| args.what.as_ref().is_none_or(what);
    let mut lines = Vec::new();
    if wanted(|what| matches!(what, What::Targets)) {
        lines.extend(registry.targets.iter().map(|each| target(registry, each)));
    }
    if wanted(|what| matches!(what, What::Components)) {
        lines.extend(registry.components.iter().map(|def| {
            let modes: Vec<_> = def.modes.iter().copied().map(Mode::as_str).collect();
            named("component", def.name, &modes.join(","), def.about, def.options)
        }));
    }
    if wanted(|what| matches!(what, What::Checkers)) {
        // What a checker needs is said by its stack.
        let checker = |def: &CheckerDef| named("checker", def.name, "mem,vm,here", def.about, def.options);
        lines.extend(registry.checkers.iter().map(checker));
    }
    for line in lines {
        match args.format {
            Format::Jsonl => output::line(&line.to_string()),
            Format::Human => output::line(&text(&line)),
        }
    }
    Exit::Clean
}

fn target(registry: &Registry, target: &Target) -> Value {
    let bounds = target.bounds;
    let mode = registry.mode_of(&target.stack).map_or("", Mode::as_str);
    json!({
        "type": "target",
        "name": target.name,
        "in": mode,
        "about": target.about,
        "seeded": target.seeded,
        "expect": target.expect,
        "stack": target.stack.names(),
        "checker": target.checker,
        "depth": bounds.depth,
        "limit": bounds.limit,
        "samples": bounds.samples,
        "crash_depth": bounds.crash_depth,
    })
}

fn named(kind: &str, name: &str, modes: &str, about: &str, options: &[OptionDef]) -> Value {
    let option = |def: &OptionDef| json!({ "name": def.name, "about": def.about, "default": def.default });
    let options: Vec<Value> = options.iter().map(option).collect();
    json!({ "type": kind, "name": name, "in": modes, "about": about, "options": options })
}

fn text(line: &Value) -> String {
    let word = |key: &str| line[key].as_str().unwrap_or_default();
    let head = format!("{:<10} {:<20} {:<4} {}", word("type"), word("name"), word("in"), word("about"));
    match (line["depth"].as_u64(), line["options"].as_array()) {
        (Some(depth), _) => {
            let (expect, limit, samples) = (word("expect"), &line["limit"], &line["samples"]);
            format!(
                "{head}\n{:36} expect {expect}; depth {depth}, limit {limit}, samples {samples}, crash-depth {}",
                "", line["crash_depth"]
            )
        }
        (None, Some(options)) => options.iter().fold(head, |text, option| {
            let word = |key: &str| option[key].as_str().unwrap_or_default();
            format!("{text}\n{:36} {}={}  {}", "", word("name"), word("default"), word("about"))
        }),
        (None, None) => head,
    }
}
