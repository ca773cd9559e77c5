//! `explode list`: what can be named, with the default bounds of each target.

use explode_runtime::run::{Exit, Mode, OptionDef, Registry, Target};
use serde_json::{Value, json};

use crate::cli::{Format, ListArgs, What};
use crate::output;

/// Lists what can be named.
pub fn list(registry: &Registry, args: &ListArgs) -> Exit {
    let wanted = |what: fn(&What) -> bool| args.what.as_ref().is_none_or(what);
    let mut lines = Vec::new();
    if wanted(|what| matches!(what, What::Targets)) {
        lines.extend(registry.targets.iter().map(target));
    }
    if wanted(|what| matches!(what, What::Components)) {
        lines.extend(registry.components.iter().map(|def| {
            let modes: Vec<_> = def.modes.iter().copied().map(mode).collect();
            named("component", def.name, &modes.join(","), def.about, def.options)
        }));
    }
    if wanted(|what| matches!(what, What::Checkers)) {
        let modes = mode(Mode::Mem);
        lines.extend(
            registry.checkers.iter().map(|def| named("checker", def.name, modes, def.about, def.options)),
        );
    }
    for line in lines {
        match args.format {
            Format::Jsonl => output::line(&line.to_string()),
            Format::Human => output::line(&text(&line)),
        }
    }
    Exit::Clean
}

fn target(target: &Target) -> Value {
    let bounds = target.bounds;
    json!({
        "type": "target",
        "name": target.name,
        "in": mode(Mode::Mem),
        "about": target.about,
        "seeded": target.seeded,
        "expect": target.expect,
        "stack": target.stack.names(),
        "checker": target.checker,
        "depth": bounds.depth,
        "limit": bounds.limit,
        "samples": bounds.samples,
    })
}

fn named(kind: &str, name: &str, modes: &str, about: &str, options: &[OptionDef]) -> Value {
    let option = |def: &OptionDef| json!({ "name": def.name, "about": def.about, "default": def.default });
    let options: Vec<Value> = options.iter().map(option).collect();
    json!({ "type": kind, "name": name, "in": modes, "about": about, "options": options })
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Mem => "mem",
    }
}

fn text(line: &Value) -> String {
    let word = |key: &str| line[key].as_str().unwrap_or_default();
    let head = format!("{:<10} {:<20} {:<4} {}", word("type"), word("name"), word("in"), word("about"));
    match (line["depth"].as_u64(), line["options"].as_array()) {
        (Some(depth), _) => {
            let (expect, limit, samples) = (word("expect"), &line["limit"], &line["samples"]);
            format!("{head}\n{:36} expect {expect}; depth {depth}, limit {limit}, samples {samples}", "")
        }
        (None, Some(options)) => options.iter().fold(head, |text, option| {
            let word = |key: &str| option[key].as_str().unwrap_or_default();
            format!("{text}\n{:36} {}={}  {}", "", word("name"), word("default"), word("about"))
        }),
        (None, None) => head,
    }
}
