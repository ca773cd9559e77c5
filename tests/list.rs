//! `explode list`: all names, and targets that behave as the list describes.

mod common;

use std::collections::BTreeSet;

use explode::runtime::base::Options;
use serde_json::{Value, json};
use tempfile::tempdir;

use common::seeded::is_covered;
use common::{explode, explode_in, keys, of_type, words};

fn list(what: &str) -> Vec<Value> {
    explode(["list", "--format", "jsonl"].into_iter().chain(what.split_whitespace()))
        .expect(0)
        .json()
}

fn names(lines: &[&Value]) -> Vec<String> {
    lines.iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_line_has_its_keys() {
    let lines = list("");
    for line in &lines {
        let expected = match line["type"].as_str().unwrap() {
            "target" => {
                "type name in about seeded expect stack checker depth walks limit samples \
                 crash_depth"
            }
            "stack" => "type name in about stack targets",
            "component" | "checker" => "type name in about options",
            other => panic!("{other}"),
        };
        assert_eq!(keys(line), words(expected));
        assert!(!line["about"].as_str().unwrap().is_empty());
        assert!(
            ["mem", "vm", "here"].iter().any(|mode| line["in"].as_str().unwrap().contains(mode))
        );
        for option in line["options"].as_array().into_iter().flatten() {
            assert_eq!(keys(option), words("name about default"));
        }
    }
    for kind in ["target", "stack", "component", "checker"] {
        let found = names(&of_type(&lines, kind));
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "each {kind} once");
        assert_eq!(names(&list(&format!("{kind}s")).iter().collect::<Vec<_>>()), found);
    }
}

/// A trace records each default, and its replay sets it.
#[test]
fn each_default_is_a_value_that_can_be_given() {
    let registry = explode::registry();
    let components = registry
        .components
        .iter()
        .map(|def| (&def.name, &def.options, def.completed(&Options::none())));
    let checkers = registry
        .checkers
        .iter()
        .map(|def| (&def.name, &def.options, def.completed(&Options::none())));
    for (name, options, completed) in components.chain(checkers) {
        for option in options {
            let value = completed.get(option.name).map(ToString::to_string).unwrap_or_default();
            assert_eq!(value, option.default, "{name}.{}", option.name);
        }
    }
}

#[test]
fn the_names_are_there() {
    let lines = list("");
    let has = |kind: &str, expected: &str| {
        let found = names(&of_type(&lines, kind));
        for name in expected.split_whitespace() {
            assert!(found.iter().any(|found| found == name), "{kind} {name}: {found:?}");
        }
    };
    has("target", "sqlite-off sqlite-normal sqlite-full sqlite-extra fs-basic");
    has("target", "sqlite-off-wal sqlite-normal-wal sqlite-full-wal sqlite-extra-wal");
    has("component", "ramdisk simfiles sqlite");
    has("checker", "sqlite-transactions fs-basic");
}

/// The columns of names are as wide as the longest name.
#[test]
fn the_columns_of_a_text_stand_below_each_other() {
    let text = explode(["list", "targets", "--all"]).expect(0).out;
    let column = |line: &str| {
        line.len()
            - line["target".len()..].trim_start().split_once(' ').unwrap().1.trim_start().len()
    };
    let columns: BTreeSet<usize> =
        text.lines().filter(|line| line.starts_with("target")).map(column).collect();
    let details: BTreeSet<usize> = text
        .lines()
        .filter_map(|line| line.find("expect ").filter(|at| line[..*at].trim().is_empty()))
        .collect();
    assert_eq!((columns.len(), details.len()), (1, 1), "{columns:?} {details:?}\n{text}");
    let longest = names(&list("targets").iter().collect::<Vec<_>>()).iter().map(String::len).max();
    assert_eq!(columns.first().copied(), longest.map(|name| "target     ".len() + name + 1));
}

/// The parts of a target have names as well. The name of a target with a seeded bug shows the bug,
/// and the bug is expected to be found.
#[test]
fn targets_use_only_listed_names() {
    let lines = list("");
    let components = names(&of_type(&lines, "component"));
    let checkers = names(&of_type(&lines, "checker"));
    for target in of_type(&lines, "target") {
        let text = |key: &str| target[key].as_str().unwrap();
        assert!(checkers.contains(&text("checker").to_owned()), "{target}");
        for layer in target["stack"].as_array().unwrap() {
            assert!(components.contains(&layer.as_str().unwrap().to_owned()), "{target}");
        }
        assert_eq!(target["seeded"], json!(text("name").contains('+')), "{target}");
        assert!(target["seeded"] == false || text("expect") != "clean", "{target}");
        for bound in ["depth", "limit", "samples"] {
            assert!(target[bound].as_u64().unwrap() > 0, "{target}");
        }
    }
}

/// A clean target is clean at any depth. An error must show within the target's bounds. Targets that
/// need a guest have another test, and so have most seeded bugs (`seeded_bugs`).
#[test]
fn every_target_has_its_expected_result() {
    let folder = tempdir().unwrap();
    for target in list("targets").iter().filter(|target| target["in"] == "mem") {
        let (name, expect) = (target["name"].as_str().unwrap(), target["expect"].as_str().unwrap());
        if target["seeded"] == true && is_covered(name) {
            continue;
        }
        let run = |(number, search): (usize, String)| {
            let args = format!("run {name} --out {name}-{number} --format jsonl {search}");
            let ran = explode_in(folder.path(), args.split_whitespace());
            let lines = ran.json();
            let findings = of_type(&lines, "finding");
            let not_by_design = |finding: &&&Value| finding["by_design"] == false;
            let code = i32::from(findings.iter().any(|finding| not_by_design(&finding)));
            assert!(code == 0 || expect != "clean", "{name}: {findings:?}");
            assert_eq!(ran.expect(code).json().last().unwrap()["broken"], 0, "{name}");
            findings.iter().filter(not_by_design).any(|finding| finding["verdict"] == expect)
        };
        let found = searches(target).into_iter().enumerate().any(run);
        assert_eq!(found, expect != "clean", "{name}: expected {expect}");
    }
}

/// Returns the options of the searches of a target. A target of walks has one search, with its own
/// bounds if it must find something. Other targets are searched to one depth after another.
fn searches(target: &Value) -> Vec<String> {
    let is_clean = target["expect"] == "clean";
    if target["walks"].is_u64() {
        return vec![if is_clean { "--walks 200".to_owned() } else { String::new() }];
    }
    let deepest = if is_clean { 1 } else { target["depth"].as_u64().unwrap() };
    (1..=deepest).map(|depth| format!("--depth {depth} --limit 2000 --samples 500")).collect()
}

/// Begins a step. The chosen step misbehaves at the chosen moment. Returns true if the step must
/// fail.
#[test]
fn stacks_are_those_of_the_targets() {
    let lines = list("");
    let stacks = of_type(&lines, "stack");
    for target in of_type(&lines, "target") {
        let here = |stack: &&&Value| stack["targets"].as_array().unwrap().contains(&target["name"]);
        let found: Vec<_> = stacks.iter().filter(here).collect();
        assert_eq!(found.len(), 1, "{target}");
        assert_eq!((&found[0]["stack"], &found[0]["in"]), (&target["stack"], &target["in"]));
    }
    let named = |name| stacks.iter().find(|stack| stack["name"] == name).unwrap();
    assert_eq!(named("ext4")["stack"], json!(["ramdisk", "ext4"]));
    assert_eq!(named("ext4")["about"], "ramdisk < ext4");
    // A component that refuses small disks has a large one below it.
    assert_eq!(named("btrfs")["about"], "ramdisk(size=160MiB) < btrfs");
}

#[test]
fn text_output_has_names_bounds_and_options() {
    let text = explode(["list", "--all"]).expect(0).out;
    let squeezed: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let has = |start: &str| squeezed.iter().any(|line| line.starts_with(start));
    assert!(has("target sqlite-off mem SQLite without syncs"), "{text}");
    assert!(
        text.contains("expect lost; depth 4, limit 20000, samples 2000, crash-depth 1\n"),
        "{text}"
    );
    assert!(has("checker fs-basic mem,vm,here a file"), "{text}");
    assert!(text.contains("sectors=32768  "), "{text}");
}

/// Returns the lines of a list after the titles, with single spaces.
fn squeezed(what: &[&str]) -> Vec<String> {
    let text = explode(["list"].iter().chain(what)).expect(0).out;
    text.lines().skip(1).map(|line| words_of(line).join(" ")).collect()
}

fn words_of(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The default list fits a screen and has every real system, each below its family.
#[test]
fn the_first_list_has_the_real_systems() {
    let text = explode(["list", "targets"]).expect(0).out;
    assert_eq!(explode(["list"]).expect(0).out, text);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    let lines = squeezed(&["targets"]);
    assert_eq!(lines[..2], ["SQLite", "sqlite-off lost SQLite without syncs"]);
    for expected in [
        "File systems of Linux (in a guest)",
        "fs-sync-SYSTEM synced data survives a crash, on SYSTEM",
        "lost ext2, vfat, minix, msdos, udf, reiserfs, ntfs3, jfs, hfs",
        "clean ext2, xfs",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {text}");
    }
    assert!(lines.last().unwrap().starts_with("More: explode list targets --all"), "{text}");
    let engines = lines.iter().find(|line| line.starts_with("With the cargo feature 'engines'"));
    assert_eq!(engines.is_none(), lines.iter().any(|line| line == "redb"), "{text}");
    // It has neither seeded bugs nor systems that were made for them.
    for target in list("targets") {
        let name = target["name"].as_str().unwrap();
        let is_shown = lines.iter().any(|line| words_of(line).first() == Some(&name));
        let is_real = |layer: &str| target["stack"].as_array().unwrap().contains(&layer.into());
        let is_simulated = target["stack"] == json!(["simfiles"]);
        assert!(!is_shown || target["seeded"] == false && !is_simulated, "{name}");
        let is_sqlite = is_real("sqlite") || is_real("redb") || is_real("fatfs");
        assert!(is_shown || !is_sqlite || target["seeded"] == true, "{name}");
        let shared = name.strip_prefix("fs-sync-").or(name.strip_prefix("fs-failures-"));
        if let Some(system) = shared.filter(|_| target["in"] == "vm") {
            let lists = |line: &String| line.replace(',', "").split(' ').any(|word| word == system);
            assert!(lines.iter().any(lists), "{name}");
        }
    }
}

/// A twin is a target without a bug, of the same checker.
#[test]
fn seeded_bugs_are_listed_with_their_twins() {
    let targets = list("targets");
    let bugs = list("seeded-bugs");
    let seeded: Vec<&Value> = targets.iter().filter(|target| target["seeded"] == true).collect();
    assert_eq!(names(&bugs.iter().collect::<Vec<_>>()), names(&seeded));
    let lines = squeezed(&["seeded-bugs"]);
    for (bug, target) in bugs.iter().zip(seeded) {
        assert_eq!(keys(bug), words("type name in about expect twin checker"));
        for key in ["in", "about", "expect", "checker"] {
            assert_eq!(bug[key], target[key], "{bug}");
        }
        let line = |target: &Value| {
            let line = format!("{} {} {}", target["name"], target["expect"], target["about"]);
            line.replace('"', "")
        };
        let at = |target: &Value| lines.iter().position(|found| *found == line(target)).unwrap();
        if let Some(twin) = bug["twin"].as_str() {
            let twin = targets.iter().find(|target| target["name"] == twin).unwrap();
            assert_eq!(twin["seeded"], false, "{bug}");
            assert!(at(twin) < at(bug), "{bug}");
        } else {
            at(bug);
        }
    }
    let twin = |name: &str| &bugs.iter().find(|bug| bug["name"] == name).unwrap()["twin"];
    assert_eq!(twin("wal-kv+no-checksum"), "wal-kv");
    assert_eq!(twin("ext4+flush-lies"), "fs-sync-ext4");
    assert_eq!(*twin("ext4+cut-then-write"), Value::Null);
    explode(["list", "seeded-bug"]).refused(&["'seeded-bug'", "seeded-bugs"]);
}
