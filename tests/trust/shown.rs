//! A stranger's text on a terminal: none of its control characters are printed.

use std::fs;

use serde_json::json;

use crate::Desk;
use crate::common::{Ran, explode_in, file};

/// Sets the title of a terminal in two ways, moves the cursor, and reverses the direction of text.
const EVIL: &str = "\u{1b}]0;evil\u{7}\u{9d}0;evil\u{9c}\u{1b}[2A\r\u{7f}\u{202e}";

/// Checks that the text has no control characters except newlines and tabs.
#[track_caller]
fn harmless(what: &str, text: &str) {
    let obeyed = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c)
    };
    assert!(!text.contains(obeyed), "{what}: {text:?}");
}

#[track_caller]
fn both(what: &str, ran: &Ran) {
    harmless(what, &ran.out);
    harmless(what, &ran.err);
}

/// The message of a check comes from a command.
#[test]
fn a_message_of_a_check_is_escaped() {
    let desk = Desk::new();
    let octal: String = EVIL.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    desk.stack("sh = \"touch CANARY\"", &format!("printf '{octal}boom\\n'; exit 1"));
    for format in ["human", "jsonl"] {
        let run = format!("run test.toml --out {format} --junit junit.xml --format {format}");
        let ran = desk.explode("me", &run).expect(1);
        both(&run, &ran);
        assert!(ran.out.contains("boom") && ran.out.contains("\\u001b]0;evil\\u0007"), "{ran:?}");
        let trace =
            format!("human/traces/{}", crate::common::files(&desk.path().join("human/traces"))[0]);
        for command in ["replay", "show --run", "show", "minimise --out min.json"] {
            let args = format!("{command} {trace} --format {format}");
            let ran = desk.explode("me", &args);
            both(&args, &ran);
            assert!(ran.out.contains("boom"), "{args}: {ran:?}");
        }
        both(
            "resume",
            &desk.explode("me", &format!("run --resume {format} --format {format}")).expect(1),
        );
    }
    let junit = fs::read_to_string(desk.path().join("junit.xml")).unwrap();
    assert!(!junit.contains(['\u{1b}', '\u{7}']), "{junit:?}");
}

/// All texts of a trace may be a stranger's, and so may the message about a damaged trace.
#[test]
fn texts_of_a_trace_are_escaped() {
    let (desk, trace) = Desk::with_finding();
    let evil = format!("{EVIL}\nreplay    evil");
    /// Puts a text into a trace.
    type Edit = fn(&mut serde_json::Value, &str);
    let edits: [(&str, Edit); 9] = [
        ("message", |trace, evil| trace["message"] = json!(evil)),
        ("target", |trace, evil| trace["target"] = json!(evil)),
        ("explode", |trace, evil| trace["explode"] = json!(evil)),
        ("version", |trace, evil| trace["versions"] = json!({ evil: evil })),
        ("checker", |trace, evil| {
            trace["checker"] = json!(evil);
            trace["signature"] = json!(format!("{evil}/check-failed/{evil}"));
        }),
        ("label", |trace, evil| {
            let label = json!({ "site": evil, "stack": evil, "object": evil });
            let choice =
                json!({ "kind": "action", "options": 2, "value": 0, "name": evil, "label": label });
            trace["choices"] = json!([choice]);
        }),
        ("layer", |trace, evil| trace["stack"][1]["name"] = json!(evil)),
        ("component", |trace, evil| trace["stack"][0]["use"] = json!(evil)),
        ("command", |trace, evil| {
            trace["stack"][1]["options"]["init"] = json!(format!("true '{evil}'"))
        }),
    ];
    for (what, edit) in edits {
        desk.edited(&trace, "edited.json", |value| edit(value, &evil));
        for command in ["replay", "show", "minimise --out min.json", "show --run"] {
            for trust in ["", " --trust"] {
                let ran = desk.explode("me", &format!("{command} edited.json{trust}"));
                both(&format!("{what}: {command}{trust}"), &ran);
                let imitates = |line: &str| {
                    line.starts_with("             replay    evil") || line.starts_with("replay")
                };
                assert!(!ran.out.lines().chain(ran.err.lines()).any(imitates), "{what}: {ran:#?}");
            }
        }
    }
}

#[test]
fn names_of_files_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("{EVIL}x.toml");
    file(
        folder.path(),
        &name,
        "[[component]]\nuse = \"folder\"\n[checker]\nname = \"a\"\nmutate = [ \
         { name = \"a\", steps = [] } ]\ncheck = 'exit 1'\n",
    );
    file(folder.path(), &format!("{name}.json"), "{}");
    let json = format!("{name}.json");
    let commands = [
        vec!["run", &name, "--depth", "1"],
        vec!["replay", &json],
        vec!["show", &json],
        vec!["minimise", &json],
        vec!["crash-disks", &json, "--size", "4096"],
        vec!["matrix", &name, "--check", "sync"],
        vec!["list", "profiles", &name],
        vec!["run", &name, "--budget", &name],
        vec!["replay", &json, &json],
        vec!["run", "--resume", &name],
    ];
    for command in commands {
        both(&format!("{command:?}"), &explode_in(folder.path(), &command));
    }
    let html = "explode-runs/matrix-1/matrix.html";
    harmless(html, &fs::read_to_string(folder.path().join(html)).unwrap());
}

/// The message about a wrong value repeats text of the stack file.
#[test]
fn values_of_a_stack_file_are_escaped() {
    let desk = Desk::new();
    let evil = EVIL.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    for (key, value) in [("budget", "5s"), ("strategy", "dfs"), ("seed", "0")] {
        let text = format!("[run]\n{key} = \"{value}{evil}\"\n[[component]]\nuse = \"folder\"\n");
        file(desk.path(), "test.toml", text);
        both(key, &desk.explode("me", "run test.toml").expect(2));
    }
    for text in ["use = \"EVIL\"", "name = \"EVIL\"\ninit = \"true\"", "\"EVIL\" = 1"] {
        let text = format!("[[component]]\nuse = \"folder\"\n[[component]]\n{text}\n")
            .replace("EVIL", &evil);
        file(desk.path(), "test.toml", text);
        both("component", &desk.explode("me", "run test.toml").expect(2));
    }
}
