//! Traces that carry commands.

use std::fs;

use serde_json::json;

use crate::Desk;

const COMMANDS: [&str; 4] = ["replay", "minimise --out out.json", "show --run", "show --as sh"];

#[test]
fn commands_of_a_users_own_trace_run() {
    let (desk, trace) = Desk::with_finding();
    let tag = desk.json(&trace)["tag"].as_str().expect("a tag").to_owned();
    assert_eq!(tag.len(), 64);
    desk.does("me", &format!("replay {trace}"), 1);
    desk.does("me", &format!("minimise {trace} --out min.json"), 0);
    desk.does("me", "replay min.json", 1);
    desk.does("me", &format!("show {trace} --run"), 0);
}

#[test]
fn show_runs_no_command_by_itself() {
    let (desk, trace) = Desk::with_finding();
    for user in ["me", "stranger"] {
        let out = desk.explode(user, &format!("show {trace}")).expect(0).out;
        assert!(!desk.canary().exists(), "show ran a command: {out}");
        for words in [
            "NOT RUN",
            "--run",
            "Command kept.mutate add: touch ",
            "Command log.init: ",
            "it is gone",
        ] {
            assert!(out.contains(words), "'{words}' is not in {out}");
        }
    }
    let lines = desk.explode("me", &format!("show {trace} --format jsonl")).expect(0).json();
    assert_eq!(lines[0]["commands"][0]["at"], "log.init");
    assert_eq!(lines[0]["reproduced"], false);
    let lines = desk.does("me", &format!("show {trace} --run --format jsonl"), 0);
    assert!(lines.contains(r#""reproduced":true"#), "{lines}");
}

#[test]
fn the_commands_of_a_stranger_do_not_run() {
    let (desk, trace) = Desk::with_finding();
    for command in COMMANDS {
        let said = desk.refuses("stranger", &format!("{command} {trace}"));
        assert!(
            said.contains("  kept.mutate add: touch ") && said.contains("  kept.check: echo "),
            "{said}"
        );
        assert!(said.contains("on this machine, with all your rights"), "{said}");
    }
    assert!(!desk.path().join("out.json").exists());
    assert!(!desk.path().join("stranger").exists(), "looking at a tag makes no key");
}

#[test]
fn trusted_commands_run() {
    let (desk, trace) = Desk::with_finding();
    desk.does("stranger", &format!("replay {trace} --trust"), 1);
    desk.does("stranger", &format!("show {trace} --trust"), 0);
    desk.refuses("stranger", &format!("replay {trace}"));
    assert!(
        !desk.path().join("stranger").exists(),
        "a trace that was only replayed stays a stranger's"
    );
    // The smaller trace gets the user's tag.
    desk.does("stranger", &format!("minimise {trace} --trust --out min.json"), 0);
    desk.does("stranger", "replay min.json", 1);
    desk.refuses("me", "replay min.json");
}

#[test]
fn a_changed_trace_needs_trust() {
    let (desk, trace) = Desk::with_finding();
    let text = fs::read_to_string(desk.path().join(&trace)).unwrap();
    let edits = [
        ("gone; exit 1", "gone; exit 2"),
        ("\"depth\": 1", "\"depth\": 2"),
        ("it is gone", "it is gune"),
    ];
    for (old, new) in edits {
        assert!(text.contains(old), "{old}: {text}");
        fs::write(desk.path().join("edited.json"), text.replace(old, new)).unwrap();
        for command in COMMANDS {
            let said = desk.refuses("me", &format!("{command} edited.json"));
            assert!(said.contains("was changed since"), "{said}");
        }
    }
    for tag in [json!(null), json!(""), json!("0".repeat(64))] {
        desk.edited(&trace, "edited.json", |value| value["tag"] = tag);
        desk.refuses("me", "replay edited.json");
    }
    // The order of the keys and the space between them have no effect.
    desk.edited(&trace, "edited.json", |_| {});
    desk.does("me", "replay edited.json", 1);
}

/// Options count by their effective values: commands that equal a default also run.
#[test]
fn commands_that_are_defaults_are_commands() {
    let (desk, trace) = Desk::with_finding();
    desk.edited(&trace, "edited.json", |value| {
        value.as_object_mut().unwrap().remove("tag");
        let layer = value["stack"][1].as_object_mut().unwrap();
        let options = layer.remove("options").unwrap();
        layer.insert("defaults".to_owned(), options);
    });
    desk.refuses("me", "replay edited.json");
}

#[test]
fn traces_without_commands_need_no_trust() {
    let desk = Desk::new();
    desk.explode("me", "run sqlite-off --depth 1 --out run").expect(1);
    for name in crate::common::files(&desk.path().join("run/traces")) {
        let trace = format!("run/traces/{name}");
        assert_eq!(desk.json(&trace).get("tag"), None);
        desk.explode("stranger", &format!("replay {trace}")).expect(1);
        let shown = desk.explode("stranger", &format!("show {trace}")).expect(0).out;
        assert!(shown.contains("Mutate 1") && !shown.contains("NOT RUN"), "{shown}");
    }
    assert!(!desk.path().join("me").exists(), "no key is made where nothing is tagged");
    assert!(!desk.path().join("run/tag").exists());
}

/// SQL is not a command. It stays in the simulated files.
#[test]
fn sql_of_a_trace_attaches_no_file_of_this_machine() {
    let desk = Desk::new();
    desk.explode("me", "run sqlite-off --depth 1 --out run").expect(1);
    let name = &crate::common::files(&desk.path().join("run/traces"))[0];
    let uri = format!("file:{}?vfs=unix", desk.canary().display());
    for sql in [format!("ATTACH '{uri}' AS x; CREATE TABLE x.t(v)"), format!("VACUUM INTO '{uri}'")]
    {
        desk.edited(&format!("run/traces/{name}"), "edited.json", |value| {
            let schema = &mut value["stack"][1]["options"]["schema"];
            *schema = json!(format!("{}; {sql}", schema.as_str().unwrap()));
        });
        let ran = desk.explode("me", "replay edited.json");
        assert!(!desk.canary().exists(), "{sql}: {ran:?}");
        assert!(ran.code == 4 && ran.err.contains("too many attached databases"), "{sql}: {ran:?}");
    }
}

/// The name of a layer becomes part of paths.
#[test]
fn a_layer_is_not_named_by_a_path() {
    let (desk, trace) = Desk::with_finding();
    for name in ["../../x", "/x", "..", ""] {
        desk.edited(&trace, "edited.json", |value| value["stack"][1]["name"] = json!(name));
        desk.explode("me", "replay edited.json --trust")
            .refused(&["cannot be the name of a layer"]);
    }
    assert!(!desk.canary().exists());
}
