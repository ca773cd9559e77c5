//! `explode list`: the names that commands take. The human format first shows the targets on real
//! systems. `--all` and JSON lines show all targets, with their default bounds.

mod columns;
mod families;

use explode_runtime::base::{Exit, Mode, OptionDef, UsageError};
use explode_runtime::check::CheckerDef;
use explode_runtime::plan::{Registry, Target};
use explode_runtime::stack::{Layer, StackSpec, simfiles};
use explode_runtime::verdict::{Profile, Promise};
use serde_json::{Value, json};

use crate::cli::{Format, ListArgs, ListKind};
use crate::matrix::{Row, families};
use crate::output;
use crate::stack_file::NamedStack;

/// Lists the names of the wanted kind.
pub fn list(registry: &Registry, args: &ListArgs) -> Exit {
    match (args.what, args.systems.first()) {
        (Some(ListKind::Profiles), _) => return profiles(registry, &args.systems, args.format),
        (_, Some(name)) => {
            let text = format!(
                "unexpected '{name}'; only profiles can be listed by system: explode list profiles \
                 {name}"
            );
            return output::fail(Exit::Usage, text);
        }
        _ => {}
    }
    match (args.what, args.format) {
        (Some(ListKind::SeededBugs), format) => return seeded_bugs(registry, format),
        (Some(ListKind::Families), format) => return family_rows(registry, format),
        (None | Some(ListKind::Targets), Format::Human) if !args.all => {
            return first_view(registry);
        }
        _ => {}
    }
    let wanted = |is_kind: fn(&ListKind) -> bool| args.what.as_ref().is_none_or(is_kind);
    let mut lines = Vec::new();
    if wanted(|kind| matches!(kind, ListKind::Targets)) {
        lines.extend(registry.targets.iter().map(|each| target(registry, each)));
    }
    if wanted(|kind| matches!(kind, ListKind::Stacks)) {
        lines.extend(stacks(registry));
    }
    if wanted(|kind| matches!(kind, ListKind::Components)) {
        lines.extend(registry.components.iter().map(|def| {
            let modes: Vec<_> = def.modes.iter().copied().map(Mode::as_str).collect();
            named("component", &def.name, &modes.join(","), &def.about, &def.options)
        }));
    }
    if wanted(|kind| matches!(kind, ListKind::Checkers)) {
        // A checker runs in every mode that its stack allows.
        let checker =
            |def: &CheckerDef| named("checker", &def.name, "mem,vm,here", &def.about, &def.options);
        lines.extend(registry.checkers.iter().map(checker));
    }
    let width = |kind: &Value| {
        let names = lines
            .iter()
            .filter(|line| line["type"] == *kind)
            .filter_map(|line| line["name"].as_str());
        names.map(str::len).max().unwrap_or_default()
    };
    for line in &lines {
        match args.format {
            Format::Jsonl => output::line(&line.to_string()),
            Format::Human => output::line(&text(line, width(&line["type"]))),
        }
    }
    Exit::Clean
}

/// Lists the real systems, and the commands that list the rest.
fn first_view(registry: &Registry) -> Exit {
    families::real(registry).iter().for_each(|line| output::line(line));
    let absent = &registry.components.absent;
    if let Some(first) = absent.first() {
        let names: Vec<&str> = absent.iter().map(|absent| absent.name).collect();
        output::line(&format!(
            "With the cargo feature '{}' also: {}",
            first.feature,
            names.join(", ")
        ));
    }
    output::line(
        "More: explode list targets --all | seeded-bugs | stacks | components | checkers | \
         profiles",
    );
    Exit::Clean
}

/// Lists the rows of the matrix that stand in families.
fn family_rows(registry: &Registry, format: Format) -> Exit {
    let families = match families(registry) {
        Ok(families) => families,
        Err(error) => return output::fail(Exit::Usage, error),
    };
    for (family, NamedStack { name, about, stack }) in families {
        let line = match format {
            Format::Human => format!("{family:<6} {name:<26} {about}"),
            Format::Jsonl => {
                let mode = registry.mode_of(&stack).map_or("", Mode::as_str);
                let layers = stack.components();
                json!({ "type": "row", "family": family, "name": name, "in": mode,
                    "about": about, "stack": layers })
                .to_string()
            }
        };
        output::line(&line);
    }
    Exit::Clean
}

/// Lists the targets with a seeded bug, each with its twin: the system without the bug.
fn seeded_bugs(registry: &Registry, format: Format) -> Exit {
    if format == Format::Human {
        families::seeded(registry).iter().for_each(|line| output::line(line));
        return Exit::Clean;
    }
    for target in registry.targets.iter().filter(|target| target.seeded) {
        let line = json!({
            "type": "seeded-bug",
            "name": target.name,
            "in": registry.mode_of(&target.stack).map_or("", Mode::as_str),
            "about": target.about,
            "expect": target.expect,
            "twin": registry.targets.list().twins.get(&target.name),
            "checker": target.checker,
        });
        output::line(&line.to_string());
    }
    Exit::Clean
}

/// Lists the promises of these systems. Without names: of the rows of the matrix, and of simulated
/// files.
fn profiles(registry: &Registry, systems: &[String], format: Format) -> Exit {
    let rows = registry.rows.iter().map(|system| system.name);
    let all = || rows.chain([simfiles::NAME]).map(str::to_owned).collect();
    let names: Vec<String> = if systems.is_empty() { all() } else { systems.to_vec() };
    let profile = |name: &String| Row::named(registry, name)?.profile(registry);
    let profiles = match names.iter().map(profile).collect::<Result<Vec<_>, UsageError>>() {
        Ok(profiles) => profiles,
        Err(error) => return output::fail(Exit::Usage, error),
    };
    for (name, profile) in names.iter().zip(profiles) {
        if format == Format::Human {
            output::line(&heading(name, profile.as_ref()));
        }
        let Some(Profile { system, promises }) = profile else { continue };
        for line in &promises {
            output::line(&promise(name, &system, line, format));
        }
    }
    Exit::Clean
}

fn promise(of: &str, system: &str, line: &Promise, format: Format) -> String {
    let Promise { name, kept, quote, source } = line;
    match format {
        Format::Jsonl => {
            let line = json!({
                "type": "promise", "of": of, "system": system, "name": name, "kept": kept,
                "quote": quote, "source": source,
            });
            line.to_string()
        }
        Format::Human => {
            let kept = if *kept { "kept" } else { "excluded" };
            format!("  {name:<40} {kept:<9} {line}")
        }
    }
}

/// Returns the line before the promises of a system.
fn heading(name: &str, profile: Option<&Profile>) -> String {
    match profile {
        Some(profile) => format!("{name}: {}", profile.system),
        None => format!("{name}: no profile, so every promise must be kept"),
    }
}

fn target(registry: &Registry, target: &Target) -> Value {
    let bounds = target.bounds;
    let mode = registry.mode_of(&target.stack).map_or("", Mode::as_str);
    let search = registry.checker(&target.checker).ok().and_then(|def| def.search.as_ref());
    json!({
        "type": "target",
        "name": target.name,
        "in": mode,
        "about": target.about,
        "seeded": target.seeded,
        "expect": target.expect,
        "stack": target.stack.components(),
        "checker": target.checker,
        "depth": bounds.depth,
        "walks": search.map(|search| search.walks),
        "limit": bounds.limit,
        "samples": bounds.samples,
        "crash_depth": bounds.crash_depth,
    })
}

/// Returns the distinct stacks of the targets. A stack that a component needs in any case has that
/// component's name, as `--stack` takes it. Another stack has the name of the first target that
/// runs on it.
fn stacks(registry: &Registry) -> Vec<Value> {
    let mut stacks: Vec<(&StackSpec, Vec<&str>)> = Vec::new();
    for target in &registry.targets {
        match stacks.iter_mut().find(|(stack, _)| **stack == target.stack) {
            Some((_, targets)) => targets.push(&target.name),
            None => stacks.push((&target.stack, vec![&*target.name])),
        }
    }
    let line = |(stack, targets): (&StackSpec, Vec<&str>)| {
        let top = stack.0.last().map_or("", |layer| layer.component.as_str());
        let plain = registry.stack_of(top).is_ok_and(|plain| plain == *stack);
        let layers: Vec<String> = stack.0.iter().map(Layer::shown).collect();
        json!({
            "type": "stack",
            "name": if plain { top } else { targets[0] },
            "in": registry.mode_of(stack).map_or("", Mode::as_str),
            "about": layers.join(" < "),
            "stack": stack.components(),
            "targets": targets,
        })
    };
    stacks.into_iter().map(line).collect()
}

fn named(kind: &str, name: &str, modes: &str, about: &str, options: &[OptionDef]) -> Value {
    let option =
        |def: &OptionDef| json!({ "name": def.name, "about": def.about, "default": def.default });
    let options: Vec<Value> = options.iter().map(option).collect();
    json!({ "type": kind, "name": name, "in": modes, "about": about, "options": options })
}

/// Returns an item in the human format, with its further lines. Names take `width` columns.
fn text(line: &Value, width: usize) -> String {
    let word = |key: &str| line[key].as_str().unwrap_or_default();
    let head = format!(
        "{:<10} {:<width$} {:<11} {}",
        word("type"),
        word("name"),
        word("in"),
        word("about")
    );
    let more = 10 + 1 + width + 1 + 11 + 1;
    match (line["depth"].as_u64(), line["options"].as_array()) {
        (Some(depth), _) => {
            let (expect, limit, samples) = (word("expect"), &line["limit"], &line["samples"]);
            let walks = line["walks"].as_u64().map(|walks| format!(" walks {walks},"));
            let walks = walks.unwrap_or_default();
            format!(
                "{head}\n{:more$}expect {expect}; depth {depth},{walks} limit {limit}, samples \
                 {samples}, crash-depth {}",
                "", line["crash_depth"]
            )
        }
        (None, Some(options)) => options.iter().fold(head, |text, option| {
            let word = |key: &str| option[key].as_str().unwrap_or_default();
            format!("{text}\n{:more$}{}={}  {}", "", word("name"), word("default"), word("about"))
        }),
        (None, None) => head,
    }
}
